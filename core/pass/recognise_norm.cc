// layer_norm and rms_norm, written out.
//
// The variance is the mean of squared distances: E[x^2] - E[x]^2 loses digits that the kind keeps,
// so it is another formula. widen_norm takes in casts, scale and shift.
#include "core/pass/norm_parts.h"

namespace ferrule {
namespace {

constexpr uint32_t kX = 0, kCentre = 1, kMean = 2, kSquare = 3, kInverse = 4, kFactor = 5,
                   kEpsilon = 6, kScale = 7, kShift = 8, kSpread = 15, kPlaced = 16;

constexpr MeanSlots kFirst{9, 10, 11}, kSecond{12, 13, 14};

// mean(p^2) + epsilon, where p is kept in `slot`.
Pattern spread(Pattern p, uint32_t slot) {
  const Pattern square = one_of({pat(FRL_OP_mul, {p, any(slot)}), pat(FRL_OP_pow, {p, lit(2)})});
  return pat(FRL_OP_add, {mean(square, kSquare, kSecond), number(kEpsilon)});
}
Pattern centre() { return as(kCentre, pat(FRL_OP_sub, {any(kX), mean(any(kX), kMean, kFirst)})); }
// p over its root mean square.
Pattern normal(Pattern p, uint32_t slot) {
  const Pattern square = spread(any(slot), slot);
  return one_of(
      {pat(FRL_OP_div, {p, root(square)}), pat(FRL_OP_mul, {p, inverse_root(kInverse, square)})});
}

// x * f + (shift - mean * f), as TensorFlow and Keras write it; f has the scale in it, if any.
Pattern by_factor(Pattern f, uint32_t slot) {
  const Pattern x = pat(FRL_OP_mul, {any(kX), std::move(f)});
  const Pattern off = pat(FRL_OP_mul, {any(kMean), any(slot)});
  const Pattern back = pat(FRL_OP_mul, {pat(FRL_OP_neg, {any(kMean)}), any(slot)});
  return one_of({pat(FRL_OP_add, {x, pat(FRL_OP_sub, {any(kShift), off})}),
                 pat(FRL_OP_add, {x, pat(FRL_OP_add, {back, any(kShift)})}),
                 pat(FRL_OP_add, {x, back}), pat(FRL_OP_sub, {x, off})});
}
Pattern factor() { return inverse_root(kInverse, spread(centre(), kCentre)); }

// Keras lays rows out as channels and normalises them as a batch: means without their axis are
// placed again, and subtracted from a shift of zero.
Pattern by_batch() {
  const Pattern minus = pat(
      FRL_OP_sub, {lit(0), pat(FRL_OP_mul, {pat(FRL_OP_reshape, {any(kMean)}), any(kInverse)})});
  return pat(FRL_OP_add, {pat(FRL_OP_mul, {any(kX), as(kPlaced, pat(FRL_OP_reshape, {factor()}))}),
                          as(kSpread, pat(FRL_OP_reshape, {minus}))});
}

Result<ValueId> emit_norm(Match& m, OpId kind, int64_t axes) {
  static_assert(FRL_AT_layer_norm_axes_n == FRL_AT_rms_norm_axes_n);
  static_assert(FRL_AT_layer_norm_epsilon == FRL_AT_rms_norm_epsilon);
  return m.graph.emit(kind,
                      Attributes(kind)
                          .set_i(FRL_AT_layer_norm_axes_n, axes)
                          .set_f(FRL_AT_layer_norm_epsilon, m.number(kEpsilon)),
                      {m[kX]});
}

Result<ValueId> layer_norm(Match& m) {
  const int64_t axes = n_trailing(m, kFirst);
  FRL_LET(ValueId y, emit_norm(m, FRL_OP_layer_norm, n_trailing(m, kSecond) == axes ? axes : 0));
  if (y == kNoValue) return y;
  if (m.has(kScale)) {
    FRL_LET(y, m.graph.emit(FRL_OP_mul, {y, m[kScale]}));
  }
  if (m.has(kShift)) {
    FRL_LET(y, m.graph.emit(FRL_OP_add, {y, m[kShift]}));
  }
  return y;
}
Result<ValueId> batch_norm(Match& m) {
  const int64_t axes = n_trailing(m, kFirst);
  const Shape &mean = m.shape(kMean), &placed = m.shape(kPlaced);
  const bool fits = n_trailing(m, kSecond, false) == axes && placed == m.shape(kSpread) &&
                    broadcasts_to(placed, mean);
  return emit_norm(m, FRL_OP_layer_norm, fits ? axes : 0);
}
Result<ValueId> rms_norm(Match& m) { return emit_norm(m, FRL_OP_rms_norm, n_trailing(m, kSecond)); }

const Rule kRules[] = {
    {normal(centre(), kCentre), layer_norm},
    {by_factor(as(kFactor, pat(FRL_OP_mul, {factor(), any(kScale)})), kFactor), layer_norm},
    {by_factor(factor(), kInverse), layer_norm},
    {by_batch(), batch_norm},
    {normal(any(kX), kX), rms_norm},
};

}  // namespace

extern const Pass recognise_norm = {
    .name = "recognise_norm",
    .doc = "layer and root mean square norms, written out",
    .run = rewrite_in_turn<kRules>,
};

}  // namespace ferrule
