// A closed kind that the device does not claim becomes its body, if the device claims all of that.
#include "core/pass/pass.h"

namespace ferrule {
namespace {

Result<bool> run(Graph& graph, PassContext& context) {
  bool changed = false;
  const size_t n_nodes = graph.n_nodes();
  for (size_t i = 0; i < n_nodes; ++i) {
    const Node node = graph.node(NodeId(i));
    const OpRow* row = find_op(node.op);
    if (node.device != context.number || !row || row->form != Form::closed) continue;
    if (match_claims(context.device, graph, node, context.options.gate.compute).claim) continue;
    FRL_LET(const Body body, region_body(graph, node));
    std::vector<ValueId> operands;
    for (ValueId operand : node.operands)
      if (operand != kNoValue) operands.push_back(graph.resolve(operand));
    graph.set_sources(node.sources);
    graph.set_device(node.device);
    FRL_LET(const auto results, inline_body(graph, *body, operands));
    for (size_t r = 0; r < results.size(); ++r) graph.replace(node.results[r], results[r]);
    changed = true;
  }
  return changed;
}

}  // namespace

extern const Pass decompose_kinds;
const Pass decompose_kinds = {
    .name = "decompose_kinds",
    .doc = "kinds that the device does not claim become primitive nodes",
    .when = [](const PassContext&) { return std::string(); },
    .run = run,
    .mandatory = true,
};

}  // namespace ferrule
