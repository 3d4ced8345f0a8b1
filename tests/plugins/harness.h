// A plugin of this folder through core/driver alone: regions as blocks, segments by hand.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/driver/loader.h"
#include "core/graph/block.h"

namespace ferrule::test {

using Log = std::vector<std::string>;

inline std::shared_ptr<Driver> load(const std::string& name, Log* log = nullptr) {
  Verdict verdict;
  LogSink sink;
  if (log)
    sink = [log](int, const std::string& from, const std::string& text) {
      log->push_back(from + ": " + text);
    };
  auto driver = load_plugin(FRL_BUILD_DIR "/test_plugins/" + name + ".so",
                            std::make_shared<Team>(2), sink, &verdict);
  EXPECT_TRUE(driver.ok()) << stage_name(verdict.stage) << ": " << verdict.status.message();
  return driver.ok() ? *driver : nullptr;
}

inline Graph parse(const char* text) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  return graph.ok() ? std::move(*graph) : Graph();
}

// The block of the graph's only node; everything dense.
inline Block block_of(const Graph& graph) {
  const Node& node = graph.node(NodeId(0));
  std::vector<Placed> operands, results(node.results.size());
  for (ValueId id : node.operands)
    operands.push_back({graph.value(id).role == Role::parameter, false, 64, {}});
  auto block = encode_region(graph, node, operands, results, FRL_COMPUTE_IEEE);
  EXPECT_TRUE(block.ok()) << block.status().message();
  EXPECT_TRUE(check_block(block->bytes()).ok());
  return *block;
}

inline Tensor ramp(const TensorType& type, int seed) {
  Tensor out(type);
  for (int64_t i = 0; i < out.n_elements(); ++i)
    out.set_f64(i, double((i * 37 + seed * 11) % 23 - 11) / 4);
  return out;
}

// Rows of a segment with one step per kernel; bindings are given whole.
struct Segment {
  std::vector<frl_step> steps;
  std::vector<frl_arg> args;
  std::vector<uint32_t> extents;
  std::vector<frl_binding> fixed;
  uint32_t n_late = 0, n_submit_extents = 0;

  // Binding numbers count late ones first.
  void step(const Kernel& kernel, std::vector<uint32_t> bindings,
            std::vector<uint32_t> extent_places = {}, uint32_t pack = 0) {
    steps.push_back({kernel.handle(), uint32_t(args.size()), uint32_t(bindings.size()),
                     uint32_t(extents.size()), uint32_t(extent_places.size()), pack, 0});
    for (uint32_t binding : bindings) args.push_back({binding, 0, 0});
    extents.insert(extents.end(), extent_places.begin(), extent_places.end());
  }
  frl_segment table() const {
    frl_segment out{};
    out.head = {sizeof out, FRL_TAG_SEGMENT};
    out.steps = rows(steps), out.args = rows(args), out.extents = rows(extents),
    out.fixed = rows(fixed);
    out.n_late = n_late, out.n_submit_extents = n_submit_extents;
    return out;
  }
  template <class T>
  static frl_rows rows(const std::vector<T>& v) {
    return {v.data(), uint32_t(v.size()), sizeof(T)};
  }
};

inline frl_submit submit_of(const Recording* recording) {
  frl_submit out{};
  out.head = {sizeof out, FRL_TAG_SUBMIT};
  out.recording = recording ? recording->handle() : nullptr;
  return out;
}

inline frl_copy copy_of(frl_binding target, frl_binding source, uint64_t n) {
  return {target, source, n, 1, int64_t(n), int64_t(n)};
}
inline frl_binding whole(const Buffer& buffer) { return {buffer.handle(), 0}; }
inline frl_binding address(const void* p) { return {nullptr, reinterpret_cast<uint64_t>(p)}; }

constexpr const char* kPointwise = R"(graph "g"
  %x = input f32[4,5] "x"
  %b = input f32[5] "b"
  %y = pointwise %x, %b
  body
    %p = input f32[4,5] "p"
    %q = input f32[5] "q"
    %s = add %p, %q
    %r = relu %s
    %m = mul %r, %p
    return %m "m"
  return %y "y"
)";

}  // namespace ferrule::test
