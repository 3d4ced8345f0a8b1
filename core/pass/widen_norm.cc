// Norms take in what stands around them: reshapes and casts from 16 bits, there and back, scale,
// shift.
//
// Scale and shift are of the normalised axes alone. One that varies along others is a modulation,
// which has kinds of its own; so is one of more axes that is computed at run time.
#include "core/pass/norm_parts.h"

namespace ferrule {
namespace {

enum Slot : uint32_t { kX, kFactor, kNorm };
constexpr size_t kScalePlace = 1, kShiftPlace = 2;

// `given` without what it has before the last axes: the op's rule says whether it fits then. No
// value: it is something else.
Result<ValueId> fitted(Graph& graph, int64_t n_axes, ValueId given) {
  const Shape& from = graph.shape(given);
  const int64_t extra = int64_t(from.rank()) - n_axes;
  if (extra <= 0) return given;
  if (!graph.known(given)) return kNoValue;
  std::vector<int64_t> extents;
  for (int64_t axis = -n_axes; axis < 0; ++axis) extents.push_back(from.from_end(axis));
  return graph.emit(FRL_OP_reshape,
                    Attributes(FRL_OP_reshape).set_list(FRL_AT_reshape_shape, extents), {given});
}

Result<ValueId> with_factor(Match& m, size_t place) {
  const int64_t n_axes = m.maker(kNorm).attributes.i(FRL_AT_layer_norm_axes_n);
  FRL_LET(const ValueId factor, fitted(m.graph, n_axes, m[kFactor]));
  return with_operand(m, kNorm, place, factor);
}
Result<ValueId> with_scale(Match& m) { return with_factor(m, kScalePlace); }
Result<ValueId> with_shift(Match& m) { return with_factor(m, kShiftPlace); }

// The value before it was widened from `type`; itself if it was not.
ValueId before_cast(const Graph& graph, ValueId id, Type type) {
  const Node* maker = graph.maker(id);
  const bool widened =
      maker && maker->op == FRL_OP_cast && graph.type(maker->operands[0]).type == type;
  return widened ? graph.resolve(maker->operands[0]) : id;
}

// The kind widens 16 bits by itself. Factors may stay wide.
Result<ValueId> without_casts(Match& m) {
  const Node norm = m.maker(kNorm);
  const Type type = m.graph.type(m.graph.node(m.root).results[0]).type;
  const bool narrow = type == Type::f16 || type == Type::bf16;
  if (!narrow || m.graph.type(m[kNorm]).type != Type::f32) return kNoValue;
  std::vector<ValueId> operands;
  for (ValueId id : norm.operands)
    operands.push_back(id == kNoValue ? id : before_cast(m.graph, m.graph.resolve(id), type));
  return m.graph.emit(norm.op, norm.attributes, std::move(operands));
}

// Rows are the same elements whatever reshape they are seen through.
Result<ValueId> without_reshapes(Match& m) {
  const Node norm = m.maker(kNorm);
  if (norm.operands.size() > kScalePlace) return kNoValue;
  const Shape &seen = m.graph.shape(norm.operands[0]), &x = m.shape(kX);
  int64_t row = 1, axes = 0;
  for (int64_t axis = -norm.attributes.i(FRL_AT_layer_norm_axes_n); axis < 0; ++axis)
    row *= seen.from_end(axis);
  while (row > 1 && axes < int64_t(x.rank()) && x.from_end(-axes - 1) > 0 &&
         row % x.from_end(-axes - 1) == 0)
    row /= x.from_end(-++axes);
  if (row != 1 || !x.is_exact()) return kNoValue;
  Attributes attributes = norm.attributes;
  return m.graph.emit(norm.op, std::move(attributes.set_i(FRL_AT_layer_norm_axes_n, axes)),
                      {m[kX]});
}

Pattern layer_norm() { return as(kNorm, pat(FRL_OP_layer_norm, {any(kX)})); }
Pattern rms_norm() { return as(kNorm, pat(FRL_OP_rms_norm, {any(kX)})); }

Pattern reshaped() { return pat(FRL_OP_reshape, {any(kX)}); }

const Rule kReshapes[] = {
    {pat(FRL_OP_reshape, {one_of({as(kNorm, pat(FRL_OP_layer_norm, {reshaped()})),
                                  as(kNorm, pat(FRL_OP_rms_norm, {reshaped()}))})}),
     without_reshapes},
};
const Rule kCasts[] = {
    {pat(FRL_OP_cast, {one_of({layer_norm(), rms_norm()})}), without_casts},
};
const Rule kScales[] = {
    {pat(FRL_OP_mul, {one_of({layer_norm(), rms_norm()}), any(kFactor)}), with_scale},
};
const Rule kShifts[] = {
    {pat(FRL_OP_add, {layer_norm(), any(kFactor)}), with_shift},
};

}  // namespace

extern const Pass widen_norm = {
    .name = "widen_norm",
    .doc = "norms take in their scale and shift, and casts and reshapes around them",
    .run = rewrite_in_turn<kReshapes, kCasts, kScales, kShifts, kCasts>,
};

}  // namespace ferrule
