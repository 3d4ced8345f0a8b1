// Norms, with what stands before and behind them, and their gradients.
#include "core/base/text.h"
#include "core/graph/body.h"

namespace ferrule {
namespace {

// Trailing axes, as many as the attribute says.
std::vector<int64_t> norm_axes(BodyBuilder& b, int64_t n) {
  const int64_t rank = b.operand(0).rank();
  return b.want(n >= 1 && n <= rank, "axes_n", cat("1 to ", rank), cat(n)) ? trailing_axes(n)
                                                                           : trailing_axes(0);
}

std::vector<int64_t> leading_axes(Term x, size_t trailing) {
  std::vector<int64_t> axes;
  for (int64_t axis = -x.rank(); axis < -int64_t(trailing); ++axis) axes.push_back(axis);
  return axes;
}

// What norms of x + residual begin with; the sum.
Term residual_sum(BodyBuilder& b) {
  const Term x = b.operand(0), residual = b.operand(1);
  b.want(x.shape() == residual.shape(), "residual", to_string(x.shape()),
         to_string(residual.shape()));
  return x + residual;
}

// Scale and shift have the normalised axes, no more, and do not broadcast along them.
void want_factor(Term x, size_t n_axes, Term factor, const char* name) {
  if (!factor.ok()) return;
  bool fits = size_t(factor.rank()) == n_axes && size_t(x.rank()) >= n_axes;
  for (int64_t axis = -1; fits && axis >= -int64_t(n_axes); --axis)
    fits = factor.extent(axis) == x.extent(axis);
  x.in->want(fits, name, cat("the last ", n_axes, " extents of ", to_string(x.shape())),
             to_string(factor.shape()));
}

Term norm(Term x, const std::vector<int64_t>& axes, double epsilon, bool centred, Term scale,
          Term shift) {
  want_factor(x, axes.size(), scale, "scale");
  want_factor(x, axes.size(), shift, "shift");
  return cast(affine(normalise(cast(x, wide(x.type())), axes, epsilon, centred), scale, shift),
              x.type());
}

// Gradients of norm(x) * scale: of x, and of scale by what it was multiplied with.
struct NormGradients {
  Term x, normal, gradient;
};
NormGradients norm_backward(BodyBuilder& b, const std::vector<int64_t>& axes, double epsilon,
                            bool centred) {
  const Term given = b.operand(0);
  const Type inner = wide(given.type());
  const Term x = cast(given, inner), scale = cast(b.operand(1), inner),
             gradient = cast(b.operand(2), inner);
  b.want(gradient.shape() == x.shape(), "gradient", to_string(x.shape()),
         to_string(gradient.shape()));
  const Term centre = centred ? x - mean(x, axes) : x;
  const Term root = apply(FRL_OP_sqrt, mean(centre * centre, axes) + epsilon);
  const Term normal = centre / root, scaled = gradient * scale;
  b.want(scaled.shape() == x.shape(), "scale", cat("one that broadcasts to ", to_string(x.shape())),
         to_string(scale.shape()));
  const Term pulled = scaled - normal * mean(scaled * normal, axes);
  const Term dx = (centred ? pulled - mean(scaled, axes) : pulled) / root;
  return {cast(dx, given.type()), normal, gradient};
}

// Summed over all axes but the normalised ones; as scale is.
Term to_scale(BodyBuilder& b, Term x, const std::vector<int64_t>& axes) {
  const Term y = reduce(FRL_OP_add, x, leading_axes(x, axes.size()), false);
  b.want(y.shape() == b.operand(1).shape(), "scale", to_string(y.shape()),
         to_string(b.operand(1).shape()));
  return cast(y, b.operand(0).type());
}

}  // namespace

// (x - mean) / sqrt(variance + epsilon); not centred: without the mean.
Term normalise(Term x, const std::vector<int64_t>& axes, double epsilon, bool centred) {
  const Term centre = centred ? x - mean(x, axes) : x;
  return centre / apply(FRL_OP_sqrt, mean(centre * centre, axes) + epsilon);
}

Term affine(Term y, Term scale, Term shift) {
  const Shape shape = y.shape();
  if (scale.ok()) y = y * cast(scale, y.type());
  if (shift.ok()) y = y + cast(shift, y.type());
  y.in->want(y.shape() == shape, "scale and shift", cat("them to broadcast to ", to_string(shape)),
             to_string(y.shape()));
  return y;
}

Terms expand_layer_norm(BodyBuilder& b) {
  const auto axes = norm_axes(b, b.attributes.i(FRL_AT_layer_norm_axes_n));
  return {norm(b.operand(0), axes, b.attributes.f(FRL_AT_layer_norm_epsilon), true, b.operand(1),
               b.operand(2))};
}

Terms expand_rms_norm(BodyBuilder& b) {
  const auto axes = norm_axes(b, b.attributes.i(FRL_AT_rms_norm_axes_n));
  return {norm(b.operand(0), axes, b.attributes.f(FRL_AT_rms_norm_epsilon), false, b.operand(1),
               b.none())};
}

Terms expand_residual_layer_norm(BodyBuilder& b) {
  const auto axes = norm_axes(b, b.attributes.i(FRL_AT_residual_layer_norm_axes_n));
  const Term sum = residual_sum(b);
  const Term y = norm(sum, axes, b.attributes.f(FRL_AT_residual_layer_norm_epsilon), true,
                      b.operand(2), b.operand(3));
  return b.attributes.i(FRL_AT_residual_layer_norm_sum) ? Terms{y, sum} : Terms{y};
}

Terms expand_residual_rms_norm(BodyBuilder& b) {
  const auto axes = norm_axes(b, b.attributes.i(FRL_AT_residual_rms_norm_axes_n));
  const Term sum = residual_sum(b);
  const Term y = norm(sum, axes, b.attributes.f(FRL_AT_residual_rms_norm_epsilon), false,
                      b.operand(2), b.none());
  return b.attributes.i(FRL_AT_residual_rms_norm_sum) ? Terms{y, sum} : Terms{y};
}

Terms expand_ada_layer_norm(BodyBuilder& b) {
  const auto axes = norm_axes(b, 1);
  const Term x = b.operand(0);
  const Type inner = wide(x.type());
  const Term y = normalise(cast(x, inner), axes, b.attributes.f(FRL_AT_ada_layer_norm_epsilon),
                           b.attributes.i(FRL_AT_ada_layer_norm_rms) == 0);
  return {cast(affine(y, cast(b.operand(1), inner) + 1, b.operand(2)), x.type())};
}

Terms expand_group_norm(BodyBuilder& b) {
  const Term x = b.operand(0);
  const int64_t groups = b.attributes.i(FRL_AT_group_norm_groups);
  const int64_t channels = x.rank() >= 2 ? x.shape()[1] : 0;
  if (!b.want(x.rank() >= 2, "x", "2 axes or more", to_string(x.shape())) ||
      !b.want(groups >= 1 && channels % groups == 0, "groups",
              cat("a divisor of ", channels, " channels"), cat(groups)))
    return {x};
  std::vector<int64_t> grouped = {x.shape()[0], groups}, whole, by_channel = {channels};
  int64_t spatial = 1;
  for (int64_t axis = 0; axis < x.rank(); ++axis) whole.push_back(x.shape()[size_t(axis)]);
  for (size_t axis = 2; axis < whole.size(); ++axis)
    spatial *= whole[axis], by_channel.push_back(1);
  grouped.push_back(channels / groups * spatial);
  const Term y = normalise(reshape(cast(x, wide(x.type())), grouped), {-1},
                           b.attributes.f(FRL_AT_group_norm_epsilon), true);
  Term factors[2];
  for (size_t i = 0; i < 2; ++i) {
    const Term given = b.operand(1 + i);
    if (!given.ok()) continue;
    b.want(given.rank() == 1 && given.extent(-1) == channels, "scale and shift",
           cat("[", channels, "]"), to_string(given.shape()));
    factors[i] = reshape(given, by_channel);
  }
  return {cast(affine(reshape(y, whole), factors[0], factors[1]), x.type())};
}

Terms expand_layer_norm_backward(BodyBuilder& b) {
  const auto axes = norm_axes(b, b.attributes.i(FRL_AT_layer_norm_backward_axes_n));
  const auto g = norm_backward(b, axes, b.attributes.f(FRL_AT_layer_norm_backward_epsilon), true);
  return {g.x, to_scale(b, g.gradient * g.normal, axes), to_scale(b, g.gradient, axes)};
}

Terms expand_rms_norm_backward(BodyBuilder& b) {
  const auto axes = norm_axes(b, b.attributes.i(FRL_AT_rms_norm_backward_axes_n));
  const auto g = norm_backward(b, axes, b.attributes.f(FRL_AT_rms_norm_backward_epsilon), false);
  return {g.x, to_scale(b, g.gradient * g.normal, axes)};
}

}  // namespace ferrule
