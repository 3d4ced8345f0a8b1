// A small host of its own: builds region blocks by hand, loads one plugin, runs single regions.
//
// Shares no code with the core, so that plugin and core can be judged apart.
#pragma once

#include <dlfcn.h>

#include <atomic>
#include <barrier>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "plugin-api/frl_plugin.h"

namespace host {

using Shape = std::vector<int64_t>;

inline int64_t count(const Shape& s) {
  int64_t n = 1;
  for (int64_t d : s) n *= d;
  return n;
}
inline int64_t size_of(int type) {
  const int64_t bytes[] = {0, 8, 4, 2, 2, 1, 2, 4, 8, 1, 2, 4, 8, 1};
  return bytes[type];
}

// ---- 16-bit floats, exact and slow ----
inline double from_bits16(uint16_t b, bool bf16) {
  const int mantissa_bits = bf16 ? 7 : 10, bias = bf16 ? 127 : 15, top = bf16 ? 255 : 31;
  const int e = (b >> mantissa_bits) & top, m = b & ((1 << mantissa_bits) - 1);
  const double sign = b >> 15 ? -1 : 1;
  if (e == top) return m ? NAN : sign * INFINITY;
  const double f = std::ldexp(double(m), -mantissa_bits);
  return sign * (e ? std::ldexp(1 + f, e - bias) : std::ldexp(f, 1 - bias));
}
// Nearest, ties to even.
inline uint16_t to_bits16(double x, bool bf16) {
  const int mantissa_bits = bf16 ? 7 : 10, bias = bf16 ? 127 : 15, top = bf16 ? 255 : 31;
  const auto sign = uint16_t(std::signbit(x) << 15);
  if (std::isnan(x)) return uint16_t(sign | (top << mantissa_bits) | (1 << (mantissa_bits - 1)));
  double a = std::fabs(x);
  if (std::isinf(a)) return uint16_t(sign | (top << mantissa_bits));
  if (a == 0) return sign;
  int e = std::max(std::ilogb(a), 1 - bias);
  const double steps = std::nearbyint(std::ldexp(a, mantissa_bits - e));
  int64_t m = int64_t(steps);
  if (m >= (int64_t(2) << mantissa_bits)) m >>= 1, ++e;
  if (e > bias) return uint16_t(sign | (top << mantissa_bits));
  const bool normal = m >= (int64_t(1) << mantissa_bits);
  return uint16_t(sign | (normal ? ((e + bias) << mantissa_bits) + (m - (int64_t(1) << mantissa_bits)) : m));
}

// ---- tensors ----
struct Tensor {
  int type = FRL_F32;
  Shape shape;
  std::vector<std::byte> bytes;

  Tensor() = default;
  Tensor(int t, Shape s) : type(t), shape(std::move(s)), bytes(size_t(count(shape) * size_of(t))) {}
  int64_t n() const { return count(shape); }
  template <class T> T* as() { return reinterpret_cast<T*>(bytes.data()); }
  template <class T> const T* as() const { return reinterpret_cast<const T*>(bytes.data()); }

