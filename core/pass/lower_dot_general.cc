// A dot_general that is a plain product of two matrices becomes one. Others stay as they are, or
// are decomposed where the device does not claim them.
#include "core/pass/match.h"

namespace ferrule {
namespace {

bool is_plain(const Graph& graph, const Node& node) {
  const auto list = [&](uint32_t slot) { return node.attributes.list(slot); };
  return graph.shape(node.operands[0]).rank() == 2 && graph.shape(node.operands[1]).rank() == 2 &&
         list(FRL_AT_dot_general_contract_a) == std::vector<int64_t>{-1} &&
         list(FRL_AT_dot_general_contract_b) == std::vector<int64_t>{-2};
}

Result<bool> run(Graph& graph, PassContext& context) {
  bool changed = false;
  const size_t n_nodes = graph.n_nodes();
  for (size_t i = 0; i < n_nodes; ++i) {
    const Node node = graph.node(NodeId(i));
    if (node.op != FRL_OP_dot_general || node.device != context.number || !is_plain(graph, node))
      continue;
    graph.set_sources(node.sources), graph.set_device(node.device);
    FRL_LET(const ValueId product, graph.emit(FRL_OP_matmul, {node.operands[0], node.operands[1]}));
    graph.replace(node.results[0], product);
    changed = true;
  }
  return changed;
}

}  // namespace

extern const Pass lower_dot_general = {
    .name = "lower_dot_general",
    .doc = "LowerDotGeneral: a plain product of two matrices becomes matmul",
    .run = run,
};

}  // namespace ferrule
