// Tile loops of the POINTWISE ops with one operand.
#include "plugin-api/frl_plugin.h"
#include "plugins/cpu/isa/tiles.h"

namespace cpu {
namespace FRL_ISA {
namespace {

// An op is a struct with f(a, p0, p1), for each type that it has a column for.
#define OP(name, expression)                                                   \
  struct name {                                                                \
    template <class T>                                                         \
    static FRL_INLINE T f(T a, [[maybe_unused]] T p0, [[maybe_unused]] T p1) { \
      return static_cast<T>(expression);                                       \
    }                                                                          \
  }
OP(Identity, a);
OP(Neg, static_cast<T>(Wrap<T>(0) - static_cast<Wrap<T>>(a)));
struct NegFloat {
  template <class T>
  static FRL_INLINE T f(T a, T, T) {
    return -a;
  }
};
struct Abs {
  static FRL_INLINE float f(float a, float, float) { return magnitude(a); }
  static FRL_INLINE double f(double a, double, double) { return __builtin_fabs(a); }
  template <class T>
  static FRL_INLINE T f(T a, T, T) {
    return a < 0 ? static_cast<T>(Wrap<T>(0) - static_cast<Wrap<T>>(a)) : a;
  }
};
OP(Sign, a > 0 ? T(1) : (a < 0 ? T(-1) : a));
OP(Reciprocal, T(1) / a);
OP(Exp, exp(a));
OP(Expm1, expm1(a));
OP(Log, log(a));
OP(Log1p, log1p(a));
OP(Sin, sin(a));
OP(Cos, cos(a));
OP(Tan, tan(a));
OP(Asin, asin(a));
OP(Acos, acos(a));
OP(Atan, atan(a));
OP(Sinh, sinh(a));
OP(Cosh, cosh(a));
OP(Tanh, tanh(a));
OP(Asinh, asinh(a));
OP(Acosh, acosh(a));
OP(Atanh, atanh(a));
OP(Erf, erf(a));
OP(Sigmoid, sigmoid(a));
OP(Relu, a > 0 ? a : (a == a ? T(0) : a));
OP(LeakyRelu, a < 0 ? p0 * a : a);
OP(Elu, a < 0 ? p0 * expm1(a) : a);
OP(Selu, p1*(a < 0 ? p0 * expm1(a) : a));
OP(Celu, a < 0 ? p0 * expm1(a / p0) : a);
OP(Softplus, softplus(a));
OP(Softsign, a - a == 0 ? a / (T(1) + magnitude(a)) : (a != a ? a : a / (T(1) + magnitude(a))));
OP(HardSwish, a*(a + 3 < 0 ? T(0) : (a + 3 > 6 ? T(6) : a + 3)) / 6);
OP(Mish, mish(a));
OP(Silu, silu(a));
OP(Gelu, gelu(a));
OP(GeluTanh, gelu_tanh(a));
OP(BitNot, static_cast<T>(~a));
OP(Not, !a);
#undef OP
// In f64: near the roots of these, f32 attributes would show.
struct HardSigmoid {
  template <class T>
  static FRL_INLINE T f(T a, double p0, double p1) {
    const double y = p0 * static_cast<double>(a) + p1;
    return static_cast<T>(y < 0 ? 0 : (y > 1 ? 1 : y));
  }
};
struct Shrink {
  template <class T>
  static FRL_INLINE T f(T a, double p0, double p1) {
    const double x = static_cast<double>(a);
    return static_cast<T>(x < -p0 ? x + p1 : (x > p0 ? x - p1 : (x == x ? 0 : x)));
  }
};
struct ThresholdedRelu {
  template <class T>
  static FRL_INLINE T f(T a, double p0, double) {
    return static_cast<double>(a) > p0 ? a : (a == a ? T(0) : a);
  }
};
template <class Op, class T>
void precise_loop(void* dst, const void* a, const void*, const void*, int64_t n, const double* p) {
  const T* x = static_cast<const T*>(a);
  T* y = static_cast<T*>(dst);
  const double p0 = p[0], p1 = p[1];
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = Op::f(x[i], p0, p1);
}
template <class Op>
constexpr TileRow precise(uint32_t op) {
  return {op, {precise_loop<Op, double>, precise_loop<Op, float>}};
}
struct Floor {
  static FRL_INLINE float f(float a, float, float) { return __builtin_floorf(a); }
  static FRL_INLINE double f(double a, double, double) { return __builtin_floor(a); }
};
struct Ceil {
  static FRL_INLINE float f(float a, float, float) { return __builtin_ceilf(a); }
  static FRL_INLINE double f(double a, double, double) { return __builtin_ceil(a); }
};
struct Round {
  static FRL_INLINE float f(float a, float, float) { return __builtin_rintf(a); }
  static FRL_INLINE double f(double a, double, double) { return __builtin_rint(a); }
};
struct Sqrt {
  static FRL_INLINE float f(float a, float, float) { return __builtin_sqrtf(a); }
  static FRL_INLINE double f(double a, double, double) { return __builtin_sqrt(a); }
};
struct Rsqrt {
  static FRL_INLINE float f(float a, float, float) { return 1.0f / __builtin_sqrtf(a); }
  static FRL_INLINE double f(double a, double, double) { return 1.0 / __builtin_sqrt(a); }
};
struct IsNan {
  template <class T>
  static FRL_INLINE bool f(T a, T, T) {
    return a != a;
  }
};
struct IsInf {
  template <class T>
  static FRL_INLINE bool f(T a, T p0, T p1) {
    return ((p0 != 0) & (a == T(-kInf))) | ((p1 != 0) & (a == T(kInf)));
  }
};

// sin and cos of huge arguments need a longer pi than the vector loop has.
template <class Op, double (*exact)(double)>
void trig_loop(void* dst, const void* a, const void* b, const void* c, int64_t n, const double* p) {
  const float* x = static_cast<const float*>(a);
  bool huge = false;
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) huge |= magnitude(x[i]) > kTrigLimit;
  if (!huge) return unary_loop<Op, float>(dst, a, b, c, n, p);
  for (int64_t i = 0; i < n; ++i)
    static_cast<float*>(dst)[i] = static_cast<float>(exact(static_cast<double>(x[i])));
}

template <class Op, class T = Op>
constexpr TileRow floats(uint32_t op) {
  return {op, {unary_loop<Op, double>, unary_loop<Op, float>}};
}
template <class Op>
constexpr TileRow float_tests(uint32_t op) {
  return {op, {unary_loop<Op, double, bool>, unary_loop<Op, float, bool>}};
}
template <class Op, class OfFloat = Op>
constexpr TileRow numbers(uint32_t op) {
  return {op,
          {unary_loop<OfFloat, double>, unary_loop<OfFloat, float>, unary_loop<Op, int8_t>,
           unary_loop<Op, int16_t>, unary_loop<Op, int32_t>, unary_loop<Op, int64_t>,
           unary_loop<Op, uint8_t>, unary_loop<Op, uint16_t>, unary_loop<Op, uint32_t>,
           unary_loop<Op, uint64_t>}};
}
// Of bool: what it is of its byte, or `OfBool`.
template <class Op, class OfBool>
constexpr TileRow with_bool(TileRow row) {
  row.by_work[kWorkBool] = unary_loop<OfBool, uint8_t>;
  return row;
}
constexpr TileRow bits() {
  return {FRL_OP_bit_not,
          {nullptr, nullptr, unary_loop<BitNot, uint8_t>, unary_loop<BitNot, uint16_t>,
           unary_loop<BitNot, uint32_t>, unary_loop<BitNot, uint64_t>, unary_loop<BitNot, uint8_t>,
           unary_loop<BitNot, uint16_t>, unary_loop<BitNot, uint32_t>, unary_loop<BitNot, uint64_t>,
           unary_loop<Not, uint8_t>}};
}
constexpr TileRow trig(TileRow row, TileFn f32) {
  row.by_work[kWorkF32] = f32;
  return row;
}
double exact_sin(double x) { return ::sin(x); }
double exact_cos(double x) { return ::cos(x); }

constexpr TileRow kRows[] = {
    with_bool<Identity, Identity>(numbers<Identity>(FRL_OP_identity)),
    numbers<Neg, NegFloat>(FRL_OP_neg),
    numbers<Abs>(FRL_OP_abs),
    numbers<Sign>(FRL_OP_sign),
    floats<Reciprocal>(FRL_OP_reciprocal),
    floats<Floor>(FRL_OP_floor),
    floats<Ceil>(FRL_OP_ceil),
    floats<Round>(FRL_OP_round),
    floats<Sqrt>(FRL_OP_sqrt),
    floats<Rsqrt>(FRL_OP_rsqrt),
    floats<Exp>(FRL_OP_exp),
    floats<Expm1>(FRL_OP_expm1),
    floats<Log>(FRL_OP_log),
    floats<Log1p>(FRL_OP_log1p),
    trig(floats<Sin>(FRL_OP_sin), trig_loop<Sin, exact_sin>),
    trig(floats<Cos>(FRL_OP_cos), trig_loop<Cos, exact_cos>),
    floats<Tan>(FRL_OP_tan),
    floats<Asin>(FRL_OP_asin),
    floats<Acos>(FRL_OP_acos),
    floats<Atan>(FRL_OP_atan),
    floats<Sinh>(FRL_OP_sinh),
    floats<Cosh>(FRL_OP_cosh),
    floats<Tanh>(FRL_OP_tanh),
    floats<Asinh>(FRL_OP_asinh),
    floats<Acosh>(FRL_OP_acosh),
    floats<Atanh>(FRL_OP_atanh),
    floats<Erf>(FRL_OP_erf),
    floats<Sigmoid>(FRL_OP_sigmoid),
    numbers<Relu>(FRL_OP_relu),
    floats<LeakyRelu>(FRL_OP_leaky_relu),
    floats<Elu>(FRL_OP_elu),
    floats<Selu>(FRL_OP_selu),
    floats<Celu>(FRL_OP_celu),
    floats<Softplus>(FRL_OP_softplus),
    floats<Softsign>(FRL_OP_softsign),
    precise<HardSigmoid>(FRL_OP_hard_sigmoid),
    floats<HardSwish>(FRL_OP_hard_swish),
    floats<Mish>(FRL_OP_mish),
    floats<Silu>(FRL_OP_silu),
    floats<Gelu>(FRL_OP_gelu),
    floats<GeluTanh>(FRL_OP_gelu_tanh),
    precise<ThresholdedRelu>(FRL_OP_thresholded_relu),
    precise<Shrink>(FRL_OP_shrink),
    float_tests<IsNan>(FRL_OP_is_nan),
    float_tests<IsInf>(FRL_OP_is_inf),
    with_bool<Not, Not>({FRL_OP_logical_not, {}}),
    bits(),
};

}  // namespace

TileFn find_unary(uint32_t op, Work work) {
  return find_tile(kRows, sizeof kRows / sizeof *kRows, op, work);
}

}  // namespace FRL_ISA
}  // namespace cpu
