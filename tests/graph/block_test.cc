// Region blocks: what crosses the ABI of a node.
#include <gtest/gtest.h>

#include "core/graph/block.h"

namespace ferrule {
namespace {

frl_region head_of(const Block& block) {
  frl_region out{};
  std::memcpy(&out, block.bytes().data(), sizeof out);
  return out;
}

// How many symbols the blocks of the graph's nodes have.
std::vector<uint32_t> symbols_of(const char* text) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  std::vector<uint32_t> out;
  for (const Node& node : graph->nodes()) {
    const std::vector<Placed> operands(node.operands.size()), results(node.results.size());
    const auto block = encode_region(*graph, node, operands, results, FRL_COMPUTE_IEEE);
    EXPECT_TRUE(block.ok()) << block.status().message();
    if (block.ok()) out.push_back(head_of(*block).symbols.n);
  }
  return out;
}

TEST(Block, OnlyARegionWithSymbolsHasThem) {
  EXPECT_EQ(symbols_of(R"(graph "g"
    %x = input i64[4] "x"
    %f = input f32[4] "f"
    %n = nonzero %x
    %y = neg %f
    return %n "n", %y "y")"),
            (std::vector<uint32_t>{1, 0}));
}

}  // namespace
}  // namespace ferrule
