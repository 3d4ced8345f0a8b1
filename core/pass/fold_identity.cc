// Removes what cannot change its operand: x + 0, x * 1, casts to the own type, reshapes of
// reshapes.
//
// Runs before region formation, so that no plugin is asked to claim a no-op.
#include <algorithm>

#include "core/pass/match.h"

namespace ferrule {
namespace {

Result<ValueId> keep(Match& m) { return m[0]; }

// Only if the node keeps its operand's type, which rewrite() checks.
Result<ValueId> outer_reshape(Match& m) {
  return m.graph.emit(FRL_OP_reshape, m.node(0).attributes, {m[0]});
}

Result<ValueId> compose_transposes(Match& m) {
  const auto& outer = m.node(0).attributes.list(FRL_AT_transpose_order);
  const auto& inner = m.node(1).attributes.list(FRL_AT_transpose_order);
  std::vector<int64_t> order(outer.size());
  for (size_t i = 0; i < outer.size(); ++i)
    order[i] = inner[size_t(int64_t(inner.size()) + outer[i])];
  if (std::is_sorted(order.begin(), order.end())) return m[0];
  return m.graph.emit(FRL_OP_transpose,
                      Attributes(FRL_OP_transpose).set_list(FRL_AT_transpose_order, order), {m[0]});
}

// An order that moves only axes of extent 1 moves no element.
Result<ValueId> flat_transpose(Match& m) {
  const Node& node = m.node(0);
  const auto& order = node.attributes.list(FRL_AT_transpose_order);
  const Shape& from = m.graph.shape(m[0]);
  int64_t last = -int64_t(kMaxRank) - 1;
  for (int64_t axis : order) {
    if (from.from_end(axis) == 1) continue;
    if (axis < last) return kNoValue;
    last = axis;
  }
  if (m.graph.shape(m[0]) == m.graph.shape(node.results[0])) return m[0];
  if (!from.is_exact()) return kNoValue;
  const Shape& to = m.graph.shape(node.results[0]);
  const auto extents = to.extents();
  return m.graph.emit(
      FRL_OP_reshape,
      Attributes(FRL_OP_reshape)
          .set_list(FRL_AT_reshape_shape, {extents.begin(), extents.begin() + to.rank()}),
      {m[0]});
}

// -0 + 0 is 0.
Result<ValueId> keep_unless_float(Match& m) {
  return is_float(m.graph.type(m[0]).type) ? kNoValue : m[0];
}

const Rule kRules[] = {
    {pat(FRL_OP_identity, {any(0)}), keep},
    {pat(FRL_OP_cast, {any(0)}), keep},
    {pat(FRL_OP_reshape, {pat(FRL_OP_reshape, {any(0)})}), outer_reshape},
    {pat(FRL_OP_reshape, {any(0)}), keep},
    {pat(FRL_OP_broadcast, {any(0)}), keep},
    {pat(FRL_OP_transpose, {pat(FRL_OP_transpose, {any(0)})}), compose_transposes},
    {pat(FRL_OP_transpose, {any(0)}), flat_transpose},
    {pat(FRL_OP_add, {any(0), lit(0)}), keep_unless_float},
    {pat(FRL_OP_add, {any(0), lit(-0.0)}), keep},
    {pat(FRL_OP_sub, {any(0), lit(0)}), keep},
    {pat(FRL_OP_mul, {any(0), lit(1)}), keep},
    {pat(FRL_OP_div, {any(0), lit(1)}), keep},
    {pat(FRL_OP_relu, {pat(FRL_OP_relu, {any(0)})}),
     [](Match& m) { return m.graph.emit(FRL_OP_relu, {m[0]}); }},
};

}  // namespace

extern const Pass fold_identity = {
    .name = "fold_identity",
    .doc = "nodes that cannot change their operand become it",
    .run = [](Graph& g, PassContext&) { return rewrite(g, kRules); },
};

}  // namespace ferrule
