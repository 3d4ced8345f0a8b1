// group_norm: a layer norm over what a reshape makes of each group, and scale and shift by channel.
//
// torch writes it with an InstanceNormalization of unit scale and zero shift between two reshapes;
// the shift changes but the sign of a zero.
#include "core/pass/norm_parts.h"

namespace ferrule {
namespace {

constexpr uint32_t kX = 0, kNorm = 1, kGrouped = 2, kFactor = 3, kUnit = 4, kZero = 5;
constexpr size_t kScalePlace = 1, kShiftPlace = 2;

// [n, c, ..] seen as [n, groups, ..], all behind the groups normalised. That the groups divide the
// channels is the kind's to check.
Result<ValueId> group_norm(Match& m) {
  const Node& norm = m.maker(kNorm);
  const Shape &x = m.shape(kX), &grouped = m.shape(kGrouped);
  const bool fits = norm.operands.size() == 1 && x.rank() >= 2 && x.is_exact() &&
                    grouped.rank() >= 3 && grouped[0] == x[0] &&
                    norm.attributes.i(FRL_AT_layer_norm_axes_n) == int64_t(grouped.rank()) - 2;
  if (!fits || (m.has(kUnit) && !m.is_splat_of(kUnit, 1)) ||
      (m.has(kZero) && !m.is_splat_of(kZero, 0)))
    return kNoValue;
  return m.graph.emit(
      FRL_OP_group_norm,
      Attributes(FRL_OP_group_norm)
          .set_i(FRL_AT_group_norm_groups, grouped[1])
          .set_f(FRL_AT_group_norm_epsilon, norm.attributes.f(FRL_AT_layer_norm_epsilon)),
      {m[kX]});
}

// One number for each channel as [c]; no value: it is something else.
Result<ValueId> by_channel(Graph& graph, const Shape& x, ValueId given) {
  const Shape& from = graph.shape(given);
  const int64_t rank = int64_t(x.rank()), channels = x[1];
  if (int64_t(from.rank()) < rank - 1 || int64_t(from.rank()) > rank ||
      from.from_end(1 - rank) != channels)
    return kNoValue;
  return graph.emit(FRL_OP_reshape,
                    Attributes(FRL_OP_reshape).set_list(FRL_AT_reshape_shape, {channels}), {given});
}

Result<ValueId> with_factor(Match& m, size_t place) {
  FRL_LET(const ValueId factor, by_channel(m.graph, m.shape(kX), m[kFactor]));
  return with_operand(m, kNorm, place, factor);
}
Result<ValueId> with_scale(Match& m) { return with_factor(m, kScalePlace); }
Result<ValueId> with_shift(Match& m) { return with_factor(m, kShiftPlace); }

Pattern grouped() { return as(kGrouped, pat(FRL_OP_reshape, {any(kX)})); }
Pattern rows() { return as(kNorm, pat(FRL_OP_layer_norm, {grouped()})); }
Pattern norm() { return as(kNorm, pat(FRL_OP_group_norm, {any(kX)})); }

Pattern unit() { return one_of({rows(), pat(FRL_OP_mul, {rows(), any(kUnit)})}); }

const Rule kCores[] = {
    {pat(FRL_OP_reshape, {one_of({unit(), pat(FRL_OP_add, {unit(), any(kZero)})})}), group_norm},
};
const Rule kScales[] = {{pat(FRL_OP_mul, {norm(), any(kFactor)}), with_scale}};
const Rule kShifts[] = {{pat(FRL_OP_add, {norm(), any(kFactor)}), with_shift}};

}  // namespace

extern const Pass recognise_group_norm = {
    .name = "recognise_group_norm",
    .doc = "layer norms of groups of channels between reshapes, and their scale and shift",
    .run = rewrite_in_turn<kCores, kScales, kShifts>,
};

}  // namespace ferrule
