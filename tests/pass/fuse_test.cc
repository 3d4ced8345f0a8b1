// fuse(): devices, gate and plugins have their say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/pass/match.h"
#include "tests/pass/device.h"

namespace ferrule {
namespace {

using testing::HasSubstr;

constexpr const char* kChain = R"(graph "g"
  %x = input f32[1024] "x"
  %a = exp %x
  %b = neg %a
  return %b "b")";

constexpr const char* kBiased = R"(graph "g"
    %x = input f32[2,3] "x"
    %w = parameter f32[3,4] "w" = random 1
    %b = parameter f32[4] "b" = random 2
    %p = matmul %x, %w
    %s = add %p, %b
    %y = relu %s
    return %y "y")";

Graph graph_on_device(const char* text) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  for (size_t i = 0; i < graph->n_nodes(); ++i) graph->node(NodeId(i)).device = 0;
  return std::move(*graph);
}

bool has_op(const Graph& graph, OpId op, size_t n_members = 0) {
  for (const Node& node : graph.nodes())
    if (node.op == op && (n_members == 0 || node.bodies[0]->n_nodes() == n_members)) return true;
  return false;
}

bool matches(const char* text, size_t node, const Pattern& pattern) {
  Graph graph = graph_on_device(text);
  Match found{graph};
  const auto uses = graph.count_uses();
  return match(graph, &uses, NodeId(node), pattern, &found);
}

TEST(Match, WantsTheFirstResult) {
  constexpr const char* kText = R"(graph "g"
    %x = input f32[4] "x"
    %v, %i = topk %x {k=2}
    %y = neg %i
    %z = neg %v
    return %y "y", %z "z")";
  const Pattern pattern = pat(FRL_OP_neg, {tee(1, pat(FRL_OP_topk, {any(0)}))});
  EXPECT_FALSE(matches(kText, 1, pattern));
}

TEST(Match, TakesANodeOnce) {
  constexpr const char* kText = R"(graph "g"
    %x = input f32[4] "x"
    %n = neg %x
    %y = mul %n, %n
    return %y "y")";
  EXPECT_FALSE(
      matches(kText, 1, pat(FRL_OP_mul, {pat(FRL_OP_neg, {any(0)}), pat(FRL_OP_neg, {any(0)})})));
  EXPECT_TRUE(matches(kText, 1, pat(FRL_OP_mul, {as(1, pat(FRL_OP_neg, {any(0)})), any(1)})));
}

TEST(Match, PeelsWhatMayBeThere) {
  constexpr const char* kText = R"(graph "g"
    %x = input f32[4] "x"
    %n = neg %x
    %c = cast %n {to=f64}
    %y = exp %c
    %z = exp %x
    return %y "y", %z "z")";
  const Pattern pattern = pat(FRL_OP_exp, {maybe(FRL_OP_cast, pat(FRL_OP_neg, {any(0)}))});
  EXPECT_TRUE(matches(kText, 2, pattern));
  EXPECT_FALSE(matches(kText, 3, pattern));
}

TEST(Fuse, NodesOfTwoDevicesDoNotFuse) {
  Graph graph = graph_on_device(R"(graph "g"
    %x = input f32[2,3] "x"
    %w = parameter f32[3,4] "w" = random 1
    %p = matmul %x, %w
    %y = relu %p
    return %y "y")");
  graph.node(NodeId(0)).device = 1;
  ASSERT_TRUE(
      fuse(graph, test::device_claiming({"matmul", "matmul_bias_act", "pointwise"}), 0, {}).ok());
  EXPECT_TRUE(has_op(graph, FRL_OP_matmul));
  EXPECT_FALSE(has_op(graph, FRL_OP_matmul_bias_act));
}

TEST(Fuse, NodesOfAnotherDeviceAreLeftAlone) {
  Graph graph = graph_on_device(kBiased);
  for (size_t i = 0; i < graph.n_nodes(); ++i) graph.node(NodeId(i)).device = 1;
  ASSERT_TRUE(
      fuse(graph, test::device_claiming({"matmul", "matmul_bias_act", "pointwise"}), 0, {}).ok());
  EXPECT_FALSE(has_op(graph, FRL_OP_matmul_bias_act));
}

TEST(Fuse, ANodeIsSwallowedOnce) {
  Graph graph = graph_on_device(kBiased);
  const auto report =
      fuse(graph, test::device_claiming({"matmul", "matmul_bias_act", "pointwise"}), 0, {});
  ASSERT_TRUE(report.ok());
  int accepted = 0;
  for (const Candidate& candidate : report->candidates) accepted += candidate.accepted;
  EXPECT_EQ(accepted, 1);
}

TEST(Fuse, ACandidateNamesEachSourceOnce) {
  Graph graph = graph_on_device(kChain);
  const SourceId split = graph.add_source({"s", "Split"});
  for (size_t i = 0; i < graph.n_nodes(); ++i) graph.node(NodeId(i)).sources = {split};
  const auto report = fuse(graph, test::device_claiming({"pointwise"}), 0, {});
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->candidates.at(0).nodes, "s (Split)");
}

