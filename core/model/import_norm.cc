// Normalisations. Trailing axes go to the kinds layer_norm and rms_norm; the rest is arithmetic.
#include "core/base/text.h"
#include "core/model/importer.h"

namespace ferrule {
namespace {

Val rsqrt(Val x) { return apply(FRL_OP_rsqrt, x); }

// The mean, and the mean of squared distances from it.
struct Moments {
  Val mean, variance;
};
Moments moments(Val x, const Ints& axes) {
  const Val centre = mean(x, axes), off = x - centre;
  return {centre, mean(off * off, axes)};
}

// x * s + t with s and t over the channels, so that a convolution in front can take them in.
Val by_channel(Val x, Val scale, Val shift) {
  const auto placed = [&](Val c) { return cast(align(c, 1, x.rank()), x.element()); };
  return x * placed(scale) + placed(shift);
}

void batch_norm(ModelNode& n) {
  const Val x = n.in(0);
  const double epsilon = n.f("epsilon", 1e-5f), momentum = n.f("momentum", 0.9f);
  const bool training = n.opset() >= 14 && n.i("training_mode", 0);
  if (n.opset() < 9 && !n.i("spatial", 1)) return n.unsupported("spatial 0");
  if (n.opset() < 14 && (n.wants(1) || n.wants(2)))
    return n.unsupported("the training outputs of opsets before 14");
  for (size_t i = 1; i < 5; ++i)
    if (!n.want(
            x.rank() >= 1 && n.in(i).rank() == 1 && n.in(i).dim(0) == (x.rank() > 1 ? x.dim(1) : 1),
            "scale, shift, mean and variance of one number a channel"))
      return;
  Val centre = n.in(3), variance = n.in(4);
  const Type inner = wide(centre.element());
  centre = cast(centre, inner), variance = cast(variance, inner);
  if (training) {
    Ints axes = axes_between(0, x.rank());
    if (x.rank() > 1) axes.erase(axes.begin() + 1);
    const Moments batch = moments(cast(x, inner), axes);
    const Val now = reshape(batch.mean, centre.dims()),
              spread = reshape(batch.variance, centre.dims());
    n.out(1, cast(centre * momentum + now * (1 - momentum), n.in(3).element()));
    n.out(2, cast(variance * momentum + spread * (1 - momentum), n.in(4).element()));
    centre = now, variance = spread;
  }
  const Val scale = cast(n.in(1), inner) * rsqrt(variance + epsilon);
  n.out(0, by_channel(x, scale, cast(n.in(2), inner) - centre * scale));
}

// Whether a factor has just the normalised axes, as the kinds want it.
bool is_along(Val factor, Val x, int64_t axes) {
  bool fits = !factor.ok() || factor.rank() == axes;
  for (int64_t axis = -1; factor.ok() && fits && axis >= -axes; --axis)
    fits = factor.dim(axis) == x.dim(axis);
  return fits;
}
// layer_norm or rms_norm; factors that broadcast are applied behind it.
Val norm(OpId kind, Val x, int64_t axes, double epsilon, Val scale = {}, Val shift = {}) {
  static_assert(FRL_AT_layer_norm_axes_n == FRL_AT_rms_norm_axes_n);
  static_assert(FRL_AT_layer_norm_epsilon == FRL_AT_rms_norm_epsilon);
  Attributes attributes(kind);
  attributes.set_i(FRL_AT_layer_norm_axes_n, axes).set_f(FRL_AT_layer_norm_epsilon, epsilon);
  std::vector<Val> operands = {x, scale, shift};
  const bool inside = is_along(scale, x, axes) && is_along(shift, x, axes);
  operands.resize(!inside ? 1 : shift.ok() ? 3 : scale.ok() ? 2 : 1);
  Val y = x.block->emit(kind, attributes, operands);
  if (inside) return y;
  if (scale.ok()) y = y * cast(scale, y.element());
  if (shift.ok()) y = y + cast(shift, y.element());
  return y.dims() == x.dims() ? y : Val{x.block, kNoValue};
}

// Each channel of each example is one row.
void instance_norm(ModelNode& n) {
  const Val x = n.in(0), scale = n.in(1), shift = n.in(2);
  const bool fits = x.rank() >= 3 && scale.rank() == 1 && scale.dim(0) == x.dim(1) &&
                    shift.dims() == scale.dims();
  if (!n.want(fits, "[n, c, spatial..] and one number a channel")) return;
  const Val rows = flatten(x, 2);
  const Val y = norm(FRL_OP_layer_norm, reshape(rows, {x.dim(0), x.dim(1), rows.dim(1)}), 1,
                     n.f("epsilon", 1e-5f));
  n.out(0, by_channel(reshape(y, x.dims()), scale, shift));
}

void group_norm(ModelNode& n) {
  const Val x = n.in(0), scale = n.in(1), shift = n.in(2);
  const int64_t groups = n.need_i("num_groups"), numbers = n.opset() < 21 ? groups : x.dim(1);
  const bool fits = x.rank() >= 2 && groups > 0 && x.dim(1) % groups == 0 && scale.rank() == 1 &&
                    scale.dim(0) == numbers && shift.dims() == scale.dims();
  if (!n.want(fits, "[n, c, spatial..], c in groups, and scale and shift for them")) return;
  int64_t row = x.dim(1) / groups;
  for (int64_t axis = 2; axis < x.rank(); ++axis) row *= x.dim(axis);
  const Val y =
      norm(FRL_OP_layer_norm, reshape(x, {x.dim(0), groups, row}), 1, n.f("epsilon", 1e-5f));
  // Opset 18 scaled the groups, 21 the channels.
  if (n.opset() < 21) return n.out(0, reshape(by_channel(y, scale, shift), x.dims()));
  n.out(0, by_channel(reshape(y, x.dims()), scale, shift));
}

void layer_norm(ModelNode& n) {
  const Val x = n.in(0);
  const int64_t axis = n.axis_attribute(-1, x.rank());
  const double epsilon = n.f("epsilon", 1e-5f);
  const Val y = norm(FRL_OP_layer_norm, x, x.rank() - axis, epsilon, n.in(1), n.maybe(2));
  if (!n.want(y.ok(), "factors that broadcast to the operand")) return;
  n.out(0, y);
  if (!n.wants(1) && !n.wants(2)) return;
  const Type stash = n.type_of(n.i("stash_type", 1));
  const Moments m = moments(cast(x, stash), axes_between(axis, x.rank()));
  n.out(1, m.mean);
  n.out(2, rsqrt(m.variance + epsilon));
}

void rms_norm(ModelNode& n) {
  const Val x = n.in(0);
  const Val y = norm(FRL_OP_rms_norm, x, x.rank() - n.axis_attribute(-1, x.rank()),
                     n.f("epsilon", 1e-5f), n.in(1));
  if (n.want(y.ok(), "a factor that broadcasts to the operand")) n.out(0, y);
}

void mean_variance_norm(ModelNode& n) {
  const Val x = n.in(0);
  Ints axes = n.has_attribute("axes") ? n.ints("axes") : Ints{0, 2, 3};
  axes = n.axes(axes, x.rank());
  n.out(0, in_wide(x, [&](Val w) {
          const Val off = w - mean(w, axes);
          return off / (apply(FRL_OP_sqrt, mean(off * off, axes)) + 1e-9);
        }));
}

// The mean square over a window of channels is an average pool over [n, 1, c, rest].
void local_response_norm(ModelNode& n) {
  const Val x = n.in(0);
  const int64_t size = n.need_i("size");
  if (!n.want(x.rank() >= 2 && size >= 1 && size <= INT32_MAX,
              "[n, c, spatial..] and a size of 1 or more"))
    return;
  const Val rest = flatten(x, 2);
  const Val rows = reshape(x * x, {x.dim(0), 1, x.dim(1), rest.dim(1)});
  Attributes attributes(FRL_OP_avg_pool);
  attributes.set_list(FRL_AT_avg_pool_kernel, {size, 1}).set_i(FRL_AT_avg_pool_count_pads, 1);
  attributes.set_list(FRL_AT_avg_pool_pads, {(size - 1) / 2, 0, size - 1 - (size - 1) / 2, 0});
  const Val square = reshape(n.block().emit(FRL_OP_avg_pool, attributes, {rows}), x.dims());
  const Val base = square * n.f("alpha", 1e-4f) + n.f("bias", 1);
  n.out(0, x / apply(FRL_OP_pow, base, n.f("beta", 0.75)));
}

void lp_norm(ModelNode& n) {
  const Val x = n.in(0);
  const int64_t axis = n.axis_attribute(-1, x.rank()), p = n.i("p", 2);
  if (p != 1 && p != 2) return n.unsupported(cat("p ", p));
  n.out(0, in_wide(x, [&](Val w) {
          const Val norm = p == 1 ? reduce(FRL_OP_add, apply(FRL_OP_abs, w), {axis})
                                  : apply(FRL_OP_sqrt, reduce(FRL_OP_add, w * w, {axis}));
          return w / select(apply(FRL_OP_equal, norm, 0.0), n.block().scalar(w.element(), 1), norm);
        }));
}

constexpr ImportRow kRows[] = {
    {"", "BatchNormalization", 1, kEver, batch_norm, "5>5 14:5>3",
     "epsilon is_test momentum spatial training_mode"},
    {"", "InstanceNormalization", 1, kEver, instance_norm, "3>1", "epsilon"},
    {"", "GroupNormalization", 18, kEver, group_norm, "3>1", "epsilon num_groups stash_type"},
    {"", "LayerNormalization", 17, kEver, layer_norm, "2..3>3", "axis epsilon stash_type"},
    {"", "RMSNormalization", 23, kEver, rms_norm, "2>1", "axis epsilon stash_type"},
    {"", "MeanVarianceNormalization", 9, kEver, mean_variance_norm, "1>1", "axes"},
    {"", "LRN", 1, kEver, local_response_norm, "1>1", "alpha beta bias size"},
    {"", "LpNormalization", 1, kEver, lp_norm, "1>1", "axis p"},
};

}  // namespace

std::span<const ImportRow> norm_rows() { return kRows; }

}  // namespace ferrule
