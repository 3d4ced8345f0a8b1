// POINTWISE functions over double, one row each.
#include <cmath>

#include "core/op/pointwise.h"
#include "core/op/wide.h"

namespace ferrule {
namespace {

double clamp(double x, double lo, double hi) { return wide_min(wide_max(x, lo), hi); }
double softplus(double x) {
  return std::isnan(x) ? x : std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x)));
}
double sign(double x) {
  if (x > 0) return 1;
  return x < 0 ? -1 : x;
}
// 0 where x may be dropped, NaN where it may not.
double zero_like(double x) { return std::isnan(x) ? x : 0; }

double remainder_of_divisor_sign(double a, double b) {
  const double r = std::fmod(a, b);
  return r != 0 && std::signbit(r) != std::signbit(b) ? r + b : r;
}

struct Row {
  OpId op;
  FloatFunction fn;
};

#define FLOAT_ROW(name, ...)                                                   \
  {                                                                            \
    FRL_OP_##name,                                                             \
        []([[maybe_unused]] double a, [[maybe_unused]] double b,               \
           [[maybe_unused]] const double* p) -> double { return __VA_ARGS__; } \
  }

constexpr Row kRows[] = {
    FLOAT_ROW(neg, -a),
    FLOAT_ROW(abs, std::fabs(a)),
    FLOAT_ROW(sign, sign(a)),
    FLOAT_ROW(reciprocal, 1 / a),
    FLOAT_ROW(floor, std::floor(a)),
    FLOAT_ROW(ceil, std::ceil(a)),
    FLOAT_ROW(round, std::nearbyint(a)),
    FLOAT_ROW(sqrt, std::sqrt(a)),
    FLOAT_ROW(rsqrt, 1 / std::sqrt(a)),
    FLOAT_ROW(exp, std::exp(a)),
    FLOAT_ROW(expm1, std::expm1(a)),
    FLOAT_ROW(log, std::log(a)),
    FLOAT_ROW(log1p, std::log1p(a)),
    FLOAT_ROW(sin, std::sin(a)),
    FLOAT_ROW(cos, std::cos(a)),
    FLOAT_ROW(tan, std::tan(a)),
    FLOAT_ROW(asin, std::asin(a)),
    FLOAT_ROW(acos, std::acos(a)),
    FLOAT_ROW(atan, std::atan(a)),
    FLOAT_ROW(sinh, std::sinh(a)),
    FLOAT_ROW(cosh, std::cosh(a)),
    FLOAT_ROW(tanh, std::tanh(a)),
    FLOAT_ROW(asinh, std::asinh(a)),
    FLOAT_ROW(acosh, std::acosh(a)),
    FLOAT_ROW(atanh, std::atanh(a)),
    FLOAT_ROW(erf, std::erf(a)),
    FLOAT_ROW(sigmoid, 1 / (1 + std::exp(-a))),
    FLOAT_ROW(relu, a > 0 ? a : zero_like(a)),
    FLOAT_ROW(leaky_relu, a < 0 ? p[0] * a : a),
    FLOAT_ROW(elu, a < 0 ? p[0] * std::expm1(a) : a),
    FLOAT_ROW(selu, p[1] * (a < 0 ? p[0] * std::expm1(a) : a)),
    FLOAT_ROW(celu, a < 0 ? p[0] * std::expm1(a / p[0]) : a),
    FLOAT_ROW(softplus, softplus(a)),
    FLOAT_ROW(softsign, a / (1 + std::fabs(a))),
    FLOAT_ROW(hard_sigmoid, clamp(p[0] * a + p[1], 0, 1)),
    FLOAT_ROW(hard_swish, a* clamp(a + 3, 0, 6) / 6),
    FLOAT_ROW(mish, a* std::tanh(softplus(a))),
    FLOAT_ROW(silu, a / (1 + std::exp(-a))),
    FLOAT_ROW(gelu, a*(0.5 * std::erfc(-a / std::sqrt(2.0)))),
    // (1 + tanh(u)) / 2 without its cancellation
    FLOAT_ROW(gelu_tanh, a / (1 + std::exp(-2 * std::sqrt(2 / M_PI) * (a + 0.044715 * a * a * a)))),
    FLOAT_ROW(thresholded_relu, a > p[0] ? a : zero_like(a)),
    FLOAT_ROW(shrink, a<-p[0] ? a + p[1] : a> p[0] ? a - p[1] : zero_like(a)),
    FLOAT_ROW(add, a + b),
    FLOAT_ROW(sub, a - b),
    FLOAT_ROW(mul, (a * b)),
    FLOAT_ROW(div, a / b),
    FLOAT_ROW(mod, remainder_of_divisor_sign(a, b)),
    FLOAT_ROW(fmod, std::fmod(a, b)),
    FLOAT_ROW(pow, std::pow(a, b)),
    FLOAT_ROW(max, wide_max(a, b)),
    FLOAT_ROW(min, wide_min(a, b)),
    FLOAT_ROW(prelu, a < 0 ? a * b : a),
};
#undef FLOAT_ROW

}  // namespace

FloatFunction float_function(OpId op) {
  if (op == FRL_OP_identity) return [](double a, double, const double*) { return a; };
  for (const Row& row : kRows)
    if (row.op == op) return row.fn;
  return nullptr;
}

RealAttributes::RealAttributes(const Attributes& attributes) {
  for (size_t i = 0; i < attributes.size() && i < std::size(p); ++i) p[i] = attributes[i].f;
}

}  // namespace ferrule