  double at(int64_t i) const {
    switch (type) {
      case FRL_F64: return as<double>()[i];
      case FRL_F32: return as<float>()[i];
      case FRL_F16: return from_bits16(as<uint16_t>()[i], false);
      case FRL_BF16: return from_bits16(as<uint16_t>()[i], true);
      default: return double(int_at(i));
    }
  }
  int64_t int_at(int64_t i) const {
    switch (type) {
      case FRL_I8: return as<int8_t>()[i];
      case FRL_I16: return as<int16_t>()[i];
      case FRL_I32: return as<int32_t>()[i];
      case FRL_I64: return as<int64_t>()[i];
      case FRL_U8: case FRL_BOOL: return as<uint8_t>()[i];
      case FRL_U16: return as<uint16_t>()[i];
      case FRL_U32: return as<uint32_t>()[i];
      case FRL_U64: return int64_t(as<uint64_t>()[i]);
      default: return int64_t(at(i));
    }
  }
  void set(int64_t i, double v) {
    switch (type) {
      case FRL_F64: as<double>()[i] = v; return;
      case FRL_F32: as<float>()[i] = float(v); return;
      case FRL_F16: as<uint16_t>()[i] = to_bits16(v, false); return;
      case FRL_BF16: as<uint16_t>()[i] = to_bits16(v, true); return;
      default: set_int(i, int64_t(v)); return;
    }
  }
  void set_int(int64_t i, int64_t v) { std::memcpy(bytes.data() + i * size_of(type), &v, size_t(size_of(type))); }
};

inline Tensor random(int type, const Shape& shape, uint32_t seed, double low = -2, double high = 2) {
  Tensor t(type, shape);
  std::mt19937 g(seed);
  std::uniform_real_distribution<double> d(low, high);
  const bool integer = type >= FRL_I8;
  for (int64_t i = 0; i < t.n(); ++i)
    t.set(i, type == FRL_BOOL ? double(d(g) > (low + high) / 2) : integer ? std::floor(d(g)) : d(g));
  return t;
}
inline Tensor of(int type, const Shape& shape, const std::vector<double>& values) {
  Tensor t(type, shape);
  for (int64_t i = 0; i < t.n(); ++i) t.set(i, values[size_t(i) % values.size()]);
  return t;
}

// ---- blocks ----
struct Attribute {
  int64_t i = 0;
  double f = 0;
  Shape list;
  Attribute(int64_t v) : i(v) {}
  Attribute(int v) : i(v) {}
  Attribute(uint32_t v) : i(v) {}
  Attribute(double v) : f(v) {}
  Attribute(Shape v) : list(std::move(v)) {}
};
using Attributes = std::vector<Attribute>;

class Block {
 public:
  Block() : bodies_(1) {}
  uint32_t symbol(int64_t max, bool written) {
    symbols_.push_back({0, max, 1, written, 0});
    return uint32_t(symbols_.size());
  }
  // Axis `axis` gets the symbol; strides (elements) are dense unless given.
  uint32_t value(int type, const Shape& shape, uint16_t flags = 0, Shape strides = {},
                 int symbol_axis = -1, uint32_t symbol = 0) {
    if (strides.empty()) {
      strides.resize(shape.size());
      int64_t s = 1;
      for (size_t d = shape.size(); d-- > 0; s *= shape[d]) strides[d] = s;
    }
    values_.push_back({uint8_t(type), uint8_t(shape.size()), flags, uint32_t(dims_.size()), 64, 0, 0, 0});
    for (size_t d = 0; d < shape.size(); ++d)
      dims_.push_back({shape[d], strides[d], int(d) == symbol_axis ? symbol : 0, 0});
    return uint32_t(values_.size() - 1);
  }
  uint32_t literal(const Tensor& t) {
    const uint32_t v = value(t.type, t.shape, FRL_VALUE_LITERAL);
    text_.resize((text_.size() + 7) / 8 * 8);
    values_[v].literal_at = uint32_t(text_.size()), values_[v].literal_n = uint32_t(t.bytes.size());
    text_.insert(text_.end(), t.bytes.begin(), t.bytes.end());
    return v;
  }
  void node(uint32_t op, const std::vector<uint32_t>& operands, uint32_t first_result,
            uint32_t n_results, const Attributes& attributes = {}) {
    nodes_.push_back({op, list(operands), uint32_t(operands.size()), first_result, n_results, 0, 0, 0, 0});
    put_attributes(attributes, &nodes_.back().first_attribute, &nodes_.back().n_attributes);
  }
  uint32_t node1(uint32_t op, const std::vector<uint32_t>& operands, int type, const Shape& shape,
                 const Attributes& attributes = {}) {
    const uint32_t v = value(type, shape);
    node(op, operands, v, 1, attributes);
    return v;
  }
  const frl_region* finish(uint32_t kind, const std::vector<uint32_t>& inputs,
                           const std::vector<uint32_t>& outputs, const Attributes& attributes = {}) {
    bodies_[0] = {0, uint32_t(nodes_.size()), list(inputs), uint32_t(inputs.size()), list(outputs),
                  uint32_t(outputs.size())};
    frl_region r{};
    r.head = {sizeof r, FRL_TAG_REGION}, r.kind = kind, r.compute = FRL_COMPUTE_IEEE;
    put_attributes(attributes, &r.first_attribute, &r.n_attributes);
    bytes_.assign((sizeof r + 7) / 8, 0);
    r.bodies = put(bodies_), r.nodes = put(nodes_), r.values = put(values_), r.dims = put(dims_);
    r.symbols = put(symbols_), r.attributes = put(attributes_), r.lists = put(lists_);
    r.ints = put(ints_), r.text = put(text_);
    r.bytes = uint32_t(bytes_.size() * 8);
    std::memcpy(bytes_.data(), &r, sizeof r);
    return reinterpret_cast<const frl_region*>(bytes_.data());
  }

