// Graphs: text form, inference of nodes with bodies, verification, rewriting, blocks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/text.h"
#include "core/graph/block.h"

namespace ferrule {
namespace {

using testing::HasSubstr;

Graph parse(std::string_view text) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  return graph.ok() ? std::move(*graph) : Graph();
}

constexpr const char* kIf = R"(graph "g"
  %c = input bool[] "c"
  %x = input f32[2] "x"
  %y = if %c, %x
  body
    %a = input f32[2] "a"
    %r = neg %a
    return %r "r"
  body
    %a = input f32[2] "a"
    %r = exp %a
    return %r "r"
  return %y "y"
)";

TEST(GraphText, ReadsBackAsItself) {
  const std::string once = to_text(parse(kIf));
  EXPECT_EQ(to_text(parse(once)), once);
}

TEST(GraphText, SaysWhichLineIsWrong) {
  const struct {
    const char* text;
    const char* why;
  } kCases[] = {
      {"", "want 'graph NAME'"},
      {"graph \"g\"\n  %x = input f99[2]\n", "line 2: want an element type, got 'f99'"},
      {"graph \"g\"\n  %x = input f32[2,3]\n  %s = input f32[1]\n  %y = layer_norm %x, %s\n",
       "scale: want the last 1 extents of [2,3], got [1]"},
      {"graph \"g\"\n  %x = input f32[2]\n  %y = nope %x\n", "line 3: want an op, got 'nope'"},
      {"graph \"g\"\n  %x = input f32[2]\n  %y = exp %z\n",
       "line 3: want a value made above, got '%z'"},
      {"graph \"g\"\n  %x = input f32[2]\n  %x = exp %x\n", "want each value once"},
      {"graph \"g\"\n  %x = input f32[2]\n  %y = concat %x {axes=1}\n",
       "want an attribute of concat, got 'axes'"},
      {"graph \"g\"\n  %x = input f32[2]\n", "want 'return'"},
      {"graph \"g\"\n  %x = input f32[4611686018427387904,4]\n", "want at most 2^"},
      {"graph \"g\"\n  %x = input f32[2]\n  %y = input f32[3]\n  %z = add %x, %y\n", "line 4: "},
      {"graph \"g\"\n  %x = literal f32[9999999999] = 1\n", "want at most"},
  };
  for (const auto& c : kCases) {
    const auto graph = parse_graph(c.text);
    ASSERT_FALSE(graph.ok()) << c.text;
    EXPECT_THAT(graph.status().message(), HasSubstr(c.why)) << c.text;
  }
}

TEST(GraphText, DeepNestingIsRefused) {
  std::string text = "graph \"g\"\n%c = input bool[] \"c\"\n";
  for (int i = 0; i < 100; ++i) text += "%y = if %c\nbody\n%c = input bool[] \"c\"\n";
  EXPECT_THAT(parse_graph(text).status().message(), HasSubstr("nested"));
}

TEST(GraphInfer, BodiesMustFit) {
  std::string text = kIf;
  text.replace(text.find("%r = exp %a"), 11, "%r = concat %a, %a");
  EXPECT_THAT(parse_graph(text).status().message(),
              HasSubstr("if: want both bodies to give the same types"));
}

TEST(GraphEvaluate, Branches) {
  const Graph graph = parse(kIf);
  const Tensor x = Tensor::of<float>(Type::f32, {2}, std::vector<float>{0, 1});
  for (const bool condition : {true, false}) {
    const std::vector<Tensor> inputs = {Tensor::scalar(Type::boolean, condition), x};
    const auto out = evaluate(graph, inputs);
    ASSERT_TRUE(out.ok()) << out.status().message();
    EXPECT_FLOAT_EQ(float((*out)[0].at_f64(1)), condition ? -1.0f : 2.7182817f);
  }
}

TEST(GraphEvaluate, WhileCountsToTen) {
  const Graph graph = parse(R"(graph "g"
    %i = input i64[] "i"
    %n = input i64[] "n"
    %r = while %i, %n {carried=1}
    body
      %a = input i64[] "a"
      %b = input i64[] "b"
      %c = less %a, %b
      return %c "c"
    body
      %a = input i64[] "a"
      %b = input i64[] "b"
      %one = literal i64[] = 1
      %next = add %a, %one
      return %next "next"
    return %r "r")");
  const auto out = evaluate(
      graph, std::vector<Tensor>{Tensor::scalar(Type::i64, 3), Tensor::scalar(Type::i64, 10)});
  ASSERT_TRUE(out.ok()) << out.status().message();
  EXPECT_EQ((*out)[0].at_i64(0), 10);
}

TEST(GraphEvaluate, ScanSumsRows) {
  const Graph graph = parse(R"(graph "g"
    %s = input f32[2] "s"
    %x = input f32[3,2] "x"
    %last, %all = scan %s, %x {carried=1, sliced=1, length=3, axes=[-2,-1], reverse=[1,0]}
    body
      %a = input f32[2] "a"
      %r = input f32[2] "r"
      %t = add %a, %r
      return %t "t", %t "u"
    return %last "last", %all "all")");
  const Tensor x = Tensor::of<float>(Type::f32, {3, 2}, std::vector<float>{1, 2, 3, 4, 5, 6});
  const auto out = evaluate(graph, std::vector<Tensor>{Tensor(TensorType{Type::f32, {2}}), x});
  ASSERT_TRUE(out.ok()) << out.status().message();
  EXPECT_EQ((*out)[0].at_f64(0), 9);
  EXPECT_EQ(to_string((*out)[1].type()), "f32[2,3]");
  EXPECT_EQ((*out)[1].at_f64(0), 5);  // the last row first
  EXPECT_EQ((*out)[1].at_f64(1), 8);
}

