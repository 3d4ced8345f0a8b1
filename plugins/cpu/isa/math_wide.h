// f32 functions that are computed in f64, and f64 functions.
#pragma once

#include "plugins/cpu/isa/math.h"

namespace cpu {
namespace FRL_ISA {

// sin and cos of |x| <= 2^28, reduced and summed in double.
struct Turned {
  int64_t quarter;  // its low two bits
  double r;         // |r| <= pi / 4
};
FRL_INLINE Turned reduce_by_quarter(double x) {
  constexpr double kMagic = 6755399441055744.0;  // 1.5 * 2^52
  const double shifted = x * 0.63661977236758134308 + kMagic;
  const double n = shifted - kMagic;
  // pi / 2 in two parts; the first has 24 bits, so that n times it is exact.
  const double r = (x - n * 1.57079625129699707031) - n * 7.54978941586159635336e-8;
  return {int64_t(as_bits(shifted)), r};
}
FRL_INLINE double sin_poly(double r) {
  const double s = r * r;
  double q = 2.7243781409411578e-6;
  q = q * s - 0.00019840038872556201;
  q = q * s + 0.0083333317852176937;
  q = q * s - 0.16666666663622832;
  return r + r * s * q;
}
FRL_INLINE double cos_poly(double r) {
  const double s = r * r;
  double q = -2.7295830823471618e-7;
  q = q * s + 2.4800560429868876e-5;
  q = q * s - 0.0013888887597327668;
  q = q * s + 0.041666666664127211;
  return 1.0 - 0.5 * s + s * s * q;
}
constexpr float kTrigLimit = 268435456.0f;
FRL_INLINE float turned(double x, int64_t first_quarter) {
  const Turned t = reduce_by_quarter(x);
  const int64_t quarter = t.quarter + first_quarter;
  const double y = (quarter & 1) ? cos_poly(t.r) : sin_poly(t.r);
  return float(as_double(as_bits(y) ^ (uint64_t(quarter & 2) << 62)));
}
FRL_INLINE float sin(float x) { return x == 0.0f ? x : turned(double(x), 0); }
FRL_INLINE float cos(float x) { return turned(double(x), 1); }

// a^b through double logarithms; 1 ulp. Powers that are not finite, a zero and negative bases go
// by the rules of C.
FRL_INLINE double log2_wide(double x) {  // x > 0 and normal
  const uint64_t bits = as_bits(x);
  const int64_t e = int64_t(bits - 0x3fe6a09e667f3bcdull) >> 52;
  const double m = as_double(bits - (uint64_t(e) << 52));
  const double s = (m - 1.0) / (m + 1.0), w = s * s;
  double q = 0.16622228037587592;
  q = q * w + 0.18140166604031424;
  q = q * w + 0.22222862902372364;
  q = q * w + 0.28571424132605686;
  q = q * w + 0.40000000011224517;
  q = q * w + 0.66666666666662074;
  return double(int32_t(e)) + (2.0 * s + s * w * q) * 1.4426950408889634074;
}
FRL_INLINE double exp2_wide(double x) {  // |x| < 1000
  constexpr double kMagic = 6755399441055744.0;
  const double shifted = x + kMagic, n = shifted - kMagic;
  const double r = (x - n) * 0.69314718055994530942;
  double q = 2.7614931875440475e-7;
  q = q * r + 2.7626466044935e-6;
  q = q * r + 2.4801534341237886e-5;
  q = q * r + 0.00019841206274785362;
  q = q * r + 0.0013888888906916629;
  q = q * r + 0.0083333333549719012;
  q = q * r + 0.041666666666650099;
  q = q * r + 0.16666666666646781;
  q = q * r + 0.5;
  const double p = 1.0 + r + r * r * q;
  return p * as_double((as_bits(shifted) + 1023) << 52);
}
// c ? a : b, which stays a select however many of them follow each other.
FRL_INLINE float pick(bool c, float a, float b) {
  const uint32_t mask = 0u - static_cast<uint32_t>(c);
  return as_float((as_bits(a) & mask) | (as_bits(b) & ~mask));
}
FRL_INLINE float pow(float a, float b) {
  const float size = magnitude(a), wide = magnitude(b);
  const double t = double(b) * log2_wide(double(size));
  const double c = t < -400.0 ? -400.0 : (t > 400.0 ? 400.0 : t);
  const float y = float(exp2_wide(c));
  // Whole powers of negative bases, odd ones with a sign.
  const float whole = __builtin_truncf(b);
  const float half = 0.5f * b;
  const bool is_whole = whole == b, is_odd = is_whole & (__builtin_truncf(half) != half);
  const float sign = pick(is_odd, a, 1.0f);
  float out = pick((a < 0.0f) & !is_whole, kNan, with_sign(y, sign));
  const bool shrinks = b < 0.0f;
  out = pick(a == 0.0f, with_sign(pick(shrinks, kInf, 0.0f), sign), out);
  out = pick(size == kInf, with_sign(pick(shrinks, 0.0f, kInf), sign), out);
  const bool grows = (size > 1.0f) == (b > 0.0f);
  out = pick(wide == kInf, pick(size == 1.0f, 1.0f, pick(grows, kInf, 0.0f)), out);
  out = pick(a != a, a, out);
  out = pick(b != b, b, out);
  return pick((b == 0.0f) | (a == 1.0f), 1.0f, out);
}

// ---- the rest of f32, and f64: the C library's, one element at a time ----
#define FRL_SCALAR(name) \
  FRL_INLINE double name(double x) { return ::name(x); }
#define FRL_SCALAR_BOTH(name) \
  FRL_SCALAR(name)            \
  FRL_INLINE float name(float x) { return static_cast<float>(::name(static_cast<double>(x))); }
FRL_SCALAR(exp)
FRL_SCALAR(expm1)
FRL_SCALAR(log)
FRL_SCALAR(log1p)
FRL_SCALAR(sin)
FRL_SCALAR(cos)
FRL_SCALAR(tanh)
FRL_SCALAR(erf)
FRL_SCALAR_BOTH(tan)
FRL_SCALAR_BOTH(asin)
FRL_SCALAR_BOTH(acos)
FRL_SCALAR_BOTH(atan)
FRL_SCALAR_BOTH(sinh)
FRL_SCALAR_BOTH(cosh)
FRL_SCALAR_BOTH(asinh)
FRL_SCALAR_BOTH(acosh)
FRL_SCALAR_BOTH(atanh)
#undef FRL_SCALAR
#undef FRL_SCALAR_BOTH
FRL_INLINE double magnitude(double x) { return __builtin_fabs(x); }
FRL_INLINE double sigmoid(double x) {
  const double e = ::exp(-magnitude(x));
  return (x >= 0 ? 1 : (x < 0 ? e : x)) / (1 + e);
}
FRL_INLINE double silu(double a) { return a * sigmoid(a); }
FRL_INLINE double softplus(double a) {
  return (a > 0 ? a : (a == a ? 0 : a)) + ::log1p(::exp(-magnitude(a)));
}
FRL_INLINE double mish(double a) { return a * ::tanh(softplus(a)); }
FRL_INLINE double gelu(double a) {
  constexpr double kRoot = 0.70710678118654752440;
  const double y = 0.5 * a * ::erfc(-a * kRoot);
  return y;
}
FRL_INLINE double gelu_tanh(double a) {
  return a * sigmoid(2 * 0.79788456080286535588 * (a + 0.044715 * a * a * a));
}
FRL_INLINE double pow(double a, double b) { return ::pow(a, b); }

}  // namespace FRL_ISA
}  // namespace cpu
