// What a device itself predicts, asked for node by node.
#include "core/base/text.h"
#include "core/pass/region.h"

namespace ferrule {
namespace {

// The node in a graph of its own, with its literals; nothing if it cannot stand alone.
Result<NodeId> copy_alone(const Graph& graph, const Node& node, Graph& out) {
  std::vector<ValueId> operands;
  std::vector<ValueId> copies(graph.n_values(), kNoValue);
  for (ValueId id : node.operands) {
    if (id == kNoValue) {
      operands.push_back(kNoValue);
      continue;
    }
    ValueId& copy = copies[index(id)];
    const Tensor* literal = graph.literal(id);
    if (copy == kNoValue)
      copy = literal ? out.add_literal(*literal)
                     : out.add_input(graph.type(id), cat("v", operands.size()));
    operands.push_back(copy);
  }
  FRL_LET(const NodeId alone, out.emit_node(node.op, node.attributes, operands, node.bodies));
  const OpRow* row = find_op(node.op);
  if (!row || row->form != Form::pointwise) return alone;
  const ValueId result = out.node(alone).results[0];
  return emit_region(out, FRL_OP_pointwise, std::span(&alone, 1), std::span(&result, 1));
}

}  // namespace

std::optional<int64_t> estimated_ps(const Graph& graph, const Node& node, const DeviceRow& device,
                                    const Estimate& estimate, uint32_t compute) {
  const OpRow* row = find_op(node.op);
  if (!estimate || !row || row->form == Form::control) return {};
  if (is_view(node)) return 0;
  Graph alone;
  const auto id = copy_alone(graph, node, alone);
  if (!id.ok()) return {};
  const Node& copy = alone.node(*id);
  std::vector<Placed> operands(copy.operands.size()), results(copy.results.size());
  if (compute != FRL_COMPUTE_IEEE) compute = match_claims(device, alone, copy, compute).compute;
  const auto block = encode_region(alone, copy, operands, results, compute);
  const uint64_t ps = block.ok() ? estimate(*block) : 0;
  return ps && ps < uint64_t(INT64_MAX) / 4096 ? std::optional(int64_t(ps)) : std::nullopt;
}

}  // namespace ferrule