TEST(GraphRewrite, CompactDropsDeadNodesAndKeepsOrder) {
  Graph graph = parse(R"(graph "g"
    %x = input f32[2] "x"
    %dead = exp %x
    %a = neg %x
    %b = tanh %a
    return %b "b")");
  const NodeId tanh_node{2};
  const auto late = graph.emit(FRL_OP_abs, {graph.node(NodeId(1)).operands[0]});
  ASSERT_TRUE(late.ok());
  graph.replace(graph.node(tanh_node).operands[0], *late);
  graph.compact();
  ASSERT_EQ(graph.n_nodes(), 2u);
  EXPECT_EQ(graph.node(NodeId(0)).op, uint32_t(FRL_OP_abs));
  EXPECT_EQ(graph.node(NodeId(1)).op, uint32_t(FRL_OP_tanh));
  EXPECT_TRUE(verify(graph).ok());
}

TEST(GraphVerify, FindsWhatIsBroken) {
  Graph twice = parse(R"(graph "g"
    %x = input f32[2] "x"
    %y = exp %x
    return %y "y")");
  twice.add_input({Type::f32, {2}}, "x");
  EXPECT_THAT(verify(twice).message(), HasSubstr("want it once, got x twice"));
  Graph order = parse(R"(graph "g"
    %x = input f32[2] "x"
    %y = exp %x
    %z = neg %y
    return %z "z")");
  std::swap(order.node(NodeId(0)).operands[0], order.node(NodeId(1)).operands[0]);
  EXPECT_FALSE(verify(order).ok());
  Graph type = parse(R"(graph "g"
    %x = input f32[2] "x"
    %y = exp %x
    return %y "y")");
  type.value(type.node(NodeId(0)).results[0]).type.shape = Shape{3};
  EXPECT_THAT(verify(type).message(), HasSubstr("want result 0 of f32[2], got f32[3]"));
}

TEST(Expansion, MatchesTheFormula) {
  const Graph graph = parse(R"(graph "g"
    %x = input f32[1,4] "x"
    %s = literal f32[4] = 1 2 3 4
    %b = literal f32[4] = 0.5
    %y = layer_norm %x, %s, %b {epsilon=0}
    return %y "y")");
  const auto out = evaluate(graph, std::vector<Tensor>{Tensor::of<float>(
                                       Type::f32, {1, 4}, std::vector<float>{1, 2, 3, 4})});
  ASSERT_TRUE(out.ok());
  // mean 2.5, variance 1.25
  const double root = 1.118033988749895;
  for (int i = 0; i < 4; ++i)
    EXPECT_NEAR((*out)[0].at_f64(i), (i - 1.5) / root * (i + 1) + 0.5, 1e-6);
}

// ---- blocks ----

Block block_of(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  auto block = encode_region(graph, node, std::vector<Placed>(node.operands.size()),
                             std::vector<Placed>(node.results.size()), FRL_COMPUTE_IEEE);
  EXPECT_TRUE(block.ok()) << block.status().message();
  return *block;
}

TEST(Block, IsPositionIndependentAndChecksOut) {
  const Graph graph = parse(kIf);
  const Block a = block_of(graph, NodeId(0)), b = block_of(graph, NodeId(0));
  EXPECT_EQ(a.key(), b.key());
  EXPECT_TRUE(check_block(a.bytes()).ok()) << check_block(a.bytes()).message();
  EXPECT_EQ(a.region()->bodies.n, 3u) << "its own body, then the two branches";
}

TEST(Block, HoldsLiteralsAndAttributes) {
  const Graph graph = parse(R"(graph "g"
    %x = input f32[1,2,3,3] "x"
    %w = literal f32[1,2,1,1] = 5 6
    %y = conv %x, %w {pads=[1,1,2,2]}
    return %y "y")");
  const Block block = block_of(graph, NodeId(0));
  const frl_region* r = block.region();
  ASSERT_TRUE(check_block(block.bytes()).ok());
  EXPECT_EQ(r->kind, uint32_t(FRL_OP_conv));
  frl_body body;
  FRL_ROW(&body, r, bodies, 0);
  EXPECT_EQ(body.n_inputs, 2u) << "a literal has its argument like any other";
  frl_node node;
  FRL_ROW(&node, r, nodes, 0);
  frl_attribute pads;
  FRL_ROW(&pads, r, attributes, node.first_attribute + FRL_AT_conv_pads);
  EXPECT_EQ(pads.n, 4u);
}

TEST(Block, EveryFlippedBitIsRefusedOrSafe) {
  const Graph graph = parse(R"(graph "g"
    %x = input f32[2,3] "x"
    %h = literal f32[] = 0.5
    %y = pointwise %x
    body
      %a = input f32[2,3] "a"
      %h = literal f32[] = 0.5
      %m = mul %a, %h
      return %m "m"
    return %y "y")");
  const Block block = block_of(graph, NodeId(0));
  std::vector<uint64_t> words((block.bytes().size() + 7) / 8);
  size_t refused = 0;
  for (size_t bit = 0; bit < block.bytes().size() * 8; ++bit) {
    std::memcpy(words.data(), block.bytes().data(), block.bytes().size());
    words[bit / 64] ^= uint64_t(1) << (bit % 64);
    refused +=
        !check_block(std::as_bytes(std::span(words))).ok();  // under ASan: never out of bounds
  }
  EXPECT_GT(refused, 500u);
  for (size_t n = 0; n < block.bytes().size(); n += 8)
    EXPECT_FALSE(check_block(block.bytes().first(n)).ok()) << "cut to " << n;
}

}  // namespace
}  // namespace ferrule
