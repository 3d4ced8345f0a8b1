// Dear transfers, cpu and tpu-sim together: what stays, what moves, and that results are right.
#include "core/session/compile.h"
#include "tests/tpu_sim/simulator.h"

namespace ferrule::test {
namespace {

struct Placed {
  std::vector<std::pair<std::string, std::string>> nodes;  // op, device
  std::set<std::string> of(const std::string& op) const {
    std::set<std::string> out;
    for (const auto& [each, device] : nodes)
      if (each == op) out.insert(device);
    return out;
  }
  std::set<std::string> all() const {
    std::set<std::string> out;
    for (const auto& [op, device] : nodes) out.insert(device);
    return out;
  }
};

// Devices of the compiled graph's nodes, and of those inside regions.
Placed place(const Graph& graph, const std::string& order,
             std::shared_ptr<const Executable>* executable = nullptr) {
  Placed out;
  auto runtime = open_runtime({}, order);
  if (!runtime.ok()) return ADD_FAILURE() << runtime.status().message(), out;
  auto context = make_compile_context(**runtime);
  if (!context.ok()) return ADD_FAILURE() << context.status().message(), out;
  auto compiled = compile_graph(graph, *context);
  if (!compiled.ok()) return ADD_FAILURE() << compiled.status().message(), out;
  for (const Node& node : (*compiled)->graph().nodes()) {
    if (node.device < 0) continue;
    const std::string id = context->targets[size_t(node.device)].id;
    out.nodes.emplace_back(op_row(node.op).name, id);
    for (const Body& body : node.bodies)
      for (const Node& member : body->nodes()) out.nodes.emplace_back(op_row(member.op).name, id);
  }
  if (executable) *executable = *compiled;
  return out;
}

// The same; and what it computes is right.
Placed place_and_run(const Graph& graph, const std::string& order, double tolerance) {
  std::shared_ptr<const Executable> executable;
  const Placed out = place(graph, order, &executable);
  if (!executable) return out;
  auto run = executable->make_context();
  if (!run.ok()) return ADD_FAILURE() << run.status().message(), out;
  std::vector<Tensor> in, results;
  std::vector<const void*> sources;
  std::vector<void*> targets;
  for (ValueId id : graph.inputs())
    if (!graph.known(id)) in.push_back(ramp(graph.type(id), int(in.size())));
  for (const Output& output : graph.outputs()) results.emplace_back(graph.type(output.value));
  for (const Tensor& t : in) sources.push_back(t.bytes().data());
  for (Tensor& t : results) targets.push_back(t.mutable_data());
  const Status status = (*run)->run(sources, targets);
  if (!status.ok()) return ADD_FAILURE() << status.message(), out;
  const auto want = evaluate(graph, in);
  if (!want.ok()) return ADD_FAILURE() << want.status().message(), out;
  for (size_t r = 0; r < results.size(); ++r)
    for (int64_t i = 0; i < results[r].n_elements(); i += 97)
      EXPECT_NEAR(results[r].at_f64(i), (*want)[r].at_f64(i), tolerance) << "element " << i;
  return out;
}

const std::set<std::string> kCpu = {"cpu"}, kSim = {"tpu-sim"};

// Seventy megaflops on a megabyte of operands: the link is worth it.
TEST(Placement, ABigProductMoves) {
  const Placed placed = place_and_run(parse(R"(graph "g"
  %x = input f32[320,320] "x"
  %w = parameter f32[320,320] "w" = random 1
  %y = matmul %x, %w
  return %y "y"
)"),
                                      "cpu,tpu-sim", 1e-3);
  EXPECT_EQ(placed.of("matmul"), kSim);
}

// A product that is done before its operands would have arrived.
TEST(Placement, ASmallProductStays) {
  const Placed placed = place_and_run(parse(R"(graph "g"
  %x = input f32[16,64] "x"
  %w = parameter f32[64,64] "w" = random 1
  %y = matmul %x, %w
  return %y "y"
)"),
                                      "cpu,tpu-sim", 1e-4);
  EXPECT_EQ(placed.all(), kCpu);
}

// Every other op is one that tpu-sim has not (cumulative); between them it would be fast. Going to
// and fro costs more than staying.
TEST(Placement, AZigZagStaysOnOneDevice) {
  std::string text = "graph \"g\"\n  %v0 = input f32[64,256] \"x\"\n";
  for (int i = 0; i < 8; ++i)
    text += "  %v" + std::to_string(i + 1) + " = " + (i % 2 ? "tanh" : "cumulative") + " %v" +
            std::to_string(i) + (i % 2 ? "\n" : " {by=49, axis=-1}\n");
  text += "  return %v8 \"y\"\n";
  EXPECT_EQ(place_and_run(parse(text), "cpu,tpu-sim", 1e-2).all(), kCpu);
  EXPECT_EQ(place_and_run(parse(text), "tpu-sim,cpu", 1e-2).all(), kCpu)
      << "the order breaks ties alone";
}

// A few small ops behind cpu's own stay where their operand is.
TEST(Placement, ATinyIslandStaysPut) {
  const Placed placed = place_and_run(parse(R"(graph "g"
  %x = input f32[8,32] "x"
  %c = cumulative %x {by=49, axis=-1}
  %s = softmax %c {axis=-1}
  %r = relu %s
  %d = cumulative %r {by=49, axis=-1}
  return %d "y"
)"),
                                      "tpu-sim,cpu", 1e-3);
  EXPECT_EQ(placed.all(), kCpu);
}

// What follows a product that moved follows it, rather than bringing a large tensor back first.
TEST(Placement, WhatFollowsABigProductStaysBesideIt) {
  const Placed placed = place(parse(R"(graph "g"
  %x = input f32[512,512] "x"
  %w = parameter f32[512,2048] "w" = random 1
  %v = parameter f32[2048,512] "v" = random 2
  %h = matmul %x, %w
  %g = gelu %h
  %y = matmul %g, %v
  return %y "y"
)"),
                              "cpu,tpu-sim");
  EXPECT_EQ(placed.all(), kSim);
}

// Strict: what the only allowed device cannot do is an error that names it.
TEST(Placement, AloneItRefusesWhatItHasNot) {
  auto runtime = open_runtime({}, "tpu-sim");
  ASSERT_TRUE(runtime.ok());
  auto context = make_compile_context(**runtime);
  ASSERT_TRUE(context.ok()) << context.status().message();
  const auto executable = compile_graph(parse(R"(graph "g"
  %x = input f32[8,32] "x"
  %c = cumulative %x {by=49, axis=-1}
  return %c "y"
)"),
                                        *context);
  EXPECT_EQ(executable.status().code(), Code::no_device);
  EXPECT_THAT(executable.status().message(), testing::HasSubstr("tpu-sim"));
}

}  // namespace
}  // namespace ferrule::test
