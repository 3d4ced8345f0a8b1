// Batch regions: types, meaning, block.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/graph/batch.h"
#include "core/graph/block.h"

namespace ferrule {
namespace {

using testing::HasSubstr;

// Three slices of [2,2] along the middle axis, each times the shared row.
constexpr const char* kBatch = R"(graph "g"
  %x = input f32[2,6] "x"
  %w = input f32[2] "w"
  %y = batch %x, %w {axes=[-1,0,-1], slices=3}
  body
    %a = input f32[2,2] "a"
    %b = input f32[2] "b"
    %r = mul %a, %b
    return %r "r"
  return %y "y"
)";

std::string with(std::string text, const std::string& from, const std::string& to) {
  text.replace(text.find(from), from.size(), to);
  return text;
}

TEST(Batch, MapsItsBodyOverSlices) {
  const auto graph = parse_graph(kBatch);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_TRUE(verify(*graph).ok());
  EXPECT_EQ(to_text(*parse_graph(to_text(*graph))), to_text(*graph));
  const float x[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, w[2] = {10, 100};
  const Tensor inputs[] = {Tensor::of<float>(Type::f32, {2, 6}, x),
                           Tensor::of<float>(Type::f32, Shape{2}, w)};
  const auto y = evaluate(*graph, inputs);
  ASSERT_TRUE(y.ok()) << y.status().message();
  for (int64_t i = 0; i < 12; ++i)
    EXPECT_EQ((*y)[0].at_f64(i), double(x[i]) * (i % 2 ? 100 : 10)) << i;
}

TEST(Batch, UnrollsToSlicesAndConcatenations) {
  const auto graph = parse_graph(kBatch);
  ASSERT_TRUE(graph.ok());
  const auto body = region_body(*graph, graph->node(NodeId(0)));
  ASSERT_TRUE(body.ok());
  EXPECT_EQ((*body)->n_nodes(), 3u + 3u + 1u);
  EXPECT_TRUE(verify(**body).ok());
}

TEST(Batch, SaysWhatDoesNotFit) {
  const struct {
    const char *from, *to, *why;
  } kCases[] = {
      {"slices=3", "slices=2", "operand 0: want f32[2,4], got f32[2,6]"},
      {"slices=3", "slices=0", "want slices, got 0"},
      {"axes=[-1,0,-1]", "axes=[-1,0]", "an axis for each output"},
      {"axes=[-1,0,-1]", "axes=[-3,0,-1]", "want axes in -2 .. -1, got -3"},
      {"axes=[-1,0,-1]", "axes=[-1,0,0]", "result 0: want a sliced axis"},
  };
  for (const auto& c : kCases)
    EXPECT_THAT(parse_graph(with(kBatch, c.from, c.to)).status().message(), HasSubstr(c.why));
}

TEST(Batch, BlockHasASlicesExtentsAndTheWholesStrides) {
  const auto graph = parse_graph(kBatch);
  ASSERT_TRUE(graph.ok());
  const std::vector<Placed> operands(2), results(1);
  const auto block = encode_region(*graph, graph->node(NodeId(0)), operands, results, 1);
  ASSERT_TRUE(block.ok()) << block.status().message();
  EXPECT_TRUE(check_block(block->bytes()).ok());
  const frl_region* region = block->region();
  frl_body body;
  FRL_ROW(&body, region, bodies, 0);
  uint32_t id;
  FRL_ROW(&id, region, lists, body.first_input);
  frl_value value;
  FRL_ROW(&value, region, values, id);
  frl_dim row;
  FRL_ROW(&row, region, dims, value.first_dim);
  EXPECT_EQ(row.extent, 2);
  EXPECT_EQ(row.stride, 6);
}

}  // namespace
}  // namespace ferrule
