// A small host of its own: loads one plugin and runs single regions on it.
//
// Shares no code with the core, so that plugin and core can be judged apart.
#pragma once

#include <dlfcn.h>

#include <atomic>
#include <barrier>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "tests/cpu/block.h"

namespace host {

// ---- services ----
struct Services {
  std::atomic<int64_t> live{0}, requests{0}, logged{0};
  uint32_t workers = 2;
};
struct Worker : frl_worker {
  std::barrier<>* barrier = nullptr;
};
inline void* alloc(void* self, uint64_t bytes, uint64_t align) {
  auto* s = static_cast<Services*>(self);
  ++s->live, ++s->requests;
  return std::aligned_alloc(align, (bytes + align - 1) / align * align);
}
inline void release(void* self, void* p, uint64_t, uint64_t) {
  --static_cast<Services*>(self)->live;
  std::free(p);
}
inline void log(void* self, uint32_t, const char*, uint64_t) {
  ++static_cast<Services*>(self)->logged;
}
inline thread_local bool in_team = false;
inline int32_t team(void* self, uint32_t wanted, uint64_t scratch_bytes,
                    void (*fn)(void*, const frl_worker*), void* arg) {
  const uint32_t n =
      in_team ? 1 : std::max(1u, std::min(wanted, static_cast<Services*>(self)->workers));
  std::barrier<> barrier(n);
  std::vector<std::unique_ptr<void, void (*)(void*)>> scratch;
  for (uint32_t i = 0; i < n; ++i)
    scratch.emplace_back(std::aligned_alloc(64, (scratch_bytes + 127) / 64 * 64), std::free);
  const auto member = [&](uint32_t id) {
    Worker w{};
    w.head = {sizeof(frl_worker), FRL_TAG_WORKER}, w.id = id, w.n = n;
    w.scratch = scratch[id].get(), w.scratch_bytes = scratch_bytes, w.barrier = &barrier;
    const bool before = in_team;
    in_team = true;
    fn(arg, &w);
    in_team = before;
  };
  std::vector<std::thread> threads;
  for (uint32_t id = 1; id < n; ++id) threads.emplace_back(member, id);
  member(0);
  for (std::thread& t : threads) t.join();
  return FRL_OK;
}
inline void barrier(void*, const frl_worker* w) {
  static_cast<const Worker*>(w)->barrier->arrive_and_wait();
}

template <class T>
frl_rows rows(const std::vector<T>& v) {
  return {v.data(), uint32_t(v.size()), sizeof(T)};
}
inline frl_binding plain(const void* p) { return {nullptr, reinterpret_cast<uint64_t>(p)}; }

// ---- one loaded plugin ----
class Plugin {
 public:
  explicit Plugin(const std::string& path, std::map<std::string, std::string> settings = {},
                  uint32_t workers = 2)
      : settings_(std::move(settings)) {
    services.workers = workers;
    library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library_) {
      why = dlerror();
      return;
    }
    const auto entry = reinterpret_cast<frl_entry_fn>(dlsym(library_, "frl_plugin_v1"));
    const frl_offer offer{{sizeof offer, FRL_TAG_OFFER}, 0, FRL_MINOR, 0};
    api = entry(&offer, &error);
    for (const auto& [k, v] : settings_)
      rows_.push_back({{k.data(), k.size()}, {v.data(), v.size()}});
    services_of.head = {sizeof services_of, FRL_TAG_HOST}, services_of.self = &services;
    services_of.settings = rows(rows_), services_of.max_workers = workers;
    services_of.alloc = alloc, services_of.release = release, services_of.log = log;
    services_of.team = team, services_of.barrier = barrier;
    if (api->devices(&services_of, &devices, &error)) {
      why = error.text;
      return;
    }
    if (api->open(&services_of, row(), &device, &error)) {
      why = error.text;
      return;
    }
    if (api->open_queue(device, &queue, &error)) why = error.text;
  }
  ~Plugin() {
    if (queue) api->close_queue(queue);
    if (device) api->close(device);
    if (api && api->quiesce) api->quiesce(&services_of, 1000, &error);
    if (library_) dlclose(library_);
  }
  const frl_device_row* row() const { return static_cast<const frl_device_row*>(devices.p); }

