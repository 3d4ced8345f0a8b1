#include "conformance/rig/graphs.h"

#include "core/base/text.h"
#include "core/claim/match.h"

namespace ferrule::conformance {
namespace {

Graph finish(Graph graph, NodeId id) {
  const std::vector<ValueId> results = graph.node(id).results;
  for (size_t r = 0; r < results.size(); ++r) graph.add_output(results[r], cat("y", r));
  return graph;
}

}  // namespace

Result<Graph> one_node(OpId op, const Attributes& attributes, std::span<const Slot> operands) {
  Graph graph("case");
  std::vector<ValueId> ids;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Slot& slot = operands[i];
    if (slot.type.type == Type::none)
      ids.push_back(kNoValue);
    else if (slot.known.empty())
      ids.push_back(graph.add_input(slot.type, cat(i)));
    else
      ids.push_back(slot.parameter ? graph.add_parameter(slot.known, cat(i))
                                   : graph.add_literal(slot.known));
  }
  FRL_LET(const NodeId id, graph.emit_node(op, attributes, std::move(ids)));
  return finish(std::move(graph), id);
}

Result<Graph> one_region(OpId kind, const Attributes& attributes, Body body) {
  Graph graph("case");
  graph.share_symbols(*body);
  std::vector<ValueId> ids;
  for (size_t i = 0; i < body->inputs().size(); ++i)
    ids.push_back(graph.add_input(body->type(body->inputs()[i]), cat(i)));
  FRL_LET(const NodeId id, graph.emit_node(kind, attributes, std::move(ids), {body}));
  return finish(std::move(graph), id);
}

Result<Graph> lone_node(const Graph& graph, const Node& node, std::span<const Tensor> operands) {
  Graph out("case");
  std::vector<ValueId> ids;
  for (size_t i = 0; i < node.operands.size(); ++i) {
    const ValueId id = node.operands[i];
    if (id == kNoValue)
      ids.push_back(kNoValue);
    else if (const Tensor* literal = graph.literal(id))
      ids.push_back(out.add_literal(*literal));
    else
      ids.push_back(out.add_input(operands[i].type(), cat(i)));
  }
  FRL_LET(const NodeId id, out.emit_node(node.op, node.attributes, std::move(ids), node.bodies));
  return finish(std::move(out), id);
}

Result<Graph> as_pointwise(const Graph& one_node) {
  const Node& node = one_node.node(NodeId(0));
  Graph body("body");
  std::vector<ValueId> inner, outer;
  Graph graph("case");
  for (size_t i = 0; i < node.operands.size(); ++i) {
    const Value& value = one_node.value(node.operands[i]);
    if (value.role == Role::literal && value.known.n_elements() == 1) {
      inner.push_back(body.add_literal(value.known));
      continue;
    }
    inner.push_back(body.add_input(value.type, cat(i)));
    outer.push_back(value.role == Role::literal     ? graph.add_literal(value.known)
                    : value.role == Role::parameter ? graph.add_parameter(value.known, cat(i))
                                                    : graph.add_input(value.type, cat(i)));
  }
  FRL_LET(const ValueId y, body.emit(node.op, node.attributes, std::move(inner)));
  body.add_output(y, "y");
  FRL_LET(const NodeId id,
          graph.emit_node(FRL_OP_pointwise, Attributes(FRL_OP_pointwise), std::move(outer),
                          {std::make_shared<const Graph>(std::move(body))}));
  return finish(std::move(graph), id);
}

Result<Graph> claimed_form(const DeviceRow& device, Result<Graph> one_node, uint32_t compute) {
  if (!one_node.ok()) return one_node;
  Answer answer = match_claims(device, *one_node, one_node->node(NodeId(0)), compute);
  if (answer.claim) return one_node;
  const OpRow* row = find_op(one_node->node(NodeId(0)).op);
  if (row && row->form == Form::pointwise) {
    FRL_LET(Graph wrapped, as_pointwise(*one_node));
    answer = match_claims(device, wrapped, wrapped.node(NodeId(0)), compute);
    if (answer.claim) return wrapped;
  }
  return Status(Code::not_claimed, answer.refusal.text);
}

}  // namespace ferrule::conformance
