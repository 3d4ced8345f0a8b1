// What the importer makes of small models: leaves, values on demand, control flow, functions.
#include <gmock/gmock.h>

#include <algorithm>

#include "tests/model/build.h"
#include "tests/model/cases.h"

namespace ferrule {
namespace {

using build::kBool;
using build::kF32;
using build::kI64;
using testing::ElementsAre;
using testing::HasSubstr;

using Inputs = std::map<std::string, Tensor>;

Tensor floats(const Shape& shape, const std::vector<float>& values) {
  return Tensor::of<float>(Type::f32, shape, values);
}
Tensor longs(const std::vector<int64_t>& values) { return Tensor::of_i64(values); }
Tensor truth(bool value) { return Tensor::scalar(Type::boolean, value); }

// The first output; empty, with a failed test, if there is none.
std::vector<double> run(const std::string& graph, const Inputs& inputs, int64_t opset = 17,
                        const std::string& rest = "") {
  auto model = build::parse(build::model(graph, opset, rest));
  EXPECT_TRUE(model.ok()) << model.status().message();
  if (!model.ok()) return {};
  auto outputs = run_reference(*model, inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.status().message();
  std::vector<double> out;
  for (int64_t i = 0; outputs.ok() && i < (*outputs)[0].n_elements(); ++i)
    out.push_back((*outputs)[0].at_f64(i));
  return out;
}

Result<Imported> import(const std::string& graph, ImportRequest request = {}, int64_t opset = 17) {
  FRL_LET(const Model model, build::parse(build::model(graph, opset)));
  return import_model(model, request);
}

size_t count(const Graph& graph, OpId op) {
  return size_t(std::count_if(graph.nodes().begin(), graph.nodes().end(),
                              [&](const Node& node) { return node.op == op; }));
}

std::string scalar(const std::string& name, float value) {
  return build::initializer(build::tensor(name, kF32, {}, build::raw<float>({value})));
}
std::string long_list(const std::string& name, const std::vector<int64_t>& values) {
  return build::initializer(
      build::tensor(name, kI64, {int64_t(values.size())}, build::raw(values)));
}
std::string long_scalar(const std::string& name, int64_t value) {
  return build::initializer(build::tensor(name, kI64, {}, build::raw<int64_t>({value})));
}
const std::string kX = build::input("x", kF32, {2, 3}), kY = build::output("y");
const Inputs kSix = {{"x", floats({2, 3}, {1, 2, 3, 4, 5, 6})}};

TEST(Leaves, WeightsAreParametersAndLoneNumbersLiterals) {
  const std::vector<float> ones(6, 1);
  const auto made =
      import(kX + kY + scalar("two", 2) +
             build::initializer(build::tensor("w", kF32, {2, 3}, build::raw(ones))) +
             build::node("Mul", {"x", "two"}, {"a"}) + build::node("Add", {"a", "w"}, {"b"}) +
             build::node("Add", {"b", "w"}, {"y"}));
  ASSERT_TRUE(made.ok()) << made.status().message();
  std::vector<std::string> parameters;
  size_t n_literals = 0;
  for (const Value& value : made->graph.values()) {
    if (value.role == Role::parameter) parameters.push_back(value.name);
    n_literals += value.role == Role::literal;
  }
  EXPECT_THAT(parameters, ElementsAre("w"));
  EXPECT_EQ(n_literals, 1u);
  EXPECT_EQ(made->graph.source_text(made->graph.node(NodeId{0})), "n_a (Mul)");
}

// Files before ir version 4 list every initialiser as an input.
TEST(Leaves, AnInputWithADefaultIsOneOnlyIfAsked) {
  const std::string graph = kX + build::input("b", kF32, {}) + kY + scalar("b", 5) +
                            build::node("Add", {"x", "b"}, {"y"});
  auto model = build::parse(build::model(graph));
  ASSERT_TRUE(model.ok());
  EXPECT_FALSE(model->inputs()[0].has_default);
  EXPECT_TRUE(model->inputs()[1].has_default);
  EXPECT_THAT(run(graph, kSix), ElementsAre(6, 7, 8, 9, 10, 11));
  Inputs both = kSix;
  both["b"] = Tensor::scalar(Type::f32, 1);
  EXPECT_THAT(run(graph, both), ElementsAre(2, 3, 4, 5, 6, 7));
}

TEST(Leaves, ShapesMustFitTheDeclaredOnes) {
  ImportRequest request;
  request.shapes["x"] = Shape{2, 4};
  EXPECT_THAT(import(kX + kY + build::node("Relu", {"x"}, {"y"}), request).status().message(),
              HasSubstr("input 'x': want [2,3], got [2,4]"));
  const std::string open =
      build::input("x", kF32, {-1, 3}) + kY + build::node("Relu", {"x"}, {"y"});
  EXPECT_THAT(import(open).status().message(),
              HasSubstr("input 'x': want a shape for [n,3], got none"));
  request.shapes["x"] = Shape{7, 3};
  EXPECT_TRUE(import(open, request).ok());
}

TEST(Leaves, WantedOutputsAndStates) {
  const std::string graph = kX + kY + build::output("z") + build::node("Relu", {"x"}, {"y"}) +
                            build::node("Add", {"x", "y"}, {"z"});
  ImportRequest request;
  request.outputs = {"z"};
  request.states["x"] = "z";
  const auto made = import(graph, request);
  ASSERT_TRUE(made.ok()) << made.status().message();
  ASSERT_EQ(made->graph.outputs().size(), 1u);
  EXPECT_EQ(made->graph.outputs()[0].name, "z");
  EXPECT_EQ(made->graph.value(made->graph.inputs()[0]).role, Role::state);
  ASSERT_EQ(made->graph.state_pairs().size(), 1u);
  EXPECT_EQ(made->graph.state_pairs()[0].output, 0u);
}

const std::string kReshape =
    kX + build::input("s", kI64, {2}) + kY + build::node("Reshape", {"x", "s"}, {"y"});

TEST(Values, AreAskedForAndThenUsed) {
  const auto first = import(kReshape);
  ASSERT_TRUE(first.ok()) << first.status().message();
  EXPECT_THAT(first->wanted_values, ElementsAre("s"));
  ImportRequest request;
  request.values["s"] = longs({3, -1});
  const auto second = import(kReshape, request);
  ASSERT_TRUE(second.ok()) << second.status().message();
  EXPECT_TRUE(second->wanted_values.empty());
  EXPECT_EQ(second->graph.shape(second->graph.outputs()[0].value), (Shape{3, 2}));
  EXPECT_EQ(second->graph.inputs().size(), 2u);
}

// The cone of shape arithmetic ends in literals; nothing of it is left.
TEST(Values, ShapeArithmeticFolds) {
  const auto made = import(kX + kY + long_list("minus", {-1}) + build::node("Shape", {"x"}, {"s"}) +
                           build::node("Gather", {"s", "minus"}, {"last"}, build::i("axis", 0)) +
                           build::node("Concat", {"last", "minus"}, {"to"}, build::i("axis", 0)) +
                           build::node("Reshape", {"x", "to"}, {"y"}));
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(made->graph.n_nodes(), 1u);
  EXPECT_EQ(made->graph.shape(made->graph.outputs()[0].value), (Shape{3, 2}));
}

TEST(Values, ReadParametersAreRecorded) {
  std::vector<int64_t> places(20, 1);
  const std::string graph = kX + kY + long_list("many", places) +
                            build::node("ReduceSum", {"many"}, {"sum"}, build::i("keepdims", 0)) +
                            build::node("TopK", {"x", "k"}, {"y", "i"}) +
                            build::node("Div", {"sum", "ten"}, {"k0"}) + long_scalar("ten", 10) +
                            build::node("Unsqueeze", {"k0", "zero"}, {"k"}) +
                            long_list("zero", {0});
  const auto made = import(graph);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_THAT(made->read_parameters, ElementsAre("many"));
  EXPECT_EQ(made->graph.shape(made->graph.outputs()[0].value), (Shape{2, 2}));
}

TEST(Values, DataDependentShapesAreRefusedByName) {
  const std::string graph = kX + kY + build::node("NonZero", {"x"}, {"places"}) +
                            build::node("Shape", {"places"}, {"s"}) +
                            build::node("ConstantOfShape", {"s"}, {"y"});
  EXPECT_THAT(import(graph).status().message(),
              HasSubstr("node 'n_s' (Shape, opset 17): input 0 has the data-dependent shape"));
}

TEST(Values, WrittenExtentsFlowOn) {
  const std::string graph = kX + kY + build::node("NonZero", {"x"}, {"places"}) +
                            build::node("Transpose", {"places"}, {"rows"}) +
                            build::node("GatherND", {"x", "rows"}, {"y"});
  EXPECT_THAT(run(graph, {{"x", floats({2, 3}, {0, 2, 0, 4, 0, 6})}}), ElementsAre(2, 4, 6));
}

std::string branch(const std::string& nodes, const std::string& out) {
  return nodes + build::output(out);
}
std::string if_node(const std::string& then_branch, const std::string& else_branch) {
  return build::node("If", {"c"}, {"y"},
                     build::graph_attribute("then_branch", then_branch) +
                         build::graph_attribute("else_branch", else_branch));
}

TEST(Control, IfWithEqualTypesStaysAnIf) {
  const std::vector<float> ten(6, 10);
  const std::string graph = kX + build::input("c", kBool, {}) + kY + scalar("two", 2) +
                            build::initializer(build::tensor("w", kF32, {2, 3}, build::raw(ten))) +
                            if_node(branch(build::node("Mul", {"x", "two"}, {"t"}), "t"),
                                    branch(build::node("Add", {"w", "x"}, {"e"}), "e"));
  const auto made = import(graph);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(count(made->graph, FRL_OP_if), 1u);
  EXPECT_EQ(made->graph.node(NodeId{0}).operands.size(), 3u);  // condition, x, w
  EXPECT_TRUE(verify(made->graph).ok());
  Inputs inputs = kSix;
  inputs["c"] = truth(true);
  EXPECT_THAT(run(graph, inputs), ElementsAre(2, 4, 6, 8, 10, 12));
  inputs["c"] = truth(false);
  EXPECT_THAT(run(graph, inputs), ElementsAre(11, 12, 13, 14, 15, 16));
}

TEST(Control, IfWithUnlikeBranchesWantsItsCondition) {
  const std::string graph = kX + build::input("c", kBool, {}) + kY +
                            if_node(branch(build::node("Relu", {"x"}, {"t"}), "t"),
                                    branch(build::node("Transpose", {"x"}, {"e"}), "e"));
  const auto made = import(graph);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_THAT(made->wanted_values, ElementsAre("c"));
  Inputs inputs = kSix;
  inputs["c"] = truth(false);
  EXPECT_THAT(run(graph, inputs), ElementsAre(1, 4, 2, 5, 3, 6));
}

TEST(Control, IfWithAKnownConditionIsInlined) {
  const std::string graph =
      kX + kY + build::initializer(build::tensor("c", kBool, {}, std::string("\x01", 1))) +
      if_node(branch(build::node("Neg", {"x"}, {"t"}), "t"),
              branch(build::node("Relu", {"x"}, {"e"}), "e"));
  const auto made = import(graph);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(made->graph.n_nodes(), 1u);
  EXPECT_EQ(made->graph.node(NodeId{0}).op, OpId(FRL_OP_neg));
}

// y = x + 1 + 1 + .., and the values on the way.
std::string loop(const std::string& condition, const std::string& body_nodes,
                 const std::vector<std::string>& outs) {
  std::string body = build::input("i", kI64, {}) + build::input("go", kBool, {}) +
                     build::input("v", kF32, {-1, -1}) + body_nodes;
  for (const std::string& out : outs) body += build::output(out);
  std::vector<std::string> results = {"y"};
  for (size_t i = 2; i < outs.size(); ++i) results.push_back(cat("stack", i));
  return build::node("Loop", {"m", condition, "x"}, results, build::graph_attribute("body", body));
}
const std::string kStep =
    build::node("Identity", {"go"}, {"go2"}) + build::node("Add", {"v", "one"}, {"v2"});

TEST(Control, CountedLoopIsAScan) {
  const std::string graph =
      kX + build::output("stack2") + kY + scalar("one", 1) + long_scalar("m", 3) +
      loop("", kStep + build::node("Neg", {"v2"}, {"seen"}), {"go2", "v2", "seen"});
  const auto made = import(graph);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(count(made->graph, FRL_OP_scan), 1u);
  EXPECT_EQ(made->graph.shape(made->graph.outputs()[0].value), (Shape{3, 2, 3}));
  const auto stacked = run(graph, kSix);
  ASSERT_EQ(stacked.size(), 18u);
  EXPECT_EQ(stacked[0], -2);
  EXPECT_EQ(stacked[17], -9);
}

TEST(Control, TripCountsAreAskedFor) {
  const std::string graph =
      kX + build::input("m", kI64, {}) + kY + scalar("one", 1) + loop("", kStep, {"go2", "v2"});
  const auto made = import(graph);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_THAT(made->wanted_values, ElementsAre("m"));
  Inputs inputs = kSix;
  inputs["m"] = longs({4}).reshaped({});
  EXPECT_THAT(run(graph, inputs), ElementsAre(5, 6, 7, 8, 9, 10));
  inputs["m"] = longs({0}).reshaped({});
  EXPECT_THAT(run(graph, inputs), ElementsAre(1, 2, 3, 4, 5, 6));
}

// go on while the sum is below 60
const std::string kUntil = build::node("Add", {"v", "one"}, {"v2"}) +
                           build::node("ReduceSum", {"v2"}, {"sum"}, build::i("keepdims", 0)) +
                           build::node("Less", {"sum", "sixty"}, {"go2"});

TEST(Control, LoopUntilDataSayStopIsAWhile) {
  const std::string graph = kX + kY + scalar("one", 1) + scalar("sixty", 60) +
                            long_scalar("m", 1000) + loop("", kUntil, {"go2", "v2"});
  const auto made = import(graph);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(count(made->graph, FRL_OP_while), 1u);
  EXPECT_TRUE(verify(made->graph).ok());
  EXPECT_THAT(run(graph, kSix), ElementsAre(8, 9, 10, 11, 12, 13));
}

TEST(Control, StackedResultsOfAWhileAreRefused) {
  const std::string wide = build::input("x", kF32, {1000, 1000});
  const std::string graph = wide + build::output("stack2") + scalar("one", 1) +
                            scalar("sixty", 60) + long_scalar("m", 1000) +
                            loop("", kUntil, {"go2", "v2", "v"});
  EXPECT_THAT(import(graph).status().message(), HasSubstr("number of trips depends on data"));
}

TEST(Control, LoopThatGrowsIsUnrolled) {
  const std::string body = build::input("i", kI64, {}) + build::input("go", kBool, {}) +
                           build::input("v", kF32, {-1, 3}) +
                           build::node("Identity", {"go"}, {"go2"}) +
                           build::node("Concat", {"v", "x"}, {"v2"}, build::i("axis", 0)) +
                           build::output("go2") + build::output("v2");
  const std::string graph =
      kX + kY + long_scalar("m", 3) +
      build::node("Loop", {"m", "", "x"}, {"y"}, build::graph_attribute("body", body));
  const auto made = import(graph);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(made->graph.shape(made->graph.outputs()[0].value), (Shape{8, 3}));
  ImportRequest request;
  request.limits.n_trips = 2;
  EXPECT_FALSE(import(graph, request).ok());
}

TEST(Control, ScanOverColumnsBackwards) {
  const std::string body = build::input("s", kF32, {2}) + build::input("c", kF32, {2}) +
                           build::node("Add", {"s", "c"}, {"s2"}) +
                           build::node("Mul", {"s2", "ten"}, {"o"}) + build::output("s2") +
                           build::output("o");
  const std::string graph =
      kX + build::input("s0", kF32, {2}) + build::output("o") + scalar("ten", 10) +
      build::node("Scan", {"s0", "x"}, {"last", "o"},
                  build::i("num_scan_inputs", 1) + build::ints("scan_input_axes", {1}) +
                      build::ints("scan_input_directions", {1}) +
                      build::ints("scan_output_axes", {-1}) + build::graph_attribute("body", body));
  Inputs inputs = kSix;
  inputs["s0"] = floats({2}, {0, 0});
  EXPECT_THAT(run(graph, inputs), ElementsAre(30, 50, 60, 60, 110, 150));
}

TEST(Control, BodiesKeepTheirSources) {
  const auto made = import(kX + build::input("c", kBool, {}) + kY +
                           if_node(branch(build::node("Neg", {"x"}, {"t"}), "t"),
                                   branch(build::node("Relu", {"x"}, {"e"}), "e")));
  ASSERT_TRUE(made.ok()) << made.status().message();
  const Graph& body = *made->graph.node(NodeId{0}).bodies[0];
  EXPECT_EQ(body.source_text(body.node(NodeId{0})), "n_t (Neg)");
}

TEST(Functions, AreInlinedWithTheirAttributes) {
  const std::string nodes =
      build::node("LeakyRelu", {"a"}, {"m"}, build::reference("alpha", "slope", 1), "", 7) +
      build::node("Neg", {"m"}, {"b"}, "", "", 7);
  const std::string function =
      build::bytes(25, build::bytes(1, "Steep") + build::bytes(4, "a") + build::bytes(5, "b") +
                           build::bytes(6, "slope") + nodes +
                           build::bytes(9, build::number(2, 17)) + build::bytes(10, "own"));
  const std::string graph = kX + kY + build::node("Neg", {"x"}, {"nx"}) +
                            build::node("Steep", {"nx"}, {"y"}, build::f("slope", 0.5), "own");
  EXPECT_THAT(run(graph, kSix, 17, function), ElementsAre(0.5, 1, 1.5, 2, 2.5, 3));
}

TEST(Sequences, SplitMapConcat) {
  const std::string body =
      build::input("e", kF32, {1, 3}) + build::node("Neg", {"e"}, {"ne"}) + build::output("ne");
  const std::string graph =
      kX + kY + build::node("SplitToSequence", {"x"}, {"s"}, build::i("axis", 0)) +
      build::node("SequenceMap", {"s"}, {"m"}, build::graph_attribute("body", body)) +
      build::node("ConcatFromSequence", {"m"}, {"y"}, build::i("axis", 1));
  EXPECT_THAT(run(graph, kSix), ElementsAre(-1, -2, -3, -4, -5, -6));
}

TEST(Order, NodesMayStandInAnyOrder) {
  EXPECT_THAT(
      run(kX + kY + build::node("Neg", {"a"}, {"y"}) + build::node("Abs", {"x"}, {"a"}), kSix),
      ElementsAre(-1, -2, -3, -4, -5, -6));
}

// A chain far deeper than any stack.
TEST(Order, LongChains) {
  std::string nodes;
  for (int n = 0; n < 60000; ++n)
    nodes += build::node("Neg", {n ? cat("v", n) : "x"}, {cat("v", n + 1)});
  const auto made = import(kX + build::output("v60000") + nodes);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(made->graph.n_nodes(), 60000u);
}

}  // namespace
}  // namespace ferrule
