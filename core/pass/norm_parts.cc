#include "core/pass/norm_parts.h"

#include <algorithm>

namespace ferrule {

Pattern mean(Pattern x, uint32_t name, MeanSlots slots) {
  const Pattern sum = as(slots.sum, pat(FRL_OP_reduce, {std::move(x)}));
  return one_of({as(name, pat(FRL_OP_div, {sum, number(slots.count)})),
                 as(name, pat(FRL_OP_mul, {sum, number(slots.share)}))});
}

int64_t n_trailing(const Match& m, MeanSlots slots, bool keep) {
  const Node& sum = m.maker(slots.sum);
  const Shape& shape = m.graph.shape(sum.operands[0]);
  const auto& axes = sum.attributes.list(FRL_AT_reduce_axes);
  int64_t first = 0;
  double n = 1;
  for (int64_t axis : axes) {
    n *= double(shape.from_end(axis));
    if (shape.from_end(axis) != 1) first = std::min(first, axis);
  }
  for (int64_t axis = first; axis < 0; ++axis)
    if (shape.from_end(axis) != 1 && std::find(axes.begin(), axes.end(), axis) == axes.end())
      return 0;
  const bool is_mean =
      sum.attributes.i(FRL_AT_reduce_by) == FRL_OP_add && shape.is_exact() &&
      (sum.attributes.i(FRL_AT_reduce_keep) != 0) == keep &&
      (m.has(slots.count) ? m.is_about(slots.count, n) : m.is_about(slots.share, 1 / n));
  return is_mean ? -first : 0;
}

Pattern root(Pattern x) { return one_of({pat(FRL_OP_sqrt, {x}), pat(FRL_OP_pow, {x, lit(0.5)})}); }

Pattern inverse_root(uint32_t name, Pattern x) {
  return one_of({as(name, pat(FRL_OP_rsqrt, {x})), as(name, pat(FRL_OP_reciprocal, {root(x)})),
                 as(name, pat(FRL_OP_div, {lit(1), root(x)})),
                 as(name, pat(FRL_OP_pow, {x, lit(-0.5)}))});
}

Result<ValueId> with_operand(Match& m, uint32_t slot, size_t place, ValueId factor) {
  const Node norm = m.maker(slot);
  if (norm.operands.size() > place || factor == kNoValue) return kNoValue;
  std::vector<ValueId> operands = norm.operands;
  operands.resize(place, kNoValue), operands.push_back(factor);
  return m.graph.emit(norm.op, norm.attributes, std::move(operands));
}

}  // namespace ferrule