TEST(Fuse, UnclaimedMembersStayOutOfRegions) {
  Graph graph = graph_on_device(R"(graph "g"
    %x = input f32[1024] "x"
    %a = exp %x
    %b = neg %a
    %c = tanh %b
    return %c "c")");
  DeviceRow device = test::device_claiming({"pointwise", "exp"});
  std::erase(device.claims[0].members, OpId(FRL_OP_exp));
  ASSERT_TRUE(fuse(graph, device, 0, {}).ok());
  EXPECT_TRUE(has_op(graph, FRL_OP_exp));
  EXPECT_TRUE(has_op(graph, FRL_OP_pointwise, 2));
}

TEST(Fuse, PointwiseNodesOfTwoDevicesDoNotFuse) {
  Graph graph = graph_on_device(kChain);
  graph.node(NodeId(0)).device = 1;
  ASSERT_TRUE(fuse(graph, test::device_claiming({"pointwise"}), 0, {}).ok());
  EXPECT_FALSE(has_op(graph, FRL_OP_pointwise, 2));
}

TEST(Fuse, GateRejectsWhatGainsTooLittle) {
  Graph graph = graph_on_device(kChain);
  DeviceRow device = test::device_claiming({"pointwise"});
  device.cost.minimum_gain_ps = 1'000'000'000;
  const auto report = fuse(graph, device, 0, {});
  ASSERT_TRUE(report.ok());
  EXPECT_FALSE(has_op(graph, FRL_OP_pointwise, 2));
  ASSERT_FALSE(report->candidates.empty());
  EXPECT_THAT(report->candidates[0].reason, HasSubstr("gate: predicted gain"));
  EXPECT_GT(report->candidates[0].before_ps, report->candidates[0].after_ps);
}

TEST(Fuse, GateModeAlwaysAndNever) {
  for (const bool always : {true, false}) {
    Graph graph = graph_on_device(kChain);
    DeviceRow device = test::device_claiming({"pointwise"});
    device.cost.minimum_gain_ps = always ? 1'000'000'000 : 0;
    FuseOptions options;
    options.gate.mode = always ? GateMode::always : GateMode::never;
    ASSERT_TRUE(fuse(graph, device, 0, options).ok());
    EXPECT_EQ(has_op(graph, FRL_OP_pointwise, 2), always);
  }
}

TEST(Fuse, PluginMayRefuse) {
  Graph graph = graph_on_device(kChain);
  const auto report = fuse(graph, test::device_claiming({"pointwise"}), 0, {}, [](const Block&) {
    return Refusal{Code::no_benefit, "not today"};
  });
  ASSERT_TRUE(report.ok());
  EXPECT_FALSE(has_op(graph, FRL_OP_pointwise, 2));
  EXPECT_EQ(report->candidates.at(0).reason, "not today");
}

TEST(Fuse, ClaimedActivationsOnly) {
  Graph graph = graph_on_device(R"(graph "g"
    %x = input f32[2,3] "x"
    %w = parameter f32[3,4] "w" = random 1
    %p = matmul %x, %w
    %y = gelu %p
    return %y "y")");
  DeviceRow device = test::device_claiming({"matmul", "matmul_bias_act", "pointwise"});
  device.claims[1].choices = {{FRL_AT_matmul_bias_act_activation, {0, FRL_OP_relu}}};
  const auto report = fuse(graph, device, 0, {});
  ASSERT_TRUE(report.ok());
  EXPECT_FALSE(has_op(graph, FRL_OP_matmul_bias_act));
  EXPECT_THAT(report->candidates.at(0).reason, HasSubstr("activation"));
}

TEST(Fuse, FusionOffLeavesNodesAlone) {
  Graph graph = graph_on_device(kChain);
  FuseOptions options;
  options.fusion = false;
  ASSERT_TRUE(fuse(graph, test::device_claiming({"pointwise"}), 0, options).ok());
  EXPECT_FALSE(has_op(graph, FRL_OP_pointwise, 2));
  EXPECT_TRUE(has_op(graph, FRL_OP_pointwise, 1));  // each still runs as a region of its own
}

TEST(Fuse, UnclaimedKindsAreDecomposed) {
  Graph graph = graph_on_device(R"(graph "g"
    %x = input f32[2,8] "x"
    %y = layer_norm %x
    return %y "y")");
  ASSERT_TRUE(fuse(graph, test::device_claiming({"reduce", "pointwise"}), 0, {}).ok());
  EXPECT_FALSE(has_op(graph, FRL_OP_layer_norm));
  EXPECT_TRUE(has_op(graph, FRL_OP_reduce));
}

TEST(Fuse, SameGraphTwiceGivesTheSameText) {
  std::string texts[2];
  for (std::string& text : texts) {
    Graph graph = graph_on_device(kChain);
    ASSERT_TRUE(fuse(graph, test::device_claiming({"pointwise"}), 0, {}).ok());
    text = to_text(graph);
  }
  EXPECT_EQ(texts[0], texts[1]);
}

TEST(Pipeline, FollowsTheClaims) {
  const auto names =
      pipeline(test::device_claiming({"matmul", "matmul_bias_act", "pointwise"}), {});
  EXPECT_THAT(names, testing::Contains("fuse_matmul_bias_act"));
  EXPECT_THAT(names, testing::Not(testing::Contains("fuse_conv_bias_act")));
  const auto without = pipeline(test::device_claiming({"matmul", "pointwise"}), {});
  EXPECT_EQ(without.size() + 1, names.size());
}

}  // namespace
}  // namespace ferrule
