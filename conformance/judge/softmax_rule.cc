// Bounds of softmax and of its logarithm.
#include "conformance/judge/bounded.h"

namespace ferrule::conformance {
namespace {

constexpr double kMostUlps = 16;

}  // namespace

// own error, beside the claimed units: x - max is rounded before exp() stretches it, and what
// exp() makes of it may be too small for its type.
Bounds bound_softmax(const NodeCall& call) {
  FRL_LET(auto results, evaluate_call(call));
  Bounded y{call.results[0], std::move(results[0]), {}};
  const Bounded& x = call.in(0);
  const Shape& shape = y.value.shape();
  const bool logarithm = call.node.op == FRL_OP_log_softmax;
  const int64_t axis = call.node.attributes.i(logarithm ? uint32_t(FRL_AT_log_softmax_axis)
                                                        : uint32_t(FRL_AT_softmax_axis));
  const FloatFormat format = format_of(call.licence.precision(y.type.type)),
                    inside = format_of(wide_type(y.type.type));
  const double claimed = call.licence.unit == FRL_ERROR_EXACT ? 0.5 : call.licence.amount;
  const double ulps = std::min(claimed, kMostUlps) + (y.type.type == Type::f64 ? 2 : 0);
  std::vector<double> bound(size_t(shape.n_elements()), 0.0);
  const Lanes lanes(shape, from_end(shape, axis));
  lanes.each([&](int64_t first) {
    double top = -kInfinite, moved = 0;
    for (int64_t i = 0; i < lanes.n; ++i) top = std::max(top, x.at(first + i * lanes.inner));
    for (int64_t i = 0; i < lanes.n; ++i) {
      const int64_t at = first + i * lanes.inner;
      const double p = logarithm ? std::exp(y.at(at)) : y.at(at);
      if (x.error_at(at) > 0) moved += p * x.error_at(at);
    }
    for (int64_t i = 0; i < lanes.n; ++i) {
      const int64_t at = first + i * lanes.inner;
      const double v = y.at(at), below = std::fabs(x.at(at) - top);
      if (!std::isfinite(v)) continue;
      const double shift =
          x.error_at(at) + moved + (std::isfinite(below) ? inside.ulp(below) / 2 : 0);
      double& e = bound[size_t(at)];
      if (logarithm)
        e = shift + ulps * (format.ulp(v) + inside.eps());
      else
        e = v * std::expm1(shift) + ulps * format.ulp(v) +
            (v < 2 * inside.min_normal() && v > 0 ? inside.min_normal() : 0);
      if (v == 0) e = std::isinf(below) ? 0 : e;
    }
  });
  y.error = tabulate(shape, [&](int64_t i) { return bound[size_t(i)]; });
  return std::vector<Bounded>{std::move(y)};
}

}  // namespace ferrule::conformance
