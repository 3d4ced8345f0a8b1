// Nodes whose operands are all known become literals or parameters, by reference evaluation.
#include <algorithm>

#include "core/base/text.h"
#include "core/pass/pass.h"

namespace ferrule {
namespace {

// Folding must not turn a cheap broadcast into a large constant, nor take long in the reference.
constexpr int64_t kMostGrownBytes = 1 << 16, kMostFlops = 1 << 24;
constexpr int64_t kMostLiteral = 64;  // elements; more become a parameter, which a device may pack

bool worth(const Graph& graph, const Node& node) {
  int64_t read = 0, written = 0;
  for (ValueId operand : std::set(node.operands.begin(), node.operands.end()))
    if (operand != kNoValue) read += graph.type(operand).size_bytes();
  for (ValueId result : node.results) written += graph.type(result).size_bytes();
  return written <= std::max(read, kMostGrownBytes) && count_flops(graph, node) <= kMostFlops;
}

bool foldable(const Graph& graph, const Node& node) {
  const OpRow* row = find_op(node.op);
  if (!row || (row->form != Form::plain && row->form != Form::pointwise)) return false;
  for (ValueId operand : node.operands)
    if (operand != kNoValue && !graph.known(graph.resolve(operand))) return false;
  for (ValueId result : node.results)
    if (!graph.shape(result).is_exact()) return false;
  return worth(graph, node);
}

bool is_output(const Graph& graph, const Node& node) {
  return std::any_of(graph.outputs().begin(), graph.outputs().end(), [&](const Output& output) {
    const ValueId value = graph.resolve(output.value);
    return std::find(node.results.begin(), node.results.end(), value) != node.results.end();
  });
}

//   outputs  whether outputs may become known too: only before each got memory of its own
Result<bool> fold(Graph& graph, PassContext& context, bool outputs) {
  bool changed = false;
  const size_t n_nodes = graph.n_nodes();
  for (size_t i = 0; i < n_nodes; ++i) {
    const Node node = graph.node(NodeId(i));
    if (!foldable(graph, node) || (!outputs && is_output(graph, node))) continue;
    std::vector<const Tensor*> operands;
    std::vector<const TensorType*> types;
    for (ValueId id : node.operands) {
      const Tensor* tensor = id == kNoValue ? nullptr : graph.known(graph.resolve(id));
      operands.push_back(tensor);
      types.push_back(tensor ? &tensor->type() : nullptr);
    }
    std::vector<Tensor> results;
    for (ValueId id : node.results) results.emplace_back(graph.type(id));
    const OpCall call{op_row(node.op), node.attributes, types};
    // A fold that fails (an index out of range) is left for the device to report.
    if (!call.row.eval(call, operands, results).ok()) continue;
    if (context.read_parameters)
      for (ValueId id : node.operands)
        if (id != kNoValue && graph.value(graph.resolve(id)).role == Role::parameter)
          context.read_parameters->insert(graph.value(graph.resolve(id)).name);
    for (size_t r = 0; r < results.size(); ++r) {
      const bool small = results[r].n_elements() <= kMostLiteral;
      const std::string name = cat("folded:", graph.source_text(node), ":", i, ":", r);
      graph.replace(node.results[r], small ? graph.add_literal(std::move(results[r]))
                                           : graph.add_parameter(std::move(results[r]), name));
    }
    changed = true;
  }
  return changed;
}

}  // namespace

extern const Pass fold_constants = {
    .name = "fold_constants",
    .doc = "nodes with known operands become their value",
    .run = [](Graph& g, PassContext& c) { return fold(g, c, true); },
};

extern const Pass fold_weights = {
    .name = "fold_weights",
    .doc = "what fusions made of weights is computed once",
    .when = unless_off,
    .run = [](Graph& g, PassContext& c) { return fold(g, c, false); },
};

}  // namespace ferrule
