#include "core/claim/match.h"

#include <algorithm>

#include "core/base/text.h"
#include "core/graph/batch.h"

namespace ferrule {
namespace {

Refusal no(Code code, std::string text) { return {code, std::move(text)}; }

// The row for operand (or result) number i; null if the claim has no place for it.
const frl_operand* operand_row(const Claim& claim, size_t i, bool result) {
  const frl_operand* last = nullptr;
  size_t seen = 0;
  for (const frl_operand& row : claim.operands) {
    if (bool(row.flags & FRL_OPERAND_RESULT) != result) continue;
    if (seen++ == i) return &row;
    last = &row;
  }
  return last && last->flags & FRL_OPERAND_REPEAT ? last : nullptr;
}

uint32_t broadcast_form(const Shape& from, const Shape& to) {
  if (from.n_elements() == 1) return FRL_BROADCAST_SCALAR;
  // Aligned to the end: where the extents agree, and where the operand has 1 (or no axis).
  const size_t offset = to.rank() - from.rank();
  size_t first_same = to.rank(), last_same = 0;
  for (size_t axis = 0; axis < to.rank(); ++axis) {
    const bool same = axis >= offset && from[axis - offset] == to[axis] && to[axis] != 1;
    if (same) first_same = std::min(first_same, axis), last_same = axis;
  }
  bool whole = true;  // no gap between the first and the last axis that agree
  for (size_t axis = first_same; axis <= last_same && axis < to.rank(); ++axis)
    whole &= to[axis] == 1 || (axis >= offset && from[axis - offset] == to[axis]);
  bool to_the_end = true, from_the_start = true;
  for (size_t axis = last_same + 1; axis < to.rank(); ++axis) to_the_end &= to[axis] == 1;
  for (size_t axis = 0; axis < first_same; ++axis) from_the_start &= to[axis] == 1;
  if (whole && to_the_end) return FRL_BROADCAST_ROW;
  if (whole && from_the_start) return FRL_BROADCAST_COLUMN;
  return FRL_BROADCAST_ANY;
}

struct Site {  // one tensor of the node
  const TensorType* type;
  bool parameter;
  std::string name;  // "operand 1"
};

Refusal check_operand(const frl_operand& row, const Site& site, Type* group) {
  if (!(row.types & FRL_BIT(uint64_t(site.type->type))))
    return no(Code::no_type,
              cat(site.name, ": type ", type_name(site.type->type), " is not claimed"));
  const size_t rank = site.type->shape.rank();
  if (rank < row.min_rank || rank > row.max_rank)
    return no(Code::no_shape,
              cat(site.name, ": rank ", rank, " is outside ", row.min_rank, " to ", row.max_rank));
  if (!(row.layouts &
        (FRL_LAYOUT_DENSE | FRL_LAYOUT_INNER | FRL_LAYOUT_STRIDED | FRL_LAYOUT_ORDERED)))
    return no(Code::no_layout, cat(site.name, ": dense tensors are not claimed"));
  if (row.flags & FRL_OPERAND_PARAMETER && !site.parameter)
    return no(Code::no_layout,
              cat(site.name, ": only parameters are claimed, this one is computed"));
  if (row.group == 0) return {};
  Type& agreed = group[row.group];
  if (agreed != Type::none && agreed != site.type->type)
    return no(Code::no_type, cat(site.name, ": want ", type_name(agreed), " like its group, got ",
                                 type_name(site.type->type)));
  agreed = site.type->type;
  return {};
}

Refusal check_extents(const Claim& claim, const Graph& graph, const Site& site) {
  const Shape& shape = site.type->shape;
  for (const Dim& dim : shape.dims()) {
    if (claim.max_dim && uint64_t(dim.extent) > claim.max_dim)
      return no(Code::no_shape,
                cat(site.name, ": extent ", dim.extent, " is more than ", claim.max_dim));
    if (!dim.symbol) continue;
    const bool written = graph.symbols()[dim.symbol - 1].written;
    if (!written && !(claim.shapes & (FRL_SHAPES_BOUNDED | FRL_SHAPES_DYNAMIC)))
      return no(Code::no_shape, cat(site.name, ": only static shapes are claimed"));
  }
  if (claim.max_elements && uint64_t(shape.n_elements()) > claim.max_elements)
    return no(Code::no_shape, cat(site.name, ": ", shape.n_elements(), " elements are more than ",
                                  claim.max_elements));
  return {};
}

// Operands and results of `node` against the operand rows of `claim`. Only pointwise operands
// broadcast.
Refusal check_tensors(const Claim& claim, const Graph& graph, const Node& node, bool pointwise) {
  Type groups[256] = {};
  const auto check = [&](size_t i, ValueId id, bool result) -> Refusal {
    const Value& value = graph.value(id);
    const Site site{&value.type, graph.known(id) != nullptr,
                    cat(result ? "result " : "operand ", i)};
    const frl_operand* row = operand_row(claim, i, result);
    if (!row) return no(Code::no_body, cat(site.name, ": the claim has no place for it"));
    if (Refusal r = check_operand(*row, site, groups); r.refused()) return r;
    if (Refusal r = check_extents(claim, graph, site); r.refused()) return r;
    if (result || !pointwise) return {};
    const Shape& shape = graph.shape(node.results[0]);
    if (value.type.shape == shape || row->broadcasts & FRL_BROADCAST_ANY) return {};
    const uint32_t form = broadcast_form(value.type.shape, shape);
    if (row->broadcasts & form) return {};
    return no(Code::no_shape, cat(site.name, ": broadcasting ", to_string(value.type.shape), " to ",
                                  to_string(shape), " is not claimed"));
  };
  for (size_t i = 0; i < node.operands.size(); ++i) {
    if (node.operands[i] == kNoValue) {
      const frl_operand* row = operand_row(claim, i, false);
      if (!row || row->flags & FRL_OPERAND_OPTIONAL) continue;
      return no(Code::no_body, cat("operand ", i, ": it may not be missing"));
    }
    if (Refusal r = check(i, node.operands[i], false); r.refused()) return r;
    // Data-dependent extents end at the device that wrote them.
    for (const Dim& dim : graph.shape(node.operands[i]).dims())
      if (dim.symbol && graph.symbols()[dim.symbol - 1].written)
        return no(Code::no_shape, cat("operand ", i, ": its extent depends on data"));
  }
  for (size_t r = 0; r < node.results.size(); ++r)
    if (Refusal refusal = check(r, node.results[r], true); refusal.refused()) return refusal;
  return {};
}

Refusal check_attributes(const Claim& claim, const Node& node) {
  for (const Choice& choice : claim.choices) {
    const int64_t value = node.attributes.i(choice.slot);
    if (std::find(choice.allowed.begin(), choice.allowed.end(), value) == choice.allowed.end())
      return no(Code::no_attribute,
                cat(attribute_rows(node.op)[choice.slot].name, ": ", value, " is not claimed"));
  }
  return {};
}

Refusal check_compute(const Claim& claim, uint32_t compute) {
  if (claim.compute == 0 || claim.compute & (compute | FRL_COMPUTE_IEEE)) return {};
  return no(Code::no_attribute, cat("compute: mode ", compute, " is not in mask ", claim.compute));
}

bool contains(const std::vector<OpId>& sorted, OpId op) {
  return std::binary_search(sorted.begin(), sorted.end(), op);
}

// Members of a body, nested ones too, each within its own claim row if the device has one.
Refusal check_members(const DeviceRow& device, const Claim& kind, const Graph& body,
                      uint32_t compute, size_t* n_nodes) {
  for (const Node& member : body.nodes()) {
    ++*n_nodes;
    if (!contains(kind.members, member.op))
      return no(Code::no_body, cat("member ", op_row(member.op).name, " is not claimed"));
    const bool pointwise = op_row(member.op).form == Form::pointwise;
    if (find_claim(device, member.op)) {
      const Answer answer = match_claims(device, body, member, compute);
      if (!answer.claim)
        return no(answer.refusal.code,
                  cat("member ", op_row(member.op).name, ": ", answer.refusal.text));
    } else if (pointwise) {
      for (ValueId id : member.operands)
        if (const frl_operand* row = operand_row(kind, 0, false);
            row && !(row->types & FRL_BIT(uint64_t(body.type(id).type))))
          return no(Code::no_type, cat("member ", op_row(member.op).name, ": type ",
                                       type_name(body.type(id).type), " is not claimed"));
    }
    for (const Body& inner : member.bodies)
      if (Refusal r = check_members(device, kind, *inner, compute, n_nodes); r.refused()) return r;
  }
  return {};
}

Refusal check_limits(const Claim& claim, const Node& node, size_t n_nodes) {
  if (n_nodes > claim.max_nodes)
    return no(Code::no_room, cat("nodes: ", n_nodes, " are more than ", claim.max_nodes));
  if (node.operands.size() > claim.max_inputs)
    return no(Code::no_room,
              cat("inputs: ", node.operands.size(), " are more than ", claim.max_inputs));
  if (node.results.size() > claim.max_outputs)
    return no(Code::no_room,
              cat("outputs: ", node.results.size(), " are more than ", claim.max_outputs));
  if (node.op == FRL_OP_batch && batch_slices(node) > int64_t(claim.max_slices))
    return no(Code::no_room,
              cat("slices: ", batch_slices(node), " are more than ", claim.max_slices));
  return {};
}

Refusal check_row(const DeviceRow& device, const Claim& claim, const Graph& graph, const Node& node,
                  uint32_t compute) {
  const OpRow* row = find_op(node.op);
  const bool pointwise = node.op == FRL_OP_pointwise || (row && row->form == Form::pointwise);
  if (Refusal r = check_compute(claim, compute); r.refused()) return r;
  if (Refusal r = check_attributes(claim, node); r.refused()) return r;
  if (!row || row->form != Form::open) return check_tensors(claim, graph, node, pointwise);
  size_t n_nodes = 0;
  if (Refusal r = check_members(device, claim, *node.bodies[0], compute, &n_nodes); r.refused())
    return r;
  if (Refusal r = check_limits(claim, node, n_nodes); r.refused()) return r;
  return check_tensors(claim, graph, node, pointwise);
}

}  // namespace

const Claim* find_claim(const DeviceRow& device, OpId op) {
  for (const Claim& claim : device.claims)
    if (claim.op == op) return &claim;
  return nullptr;
}

Answer match_claims(const DeviceRow& device, const Graph& graph, const Node& node,
                    uint32_t compute) {
  Answer answer;
  answer.refusal =
      no(Code::not_claimed,
         cat(node.kind_name.empty() ? op_row(node.op).name : node.kind_name, " is not claimed"));
  for (const Claim& claim : device.claims) {
    if (claim.op != node.op) continue;
    Refusal refusal = check_row(device, claim, graph, node, compute);
    if (!refusal.refused())
      return {&claim, {}, claim.compute & compute ? compute : uint32_t(FRL_COMPUTE_IEEE)};
    answer.refusal = std::move(refusal);  // of several rows the last, most general one speaks
  }
  return answer;
}

}  // namespace ferrule