 private:
  void put_attributes(const Attributes& attributes, uint32_t* first, uint32_t* n) {
    *first = uint32_t(attributes_.size()), *n = uint32_t(attributes.size());
    for (const Attribute& a : attributes) {
      attributes_.push_back({a.i, a.f, uint32_t(ints_.size()), uint32_t(a.list.size())});
      ints_.insert(ints_.end(), a.list.begin(), a.list.end());
    }
  }
  uint32_t list(const std::vector<uint32_t>& ids) {
    lists_.insert(lists_.end(), ids.begin(), ids.end());
    return uint32_t(lists_.size() - ids.size());
  }
  template <class T>
  frl_table put(const std::vector<T>& rows) {
    const auto at = uint32_t(bytes_.size() * 8);
    bytes_.resize(bytes_.size() + (rows.size() * sizeof(T) + 7) / 8, 0);
    if (!rows.empty()) std::memcpy(reinterpret_cast<char*>(bytes_.data()) + at, rows.data(), rows.size() * sizeof(T));
    return {at, uint32_t(rows.size()), uint32_t(sizeof(T))};
  }
  std::vector<frl_body> bodies_;
  std::vector<frl_node> nodes_;
  std::vector<frl_value> values_;
  std::vector<frl_dim> dims_;
  std::vector<frl_symbol> symbols_;
  std::vector<frl_attribute> attributes_;
  std::vector<uint32_t> lists_;
  std::vector<int64_t> ints_;
  std::vector<std::byte> text_;
  std::vector<uint64_t> bytes_;
};

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
inline void log(void* self, uint32_t, const char*, uint64_t) { ++static_cast<Services*>(self)->logged; }
inline thread_local bool in_team = false;
inline int32_t team(void* self, uint32_t wanted, uint64_t scratch_bytes,
                    void (*fn)(void*, const frl_worker*), void* arg) {
  const uint32_t n = in_team ? 1 : std::max(1u, std::min(wanted, static_cast<Services*>(self)->workers));
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
inline void barrier(void*, const frl_worker* w) { static_cast<const Worker*>(w)->barrier->arrive_and_wait(); }

template <class T>
frl_rows rows(const std::vector<T>& v) { return {v.data(), uint32_t(v.size()), sizeof(T)}; }
inline frl_binding plain(const void* p) { return {nullptr, reinterpret_cast<uint64_t>(p)}; }

// ---- one loaded plugin ----
class Plugin {
 public:
  explicit Plugin(const std::string& path, std::map<std::string, std::string> settings = {},
                  uint32_t workers = 2)
      : settings_(std::move(settings)) {
    services.workers = workers;
    library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library_) { why = dlerror(); return; }
    const auto entry = reinterpret_cast<frl_entry_fn>(dlsym(library_, "frl_plugin_v1"));
    const frl_offer offer{{sizeof offer, FRL_TAG_OFFER}, 0, FRL_MINOR, 0};
    api = entry(&offer, &error);
    for (const auto& [k, v] : settings_) rows_.push_back({{k.data(), k.size()}, {v.data(), v.size()}});
    services_of.head = {sizeof services_of, FRL_TAG_HOST}, services_of.self = &services;
    services_of.settings = rows(rows_), services_of.max_workers = workers;
    services_of.alloc = alloc, services_of.release = release, services_of.log = log;
    services_of.team = team, services_of.barrier = barrier;
    if (api->devices(&services_of, &devices, &error)) { why = error.text; return; }
    if (api->open(&services_of, row(), &device, &error)) { why = error.text; return; }
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
      auto* target = reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(packed.back().data()) + 63) / 64 * 64);
      if (const int32_t code = submit({k, 0, 2, 0, 0, p.input + 1, 0}, {args[p.input], target}, {})) return code;
      args[p.input] = target;
    }
    std::vector<std::byte> scratch(k->scratch_bytes + 64);
    args.resize(n_inputs_and_outputs);
    if (k->scratch_bytes)
      args.push_back(reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(scratch.data()) + 63) / 64 * 64));
    return submit({k, 0, uint32_t(args.size()), 0, uint32_t(extents.size()), 0, 0}, args, extents);
  }
  int32_t submit(frl_step step, const std::vector<const void*>& addresses, const std::vector<int64_t>& extents) {
    std::vector<frl_binding> late;
    std::vector<frl_arg> args;
    for (const void* p : addresses) args.push_back({uint32_t(late.size()), 0, 0}), late.push_back(plain(p));
    std::vector<uint32_t> places;
    for (uint32_t i = 0; i < extents.size(); ++i) places.push_back(i);
    const std::vector<frl_step> steps{step};
    const frl_segment s{{sizeof s, FRL_TAG_SEGMENT}, rows(steps), rows(args), rows(places), {},
                        uint32_t(late.size()), uint32_t(extents.size())};
    frl_recording* r = nullptr;
    if (api->record(queue, &s, &r, &error)) return error.code;
    const frl_submit q{{sizeof q, FRL_TAG_SUBMIT}, r, rows(late), extents.data(), {}, {}, ++last_signal, nullptr, nullptr};
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