  frl_kernel* compile(const frl_region* region) {
    frl_kernel* k = nullptr;
    const frl_compile q{{sizeof q, FRL_TAG_COMPILE}, nullptr, 0, nullptr, 0, 0};
    if (api->refuse && api->refuse(row(), region, &error)) return nullptr;
    return api->compile(device, region, &q, &k, &error) ? nullptr : k;
  }
  // A fresh queue after a failure.
  void reopen() {
    api->close_queue(queue);
    api->open_queue(device, &queue, &error);
    last_signal = 0;
  }
  // Runs a kernel once on plain addresses, packing first what it wants packed. 0 or a code.
  int32_t run(const frl_kernel* k, std::vector<const void*> args, size_t n_inputs_and_outputs,
              const std::vector<int64_t>& extents = {}) {
    std::vector<std::vector<std::byte>> packed;
    for (uint32_t i = 0; i < k->packs.n; ++i) {
      frl_pack p;
      frl_row(&p, sizeof p, k->packs.p, k->packs.stride, i);
      packed.emplace_back(p.bytes + 64);
      auto* target = reinterpret_cast<std::byte*>(
          (reinterpret_cast<uintptr_t>(packed.back().data()) + 63) / 64 * 64);
      if (const int32_t code = submit({k, 0, 2, 0, 0, p.input + 1, 0}, {args[p.input], target}, {}))
        return code;
      args[p.input] = target;
    }
    std::vector<std::byte> scratch(k->scratch_bytes + 64);
    args.resize(n_inputs_and_outputs);
    if (k->scratch_bytes)
      args.push_back(
          reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(scratch.data()) + 63) / 64 * 64));
    return submit({k, 0, uint32_t(args.size()), 0, uint32_t(extents.size()), 0, 0}, args, extents);
  }
  int32_t submit(frl_step step, const std::vector<const void*>& addresses,
                 const std::vector<int64_t>& extents) {
    std::vector<frl_binding> late;
    std::vector<frl_arg> args;
    for (const void* p : addresses)
      args.push_back({uint32_t(late.size()), 0, 0}), late.push_back(plain(p));
    std::vector<uint32_t> places;
    for (uint32_t i = 0; i < extents.size(); ++i) places.push_back(i);
    const std::vector<frl_step> steps{step};
    const frl_segment s{{sizeof s, FRL_TAG_SEGMENT},
                        rows(steps),
                        rows(args),
                        rows(places),
                        {},
                        uint32_t(late.size()),
                        uint32_t(extents.size())};
    frl_recording* r = nullptr;
    if (api->record(queue, &s, &r, &error)) return error.code;
    const frl_submit q{{sizeof q, FRL_TAG_SUBMIT},
                       r,
                       rows(late),
                       extents.data(),
                       {},
                       {},
                       ++last_signal,
                       nullptr,
                       nullptr};
    const int32_t code = api->submit(queue, &q, &error);
    api->drop_recording(r);
    return code;
  }

  Services services;
  frl_host services_of{};
  frl_rows devices{};
  const frl_plugin* api = nullptr;
  frl_device* device = nullptr;
  frl_queue* queue = nullptr;
  frl_error error{};
  std::string why;
  uint64_t last_signal = 0;  // last signal

 private:
  std::map<std::string, std::string> settings_;
  std::vector<frl_setting> rows_;
  void* library_ = nullptr;
};

using Inputs = std::vector<std::optional<Tensor>>;
struct Result {
  std::string error;  // empty: fine
  std::vector<Tensor> outputs;
  std::vector<int64_t> written;
};

// Runs one op or closed kind: inputs (missing ones empty), outputs as given. Input numbers in
// `parameters` are weights.
inline Result run_op(Plugin& p, uint32_t op, const Attributes& attributes, const Inputs& inputs,
                     std::vector<Tensor> outputs, std::vector<size_t> parameters = {},
                     int symbol_axis = -1) {
  Block b;
  Result out;
  std::vector<uint32_t> in, results;
  std::vector<const void*> args;
  for (size_t i = 0; i < inputs.size(); ++i) {
    uint16_t flags = 0;
    for (size_t w : parameters) flags = uint16_t(flags | (w == i ? FRL_VALUE_PARAMETER : 0));
    in.push_back(inputs[i] ? b.value(inputs[i]->type, inputs[i]->shape, flags) : FRL_NO_VALUE);
    if (inputs[i]) args.push_back(inputs[i]->bytes.data());
  }
  const uint32_t s = symbol_axis >= 0 ? b.symbol(count(outputs[0].shape), true) : 0;
  for (Tensor& t : outputs) {
    const int axis = symbol_axis < int(t.shape.size()) ? symbol_axis : 0;
    results.push_back(b.value(t.type, t.shape, 0, {}, symbol_axis >= 0 ? axis : -1, s));
    args.push_back(t.bytes.data());
  }
  int64_t extent = -1;
  if (s) args.push_back(&extent);
  b.node(op, in, results[0], uint32_t(results.size()), attributes);
  frl_kernel* k = p.compile(b.finish(op, in, results, attributes));
  if (!k) return out.error = p.error.text, out;
  if (p.run(k, args, args.size())) out.error = p.error.text, p.reopen();
  p.api->drop_kernel(k);
  out.outputs = std::move(outputs);
  if (s) out.written = {extent};
  return out;
}

}  // namespace host
