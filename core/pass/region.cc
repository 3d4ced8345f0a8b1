#include "core/pass/region.h"

#include <algorithm>
#include <unordered_map>

#include "core/base/text.h"

namespace ferrule {
namespace {

bool comes_along(const Graph& graph, ValueId id) {
  const Tensor* literal = graph.literal(id);
  return literal && literal->n_elements() == 1;
}

// Bodies are flat: of a region, the nodes inside.
Result<std::vector<ValueId>> copy_flat(Graph& body, const Node& node, std::vector<ValueId> inner) {
  if (node.op == FRL_OP_pointwise) return inline_body(body, *node.bodies[0], inner);
  FRL_LET(const NodeId made,
          body.emit_node(node.op, node.attributes, std::move(inner), node.bodies));
  return body.node(made).results;
}

}  // namespace

std::vector<ValueId> region_operands(const Graph& graph, std::span<const NodeId> members) {
  std::vector<ValueId> made, operands;
  for (NodeId id : members)
    for (ValueId result : graph.node(id).results) made.push_back(result);
  std::sort(made.begin(), made.end());
  std::vector<ValueId> seen;
  for (NodeId id : members)
    for (ValueId operand : graph.node(id).operands) {
      if (operand == kNoValue) continue;
      operand = graph.resolve(operand);
      if (comes_along(graph, operand) || std::binary_search(made.begin(), made.end(), operand))
        continue;
      if (std::find(operands.begin(), operands.end(), operand) == operands.end())
        operands.push_back(operand);
    }
  return operands;
}

Result<NodeId> emit_region(Graph& graph, OpId kind, std::span<const NodeId> members,
                           std::span<const ValueId> outputs) {
  Graph body(op_row(kind).name);
  body.share_symbols(graph);
  std::unordered_map<uint32_t, ValueId> inside;
  const std::vector<ValueId> operands = region_operands(graph, members);
  for (ValueId id : operands)
    inside[uint32_t(id)] = body.add_input(graph.type(id), cat(inside.size()));
  std::vector<SourceId> sources;
  for (NodeId id : members) {
    const Node& node = graph.node(id);
    std::vector<ValueId> inner;
    for (ValueId operand : node.operands) {
      if (operand == kNoValue) {
        inner.push_back(kNoValue);
        continue;
      }
      operand = graph.resolve(operand);
      const auto found = inside.find(uint32_t(operand));
      if (found != inside.end()) {
        inner.push_back(found->second);
      } else {
        inner.push_back(inside[uint32_t(operand)] = body.add_literal(*graph.literal(operand)));
      }
    }
    FRL_LET(const auto results, copy_flat(body, node, std::move(inner)));
    for (size_t r = 0; r < node.results.size(); ++r) inside[uint32_t(node.results[r])] = results[r];
    sources.insert(sources.end(), node.sources.begin(), node.sources.end());
  }
  for (ValueId output : outputs)
    body.add_output(inside.at(uint32_t(output)), cat(body.outputs().size()));
  std::sort(sources.begin(), sources.end());
  sources.erase(std::unique(sources.begin(), sources.end()), sources.end());
  graph.set_sources(std::move(sources));
  graph.set_device(graph.node(members.front()).device);
  return graph.emit_node(kind, Attributes(kind), operands,
                         {std::make_shared<const Graph>(std::move(body))});
}

}  // namespace ferrule
