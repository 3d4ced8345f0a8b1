// Every POINTWISE op against the C library in double, on each instruction set, with special values.
#include "tests/cpu/cpu_test.h"

namespace {
using namespace host;

struct Unary {
  uint32_t op;
  double (*f)(double a, double p0, double p1);
  double low, high;  // of random operands
  double p0, p1;
  double slack = 0;
};
double relu(double a) { return a > 0 ? a : (a == a ? 0 : a); }
double sigmoid(double a) { return 1 / (1 + std::exp(-a)); }
double softplus(double a) { return relu(a) + std::log1p(std::exp(-std::fabs(a))); }
#define F [](double a, [[maybe_unused]] double p0, [[maybe_unused]] double p1) -> double
const Unary kUnary[] = {{FRL_OP_identity, F{return a;
}  // namespace
, -9, 9, 0, 0
}
, {FRL_OP_neg, F{return -a;
}
, -9, 9, 0, 0
}
, {FRL_OP_abs, F{return std::fabs(a);
}
, -9, 9, 0, 0
}
, {FRL_OP_sign, F{return a > 0 ? 1 : a < 0 ? -1 : a;
}
, -9, 9, 0, 0
}
, {FRL_OP_reciprocal, F{return 1 / a;
}
, -9, 9, 0, 0
}
, {FRL_OP_floor, F{return std::floor(a);
}
, -9, 9, 0, 0
}
, {FRL_OP_ceil, F{return std::ceil(a);
}
, -9, 9, 0, 0
}
, {FRL_OP_round, F{return std::rint(a);
}
, -9, 9, 0, 0
}
, {FRL_OP_sqrt, F{return std::sqrt(a);
}
, -1, 99, 0, 0
}
, {FRL_OP_rsqrt, F{return 1 / std::sqrt(a);
}
, -1, 99, 0, 0
}
, {FRL_OP_exp, F{return std::exp(a);
}
, -110, 95, 0, 0
}
, {FRL_OP_expm1, F{return std::expm1(a);
}
, -30, 95, 0, 0
}
, {FRL_OP_expm1, F{return std::expm1(a);
}
, -2, 2, 0, 0
}
, {FRL_OP_log, F{return std::log(a);
}
, -0.1, 9, 0, 0
}
, {FRL_OP_log, F{return std::log(a);
}
, 0.9, 1.1, 0, 0
}
, {FRL_OP_log1p, F{return std::log1p(a);
}
, -1.1, 9, 0, 0
}
, {FRL_OP_log1p, F{return std::log1p(a);
}
, -1e-3, 1e-3, 0, 0
}
, {FRL_OP_sin, F{return std::sin(a);
}
, -100, 100, 0, 0
}
, {FRL_OP_cos, F{return std::cos(a);
}
, -100, 100, 0, 0
}
, {FRL_OP_sin, F{return std::sin(a);
}
, -1e12, 1e12, 0, 0
}
, {FRL_OP_tan, F{return std::tan(a);
}
, -9, 9, 0, 0
}
, {FRL_OP_asin, F{return std::asin(a);
}
, -1.1, 1.1, 0, 0
}
, {FRL_OP_acos, F{return std::acos(a);
}
, -1.1, 1.1, 0, 0
}
, {FRL_OP_atan, F{return std::atan(a);
}
, -9, 9, 0, 0
}
, {FRL_OP_sinh, F{return std::sinh(a);
}
, -9, 95, 0, 0
}
, {FRL_OP_cosh, F{return std::cosh(a);
}
, -95, 9, 0, 0
}
, {FRL_OP_tanh, F{return std::tanh(a);
}
, -11, 11, 0, 0
}
, {FRL_OP_tanh, F{return std::tanh(a);
}
, -1, 1, 0, 0
}
, {FRL_OP_asinh, F{return std::asinh(a);
}
, -9, 9, 0, 0
}
, {FRL_OP_acosh, F{return std::acosh(a);
}
, 0.9, 9, 0, 0
}
, {FRL_OP_atanh, F{return std::atanh(a);
}
, -1.1, 1.1, 0, 0
}
, {FRL_OP_erf, F{return std::erf(a);
}
, -5, 5, 0, 0
}
, {FRL_OP_erf, F{return std::erf(a);
}
, -1e-3, 1e-3, 0, 0
}
, {FRL_OP_sigmoid, F{return sigmoid(a);
}
, -110, 30, 0, 0
}
, {FRL_OP_relu, F{return relu(a);
}
, -9, 9, 0, 0
}
, {FRL_OP_leaky_relu, F{return a < 0 ? p0 * a : a;
}
, -9, 9, 0.125, 0
}
, {FRL_OP_elu, F{return a < 0 ? p0 * std::expm1(a) : a;
}
, -9, 9, 1.5, 0
}
, {FRL_OP_selu, F{return p1 * (a < 0 ? p0 * std::expm1(a) : a);
}
, -9, 9, 1.67326319217681884765625, 1.05070102214813232421875
}
, {FRL_OP_celu, F{return a < 0 ? p0 * std::expm1(a / p0) : a;
}
, -9, 9, 2, 0
}
, {FRL_OP_softplus, F{return softplus(a);
}
, -30, 30, 0, 0
}
, {FRL_OP_softsign, F{return a / (1 + std::fabs(a));
}
, -9, 9, 0, 0
}
, {FRL_OP_hard_sigmoid, F{return std::isnan(a) ? a : std::min(std::max(p0 * a + p1, 0.0), 1.0);
}
, -9, 9, 0.25, 0.5
}
, {FRL_OP_hard_swish, F{return std::isnan(a) ? a : a * std::min(std::max(a + 3, 0.0), 6.0) / 6;
}
, -9, 9, 0, 0
}
, {FRL_OP_mish,
   F{return std::isnan(a) ? a
                          : a * std::tanh((a > 0 ? a : 0) + std::log1p(std::exp(-std::fabs(a))));
}
, -30, 30, 0, 0
}
, {FRL_OP_silu, F{return a / (1 + std::exp(-a));
}
, -80, 30, 0, 0
}
, {FRL_OP_gelu, F{return a == INFINITY ? a : 0.5 * a * std::erfc(-a * 0.70710678118654752440);
}
, -12, 12, 0, 0
}
, {FRL_OP_gelu_tanh,
   F{return a / (1 + std::exp(-1.59576912160573071176 * (a + 0.044715 * a * a * a)));
}
, -9, 9, 0, 0
}
, {FRL_OP_thresholded_relu, F{return a > p0 ? a : (a == a ? 0 : a);
}
, -9, 9, 1, 0
}
, {FRL_OP_shrink, F{return a < -p0 ? a + p1 : (a > p0 ? a - p1 : (a == a ? 0 : a));
}
, -9, 9, 0.5, 0.25
}
,
}
;

Tensor with_specials(int type, uint32_t seed, double low, double high) {
  Tensor t = random(type, {3001}, seed, low, high);
  const double special[] = {0.0,   -0.0,   INFINITY, -INFINITY, NAN,   1,    -1,
                            1e-30, -1e-30, 1e30,     -1e30,     3e-41, 88.7, -88.7};
  for (size_t i = 0; i < std::size(special); ++i) t.set(int64_t(i * 7), special[i]);
  return t;
}

class OnIsa : public testing::TestWithParam<std::string> {};

TEST_P(OnIsa, unary_f32_is_within_4_ulp) {
  for (const Unary& u : kUnary) {
    const Tensor x = with_specials(FRL_F32, 7, u.low, u.high);
    const Result r = run_pointwise(cpu(GetParam()), u.op, {Attribute(u.p0), Attribute(u.p1)}, {x},
                                   Tensor(FRL_F32, x.shape));
    ASSERT_EQ(r.error, "");
    EXPECT_TRUE(near(
        r.outputs[0], [&](int64_t i) { return u.f(x.at(i), u.p0, u.p1); }, 4, u.slack))
        << "op " << u.op;
  }
}

TEST_P(OnIsa, unary_f64_and_16_bits) {
  for (int type : {FRL_F64, FRL_F16, FRL_BF16}) {
    for (const Unary& u : kUnary) {
      const Tensor x = with_specials(type, 9, u.low, u.high);
      // The formula's own conditioning: its exponent is known to one part in 2^53.
      const double tolerance = type != FRL_F64 ? 1 : u.op == FRL_OP_gelu_tanh ? 200 : 4;
      const Result r = run_pointwise(cpu(GetParam()), u.op, {Attribute(u.p0), Attribute(u.p1)}, {x},
                                     Tensor(type, x.shape));
      ASSERT_EQ(r.error, "");
      EXPECT_TRUE(near(
          r.outputs[0], [&](int64_t i) { return u.f(x.at(i), u.p0, u.p1); }, tolerance, u.slack))
          << "op " << u.op << " type " << type;
    }
  }
}

struct Binary {
  uint32_t op;
  double (*f)(double a, double b);
};
double mod(double a, double b) {
  const double r = std::fmod(a, b);
  if (r == 0) return std::copysign(r, b);
  return (r < 0) != (b < 0) ? r + b : r;
}
#define G [](double a, double b) -> double
const Binary kBinary[] = {{FRL_OP_add, G{return a + b;
}
}
, {FRL_OP_sub, G{return a - b;
}
}
, {FRL_OP_mul, G{return a * b;
}
}
, {FRL_OP_div, G{return a / b;
}
}
, {FRL_OP_mod, mod}, {FRL_OP_fmod, G{return std::fmod(a, b);
}
}
, {FRL_OP_pow, G{return std::pow(a, b);
}
}
, {FRL_OP_max, G{return a > b || a != a ? a : b;
}
}
, {FRL_OP_min, G{return a < b || a != a ? a : b;
}
}
, {FRL_OP_prelu, G{return a < 0 ? a * b : a;
}
}
,
}
;
const Binary kTests[] = {{FRL_OP_less, G{return a < b;
}
}
, {FRL_OP_less_equal, G{return a <= b;
}
}
, {FRL_OP_greater, G{return a > b;
}
}
, {FRL_OP_greater_equal, G{return a >= b;
}
}
, {FRL_OP_equal, G{return a == b;
}
}
, {FRL_OP_not_equal, G{return a != b;
}
}
,
}
;

TEST_P(OnIsa, binary_floats_with_every_pair_of_specials) {
  const double s[] = {0.0, -0.0, INFINITY, -INFINITY, NAN,  1,    -1,  2,
                      -2,  3,    -3,       0.5,       -0.5, 1e30, 7.25};
  const int n = std::size(s);
  for (int type : {FRL_F32, FRL_F64, FRL_F16, FRL_BF16}) {
    Tensor a(type, {n * n}), b(type, {n * n});
    for (int i = 0; i < n * n; ++i) a.set(i, s[i / n]), b.set(i, s[i % n]);
    for (const Binary& o : kBinary) {
      const Result r = run_pointwise(cpu(GetParam()), o.op, {}, {a, b}, Tensor(type, a.shape));
      ASSERT_EQ(r.error, "");
      EXPECT_TRUE(near(
          r.outputs[0], [&](int64_t i) { return o.f(a.at(i), b.at(i)); }, 1))
          << "op " << o.op << " type " << type;
    }
    for (const Binary& o : kTests) {
      const Result r = run_pointwise(cpu(GetParam()), o.op, {}, {a, b}, Tensor(FRL_BOOL, a.shape));
      ASSERT_EQ(r.error, "");
      EXPECT_TRUE(near(
          r.outputs[0], [&](int64_t i) { return o.f(a.at(i), b.at(i)); }, 0))
          << "op " << o.op << " type " << type;
    }
  }
}

TEST_P(OnIsa, pow_f32_random) {
  const Tensor a = random(FRL_F32, {4000}, 1, 0, 30), b = random(FRL_F32, {4000}, 2, -20, 20);
  const Result r = run_pointwise(cpu(GetParam()), FRL_OP_pow, {}, {a, b}, Tensor(FRL_F32, a.shape));
  EXPECT_TRUE(near(
      r.outputs[0], [&](int64_t i) { return std::pow(a.at(i), b.at(i)); }, 1));
}

INSTANTIATE_TEST_SUITE_P(Isas, OnIsa, testing::Values(FRL_CPU_SETS),
                         [](const auto& i) { return i.param; });

}  // namespace
