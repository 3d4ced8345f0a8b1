#include "core/pass/regions.h"

namespace ferrule {

std::string unless_regions(const PassContext& context) {
  if (std::string off = unless_off(context); !off.empty()) return off;
  for (const OpRow& row : op_rows())
    if (row.form == Form::open && find_claim(context.device, row.id)) return {};
  return "the device claims no region kind";
}

bool is_pointwise_node(const Graph& graph, const Node& node) {
  const OpRow* row = find_op(node.op);
  return row && node.results.size() == 1 &&
         (row->form == Form::pointwise || node.op == FRL_OP_pointwise) &&
         graph.shape(node.results[0]).is_exact();
}

Cut cut_of(const Graph& graph, ValueId slice) {
  const Node* node = graph.maker(slice);
  Cut cut;
  if (!node || node->op != FRL_OP_slice) return cut;
  const Shape &whole = graph.shape(node->operands[0]), &part = graph.shape(slice);
  if (!whole.is_exact()) return cut;
  for (int64_t step : node->attributes.list(FRL_AT_slice_steps))
    if (step != 1) return cut;
  const auto& starts = node->attributes.list(FRL_AT_slice_starts);
  for (size_t i = 0; i < whole.rank(); ++i) {
    if (part[i] == whole[i]) continue;
    if (cut.axis != 0) return {};
    cut = {graph.resolve(node->operands[0]), int64_t(i) - int64_t(whole.rank()), starts[i],
           part[i]};
  }
  return cut;
}

std::optional<int> half_of(const Graph& graph, ValueId slice) {
  const Cut cut = cut_of(graph, slice);
  if (cut.axis != -1 || graph.shape(cut.parent).back() != 2 * cut.extent) return {};
  if (cut.start != 0 && cut.start != cut.extent) return {};
  return cut.start == 0 ? 0 : 1;
}

Status inline_node(Graph& graph, NodeId id) {
  const Node node = graph.node(id);
  FRL_LET(const Body body, region_body(graph, node));
  std::vector<ValueId> operands;
  for (ValueId operand : node.operands)
    if (operand != kNoValue) operands.push_back(graph.resolve(operand));
  graph.set_sources(node.sources), graph.set_device(node.device);
  FRL_LET(const auto results, inline_body(graph, *body, operands));
  for (size_t r = 0; r < results.size(); ++r) graph.replace(node.results[r], results[r]);
  return {};
}

}  // namespace ferrule
