// layer_norm and rms_norm, written out.
//
// The variance is the mean of squared distances: E[x^2] - E[x]^2 loses digits that the kind keeps,
// so it is another formula. widen_norm takes in casts, scale and shift.
#include <algorithm>

#include "core/pass/match.h"

namespace ferrule {
namespace {

constexpr uint32_t kX = 0, kCentre = 1, kMean = 2, kSquare = 3, kInverse = 4, kFactor = 5,
                   kEpsilon = 6, kScale = 7, kShift = 8;

// The slots of one mean: the sum, and what it is divided by or multiplied with.
struct Mean {
  uint32_t sum, count, share;
};
constexpr Mean kFirst{9, 10, 11}, kSecond{12, 13, 14};

Pattern mean(Pattern x, uint32_t name, Mean m) {
  const Pattern sum = as(m.sum, pat(FRL_OP_reduce, {std::move(x)}));
  return one_of({as(name, pat(FRL_OP_div, {sum, number(m.count)})),
                 as(name, pat(FRL_OP_mul, {sum, number(m.share)}))});
}

// Over how many trailing axes; 0: it is no mean of these.
int64_t n_trailing(const Match& m, Mean slots) {
  const Node& sum = m.maker(slots.sum);
  const Shape& shape = m.graph.shape(sum.operands[0]);
  auto axes = sum.attributes.list(FRL_AT_reduce_axes);
  std::sort(axes.begin(), axes.end());
  double n = 1;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] != int64_t(i) - int64_t(axes.size())) return 0;
    n *= double(shape.from_end(axes[i]));
  }
  const bool is_mean =
      sum.attributes.i(FRL_AT_reduce_by) == FRL_OP_add && sum.attributes.i(FRL_AT_reduce_keep) &&
      shape.is_exact() &&
      (m.has(slots.count) ? m.is_about(slots.count, n) : m.is_about(slots.share, 1 / n));
  return is_mean ? int64_t(axes.size()) : 0;
}

// mean(p^2) + epsilon, where p is kept in `slot`.
Pattern spread(Pattern p, uint32_t slot) {
  const Pattern square = one_of({pat(FRL_OP_mul, {p, any(slot)}), pat(FRL_OP_pow, {p, lit(2)})});
  return pat(FRL_OP_add, {mean(square, kSquare, kSecond), number(kEpsilon)});
}
Pattern root(Pattern x) { return one_of({pat(FRL_OP_sqrt, {x}), pat(FRL_OP_pow, {x, lit(0.5)})}); }
Pattern inverse_root(Pattern x) {
  return one_of({as(kInverse, pat(FRL_OP_rsqrt, {x})),
                 as(kInverse, pat(FRL_OP_reciprocal, {root(x)})),
                 as(kInverse, pat(FRL_OP_div, {lit(1), root(x)})),
                 as(kInverse, pat(FRL_OP_pow, {x, lit(-0.5)}))});
}
Pattern centre() { return as(kCentre, pat(FRL_OP_sub, {any(kX), mean(any(kX), kMean, kFirst)})); }
// p over its root mean square.
Pattern normal(Pattern p, uint32_t slot) {
  const Pattern square = spread(any(slot), slot);
  return one_of({pat(FRL_OP_div, {p, root(square)}), pat(FRL_OP_mul, {p, inverse_root(square)})});
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
Pattern factor() { return inverse_root(spread(centre(), kCentre)); }

Result<ValueId> emit_norm(Match& m, OpId kind, int64_t axes) {
  static_assert(FRL_AT_layer_norm_axes_n == FRL_AT_rms_norm_axes_n);
  static_assert(FRL_AT_layer_norm_epsilon == FRL_AT_rms_norm_epsilon);
  if (axes == 0) return kNoValue;
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
Result<ValueId> rms_norm(Match& m) { return emit_norm(m, FRL_OP_rms_norm, n_trailing(m, kSecond)); }

const Rule kRules[] = {
    {normal(centre(), kCentre), layer_norm},
    {by_factor(as(kFactor, pat(FRL_OP_mul, {factor(), any(kScale)})), kFactor), layer_norm},
    {by_factor(factor(), kInverse), layer_norm},
    {normal(any(kX), kX), rms_norm},
};

}  // namespace

extern const Pass recognise_norm;
const Pass recognise_norm = {
    .name = "recognise_norm",
    .doc = "layer and root mean square norms, written out",
    .when = [](const PassContext&) { return std::string(); },
    .run = [](Graph& g, PassContext&) { return rewrite(g, kRules, Inner::swallows); },
};

}  // namespace ferrule
