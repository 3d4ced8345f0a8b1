// Elementary functions on f32 without branches, written so that loops over them vectorise.
//
// Constants come from fit.py. Errors stay under 3 ulp where no other bound is given; NaN,
// infinities, signed zeros and denormals come out as the exact function's. Each instruction set
// compiles its own copy: everything is in the namespace FRL_ISA.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#ifndef FRL_ISA
#define FRL_ISA generic
#endif

namespace cpu {
namespace FRL_ISA {

#define FRL_INLINE inline __attribute__((always_inline))

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

FRL_INLINE float as_float(uint32_t bits) { return __builtin_bit_cast(float, bits); }
FRL_INLINE uint32_t as_bits(float x) { return __builtin_bit_cast(uint32_t, x); }
FRL_INLINE double as_double(uint64_t bits) { return __builtin_bit_cast(double, bits); }
FRL_INLINE uint64_t as_bits(double x) { return __builtin_bit_cast(uint64_t, x); }
FRL_INLINE float magnitude(float x) { return as_float(as_bits(x) & 0x7fffffffu); }
FRL_INLINE float with_sign(float size, float sign) {
  return as_float((as_bits(size) & 0x7fffffffu) | (as_bits(sign) & 0x80000000u));
}
// 2^n for -126 <= n <= 127.
FRL_INLINE float two_to(int32_t n) { return as_float(uint32_t(n + 127) << 23); }

// n and r with x = n ln 2 + r, |r| <= ln 2 / 2; for |x| < 2^20.
struct Reduced {
  int32_t n;
  float r;
};
FRL_INLINE Reduced reduce_by_ln2(float x) {
  constexpr float kMagic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  const float shifted = x * 1.44269504f + kMagic;
  const float n = shifted - kMagic;
  // ln 2 in two parts; the first has 15 bits, so that n times it is exact.
  const float r = (x - n * 0.693145752f) - n * 1.42860677e-6f;
  return {int32_t(as_bits(shifted) - as_bits(kMagic)), r};
}
// (e^r - 1 - r) / r^2 for |r| <= ln 2 / 2.
FRL_INLINE float exp_tail(float r) {
  float q = 0.0013926926614f;
  q = q * r + 0.0083637738744f;
  q = q * r + 0.0416665501103f;
  q = q * r + 0.1666657338190f;
  return q * r + 0.5f;
}

// exp(x + low), where |low| is far below |x|: for arguments that are known to more than f32.
FRL_INLINE float exp_sum(float x, float low) {
  const float c = x < -104.0f ? -104.0f : (x > 89.0f ? 89.0f : x);  // NaN stays
  Reduced d = reduce_by_ln2(c);
  d.r += low;
  const float p = d.r * d.r * exp_tail(d.r) + d.r + 1.0f;
  // Two factors, because results may be denormal and 2^128 is no number.
  const int32_t half = d.n >> 1;
  return p * two_to(half) * two_to(d.n - half);
}
FRL_INLINE float exp(float x) { return exp_sum(x, 0.0f); }
// For -87 <= x <= 0 (softmax, attention): smaller x give 0, NaN stays.
FRL_INLINE float exp_of_negative(float x) {
  const float c = x < -87.0f ? -87.0f : x;
  const Reduced d = reduce_by_ln2(c);
  const float p = d.r * d.r * exp_tail(d.r) + d.r + 1.0f;
  const float y = as_float(as_bits(p) + (uint32_t(d.n) << 23));
  return x < -87.0f ? 0.0f : (x != x ? x : y);
}

FRL_INLINE float expm1(float x) {
  const float c = x < -20.0f ? -20.0f : (x > 89.0f ? 89.0f : x);
  const Reduced d = reduce_by_ln2(c);
  const float p = d.r * d.r * exp_tail(d.r) + d.r;
  const float s = two_to(d.n - 1);
  const float y = 2.0f * (p * s + (s - 0.5f));
  return d.n == 0 ? (x == 0.0f ? x : p) : y;
}

FRL_INLINE float log(float x) {
  const float scaled = x < 1.17549435e-38f ? x * 8388608.0f : x;  // denormals
  const int32_t bias = x < 1.17549435e-38f ? -23 : 0;
  const uint32_t bits = as_bits(scaled);
  // The exponent such that the rest lies in [sqrt(1/2), sqrt(2)).
  const int32_t e = int32_t(bits - 0x3f3504f3u) >> 23;
  const float f = as_float(bits - (uint32_t(e) << 23)) - 1.0f;
  float q = -0.0790274377239f;
  q = q * f + 0.126223198492f;
  q = q * f - 0.129981837637f;
  q = q * f + 0.142144959239f;
  q = q * f - 0.166412814631f;
  q = q * f + 0.200010450942f;
  q = q * f - 0.250003064226f;
  q = q * f + 0.333333307282f;
  const float n = float(e + bias), square = f * f;
  const float y = n * 0.693145752f + (f + (n * 1.42860677e-6f + (square * f * q - 0.5f * square)));
  const float special = x == 0.0f ? -kInf : (x < 0.0f ? kNan : x);  // +inf and NaN are themselves
  return x > 0.0f && x < kInf ? y : special;
}
FRL_INLINE float log1p(float x) {
  const float u = 1.0f + x;
  const float lost = (x - (u - 1.0f)) / u;  // what rounding 1 + x lost
  const float y = log(u) + (u > 0.0f && u < kInf ? lost : 0.0f);
  return x == 0.0f ? x : y;
}

FRL_INLINE float sigmoid(float x) {
  const float e = exp(-magnitude(x));
  return (x >= 0.0f ? 1.0f : (x < 0.0f ? e : x)) / (1.0f + e);
}
FRL_INLINE float tanh(float x) {
  const float a = magnitude(x), s = x * x;
  float q = -0.00609671416532f;
  q = q * s + 0.0209971789985f;
  q = q * s - 0.0538509095784f;
  q = q * s + 0.133327697370f;
  q = q * s - 0.333333289441f;
  const float low = x * (1.0f + s * q);
  const float high = with_sign(1.0f - 2.0f / (exp(2.0f * (a > 20.0f ? 20.0f : a)) + 1.0f), x);
  return a < 0.625f ? low : high;
}

// exp(x^2) erfc(x), x >= 0: a polynomial in (x - 2) / (x + 2) over 1 + 2 x, with one division.
FRL_INLINE float erfcx(float x) {
  const float a = x + 2.0f, b = 1.0f + 2.0f * x, r = 1.0f / (a * b);
  const float u = (x - 2.0f) * b * r;
  float q = -2.01089311892e-5f;
  q = q * u + 6.31001854588e-5f;
  q = q * u + 0.000221105452495f;
  q = q * u - 0.000357177892463f;
  q = q * u - 0.00146351167017f;
  q = q * u + 0.00121666549602f;
  q = q * u + 0.00872429453798f;
  q = q * u - 0.00801863569218f;
  q = q * u - 0.0542201860511f;
  q = q * u + 0.164049395351f;
  q = q * u - 0.166030391287f;
  q = q * u - 0.0927637598135f;
  q = q * u + 1.27697838155f;
  return q * (a * r);
}
// exp(-x^2), with the square known to twice the precision: its error would be the result's.
FRL_INLINE float exp_of_minus_square(float x) {
  const float high = as_float(as_bits(x) & 0xfffff000u);  // its square is exact
  return exp_sum(-high * high, -(x - high) * (x + high));
}
FRL_INLINE float erf(float x) {
  const float a = magnitude(x), s = x * x;
  float q = 7.87587506268e-5f;
  q = q * s - 0.000801686428716f;
  q = q * s + 0.00518908742343f;
  q = q * s - 0.0268542120106f;
  q = q * s + 0.112835947152f;
  q = q * s - 0.376126266667f;
  q = q * s + 0.128379165849f;
  const float low = x + x * q;
  const float c = a > 4.0f ? 4.0f : a;  // beyond, erf is 1
  const float high = with_sign(1.0f - exp_of_minus_square(c) * erfcx(c), x);
  return a < 1.0f ? low : (x != x ? x : high);
}
// a Phi(a): the lower tail through erfcx, so that it keeps its digits.
FRL_INLINE float gelu(float a) {
  const float m = magnitude(a), c = m > 15.0f ? 15.0f : m;
  const float z = c * 0.707106781f;
  // exp(-a^2 / 2) from the exact square of a's head, as in exp_of_minus_square.
  const float head = as_float(as_bits(c) & 0xfffff000u);
  const float e = exp_sum(-0.5f * (head * head), -0.5f * ((c - head) * (c + head)));
  const float tail = 0.5f * e * erfcx(z);
  const float y = a * (a < 0.0f ? tail : 1.0f - tail);
  return a == kInf ? a : (a != a ? a : y);
}
// a sigmoid(2 u); u in double, because its error grows with its size.
FRL_INLINE float gelu_tanh(float a) {
  const double w = double(a);
  const double t = 2.0 * 0.79788456080286535588 * (w + 0.044715 * w * w * w);
  const float m = float(t < 0 ? t : -t);
  const float c = m < -110.0f ? -110.0f : m;
  const float low = m < -110.0f ? 0.0f : float((t < 0 ? t : -t) - double(m));
  const float e = exp_sum(c, low);
  const float y = a * ((a < 0.0f ? e : 1.0f) / (1.0f + e));
  return a != a ? a : y;
}
FRL_INLINE float silu(float a) { return a * sigmoid(a); }
FRL_INLINE float softplus(float a) {
  // log1p of e in (0, 1]: nothing special but a NaN, which e already is.
  const float e = exp(-magnitude(a)), u = 1.0f + e;
  return (a > 0.0f ? a : 0.0f) + (log(u) + (e - (u - 1.0f)) / u);
}
// a tanh(softplus(a)) = a n / (n + 2), n = e^a (e^a + 2).
FRL_INLINE float mish(float a) {
  const float e = exp(a > 20.0f ? 20.0f : a);
  const float n = e * (e + 2.0f);
  return a > 20.0f ? a : a * (n / (n + 2.0f));
}

}  // namespace FRL_ISA
}  // namespace cpu
