// The simulated device through core/driver: one region at a time, with the time it says it took.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/driver/loader.h"
#include "core/graph/block.h"
#include "core/session/runtime.h"

namespace ferrule::test {

using Settings = std::map<std::string, std::string>;

inline Result<std::shared_ptr<Runtime>> open_runtime(const Settings& settings,
                                                     const std::string& targets = "tpu-sim") {
  Config config;
  FRL_TRY(config.set("targets.order", targets, "test"));
  for (const auto& [key, value] : settings)
    FRL_TRY(config.set("plugin.org.ferrule.tpu-sim." + key, value, "test"));
  RuntimeOptions options;
  options.folders = {FRL_BUILD_DIR "/plugins", FRL_BUILD_DIR "/simulators"};
  options.check_plans = true;
  return Runtime::open(config, options);
}

inline Graph parse(const std::string& text) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph.ok()) << graph.status().message() << "\n" << text;
  return graph.ok() ? std::move(*graph) : Graph();
}

inline Block block_of(const Graph& graph, uint32_t compute = FRL_COMPUTE_IEEE) {
  const Node& node = graph.node(NodeId(0));
  std::vector<Placed> operands, results(node.results.size());
  for (ValueId id : node.operands)
    operands.push_back({id != kNoValue && graph.value(id).role == Role::parameter, false, 64, {}});
  auto block = encode_region(graph, node, operands, results, compute);
  EXPECT_TRUE(block.ok()) << block.status().message();
  return block.ok() ? *block : Block();
}

inline Tensor ramp(const TensorType& type, int seed) {
  Tensor out(type);
  for (int64_t i = 0; i < out.n_elements(); ++i)
    out.set_f64(i, double((i * 37 + seed * 11) % 101 - 50) / 37);
  return out;
}

class Simulator {
 public:
  explicit Simulator(const Settings& settings = Settings()) {
    const Status status = open(settings);
    EXPECT_TRUE(status.ok()) << status.message();
  }
  bool ok() const { return queue_ != nullptr; }
  Driver& driver() const { return *driver_; }
  Device& device() const { return *device_; }
  const Cost& cost() const { return device_->row().cost; }
  uint64_t estimate_ps(const Block& block) const { return driver_->estimate_ps(number_, block); }
  Refusal refuse(const Block& block) const { return driver_->refuse(number_, block); }

  struct Run {
    std::vector<Tensor> results;
    uint64_t ns = 0;  // of the step, as the device says
  };
  // The graph's only node on dense tensors; parameters have their own values.
  Result<Run> run(const Graph& graph, std::span<const Tensor> operands,
                  uint32_t compute = FRL_COMPUTE_IEEE) const {
    FRL_LET(const auto kernel, device_->compile(block_of(graph, compute)));
    std::vector<std::unique_ptr<Buffer>> buffers;
    std::vector<frl_copy> in, out;
    Run done;
    size_t next = 0;
    for (ValueId id : graph.node(NodeId(0)).operands) {
      if (id == kNoValue) continue;
      const Tensor& t = graph.known(id) ? *graph.known(id) : operands[next++];
      FRL_TRY(add_buffer(t.bytes().size(), &buffers));
      in.push_back(
          copy({buffers.back()->handle(), 0}, address(t.bytes().data()), t.bytes().size()));
    }
    for (ValueId id : graph.node(NodeId(0)).results) {
      Tensor& t = done.results.emplace_back(graph.type(id));
      FRL_TRY(add_buffer(t.bytes().size(), &buffers));
      out.push_back(
          copy(address(t.mutable_data()), {buffers.back()->handle(), 0}, t.bytes().size()));
    }
    FRL_TRY(submit(*kernel, buffers, in, &done.ns));
    FRL_TRY(finish(nullptr, out, nullptr));
    return done;
  }

 private:
  Status open(const Settings& settings) {
    FRL_LET(runtime_, open_runtime(settings));
    const DeviceEntry* entry = runtime_->find("tpu-sim");
    if (!entry) return Status(Code::no_device, "want tpu-sim among the devices");
    driver_ = entry->driver, number_ = entry->number;
    FRL_LET(device_, driver_->open(number_));
    FRL_LET(queue_, device_->open_queue());
    return {};
  }
  static frl_binding address(const void* p) { return {nullptr, reinterpret_cast<uint64_t>(p)}; }
  static frl_copy copy(frl_binding target, frl_binding source, uint64_t n) {
    return {target, source, n, 1, int64_t(n), int64_t(n)};
  }
  template <class T>
  static frl_rows rows(const std::vector<T>& v) {
    return {v.data(), uint32_t(v.size()), sizeof(T)};
  }
  Status add_buffer(uint64_t bytes, std::vector<std::unique_ptr<Buffer>>* buffers) const {
    FRL_LET(auto buffer, device_->make_buffer(0, bytes));
    buffers->push_back(std::move(buffer));
    return {};
  }
  Status submit(const Kernel& kernel, const std::vector<std::unique_ptr<Buffer>>& buffers,
                const std::vector<frl_copy>& copies, uint64_t* ns) const {
    std::vector<frl_binding> fixed;
    std::vector<frl_arg> args;
    for (const auto& b : buffers)
      args.push_back({uint32_t(fixed.size()), 0, 0}), fixed.push_back({b->handle(), 0});
    const std::vector<frl_step> steps = {{kernel.handle(), 0, uint32_t(args.size()), 0, 0, 0, 0}};
    frl_segment segment{};
    segment.head = {sizeof segment, FRL_TAG_SEGMENT};
    segment.steps = rows(steps), segment.args = rows(args), segment.fixed = rows(fixed);
    FRL_LET(const auto recording, queue_->record(segment, nullptr));
    return finish(recording.get(), copies, ns);
  }
  Status finish(const Recording* recording, const std::vector<frl_copy>& copies,
                uint64_t* ns) const {
    frl_submit request{};
    request.head = {sizeof request, FRL_TAG_SUBMIT};
    request.recording = recording ? recording->handle() : nullptr;
    request.copies = rows(copies), request.step_ns = ns;
    if (auto error = queue_->submit(request); !error.status.ok()) return error.status;
    return queue_->wait(request.signal).status;
  }

  std::shared_ptr<Runtime> runtime_;
  std::shared_ptr<Driver> driver_;
  size_t number_ = 0;
  std::shared_ptr<Device> device_;
  std::unique_ptr<Queue> queue_;
};

inline std::string product(const std::string& type, int64_t m, int64_t n, int64_t k) {
  const auto matrix = [&](int64_t rows, int64_t columns) {
    return type + "[" + std::to_string(rows) + "," + std::to_string(columns) + "]";
  };
  return "graph \"g\"\n  %a = input " + matrix(m, k) + " \"a\"\n  %b = input " + matrix(k, n) +
         " \"b\"\n  %y = matmul %a, %b\n  return %y \"y\"\n";
}

}  // namespace ferrule::test
