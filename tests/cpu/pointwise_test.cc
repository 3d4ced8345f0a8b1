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
const Unary kUnary[] = {
    {FRL_OP_identity, F { return a; }, -9, 9, 0, 0},
    {FRL_OP_neg, F { return -a; }, -9, 9, 0, 0},
    {FRL_OP_abs, F { return std::fabs(a); }, -9, 9, 0, 0},
    {FRL_OP_sign, F { return a > 0 ? 1 : a < 0 ? -1 : a; }, -9, 9, 0, 0},
    {FRL_OP_reciprocal, F { return 1 / a; }, -9, 9, 0, 0},
    {FRL_OP_floor, F { return std::floor(a); }, -9, 9, 0, 0},
    {FRL_OP_ceil, F { return std::ceil(a); }, -9, 9, 0, 0},
    {FRL_OP_round, F { return std::rint(a); }, -9, 9, 0, 0},
    {FRL_OP_sqrt, F { return std::sqrt(a); }, -1, 99, 0, 0},
    {FRL_OP_rsqrt, F { return 1 / std::sqrt(a); }, -1, 99, 0, 0},
    {FRL_OP_exp, F { return std::exp(a); }, -110, 95, 0, 0},
    {FRL_OP_expm1, F { return std::expm1(a); }, -30, 95, 0, 0},
    {FRL_OP_expm1, F { return std::expm1(a); }, -2, 2, 0, 0},
    {FRL_OP_log, F { return std::log(a); }, -0.1, 9, 0, 0},
    {FRL_OP_log, F { return std::log(a); }, 0.9, 1.1, 0, 0},
    {FRL_OP_log1p, F { return std::log1p(a); }, -1.1, 9, 0, 0},
    {FRL_OP_log1p, F { return std::log1p(a); }, -1e-3, 1e-3, 0, 0},
    {FRL_OP_sin, F { return std::sin(a); }, -100, 100, 0, 0},
    {FRL_OP_cos, F { return std::cos(a); }, -100, 100, 0, 0},
    {FRL_OP_sin, F { return std::sin(a); }, -1e12, 1e12, 0, 0},
    {FRL_OP_tan, F { return std::tan(a); }, -9, 9, 0, 0},
    {FRL_OP_asin, F { return std::asin(a); }, -1.1, 1.1, 0, 0},
    {FRL_OP_acos, F { return std::acos(a); }, -1.1, 1.1, 0, 0},
    {FRL_OP_atan, F { return std::atan(a); }, -9, 9, 0, 0},
    {FRL_OP_sinh, F { return std::sinh(a); }, -9, 95, 0, 0},
    {FRL_OP_cosh, F { return std::cosh(a); }, -95, 9, 0, 0},
    {FRL_OP_tanh, F { return std::tanh(a); }, -11, 11, 0, 0},
    {FRL_OP_tanh, F { return std::tanh(a); }, -1, 1, 0, 0},
    {FRL_OP_asinh, F { return std::asinh(a); }, -9, 9, 0, 0},
    {FRL_OP_acosh, F { return std::acosh(a); }, 0.9, 9, 0, 0},
    {FRL_OP_atanh, F { return std::atanh(a); }, -1.1, 1.1, 0, 0},
    {FRL_OP_erf, F { return std::erf(a); }, -5, 5, 0, 0},
    {FRL_OP_erf, F { return std::erf(a); }, -1e-3, 1e-3, 0, 0},
    {FRL_OP_sigmoid, F { return sigmoid(a); }, -110, 30, 0, 0},
    {FRL_OP_relu, F { return relu(a); }, -9, 9, 0, 0},
    {FRL_OP_leaky_relu, F { return a < 0 ? p0 * a : a; }, -9, 9, 0.125, 0},
    {FRL_OP_elu, F { return a < 0 ? p0 * std::expm1(a) : a; }, -9, 9, 1.5, 0},
    {FRL_OP_selu, F { return p1 * (a < 0 ? p0 * std::expm1(a) : a); }, -9, 9, 1.67326319217681884765625, 1.05070102214813232421875},
    {FRL_OP_celu, F { return a < 0 ? p0 * std::expm1(a / p0) : a; }, -9, 9, 2, 0},
    {FRL_OP_softplus, F { return softplus(a); }, -30, 30, 0, 0},
    {FRL_OP_softsign, F { return a / (1 + std::fabs(a)); }, -9, 9, 0, 0},
    {FRL_OP_hard_sigmoid, F { return std::isnan(a) ? a : std::min(std::max(p0 * a + p1, 0.0), 1.0); }, -9, 9, 0.25, 0.5},
    {FRL_OP_hard_swish, F { return std::isnan(a) ? a : a * std::min(std::max(a + 3, 0.0), 6.0) / 6; }, -9, 9, 0, 0},
    {FRL_OP_mish, F { return std::isnan(a) ? a : a * std::tanh((a > 0 ? a : 0) + std::log1p(std::exp(-std::fabs(a)))); }, -30, 30, 0, 0},
    {FRL_OP_silu, F { return a / (1 + std::exp(-a)); }, -80, 30, 0, 0},
    {FRL_OP_gelu, F { return a == INFINITY ? a : 0.5 * a * std::erfc(-a * 0.70710678118654752440); }, -12, 12, 0, 0},
    {FRL_OP_gelu_tanh, F { return a / (1 + std::exp(-1.59576912160573071176 * (a + 0.044715 * a * a * a))); }, -9, 9, 0, 0},
    {FRL_OP_thresholded_relu, F { return a > p0 ? a : (a == a ? 0 : a); }, -9, 9, 1, 0},
    {FRL_OP_shrink, F { return a < -p0 ? a + p1 : (a > p0 ? a - p1 : (a == a ? 0 : a)); }, -9, 9, 0.5, 0.25},
};

Tensor with_specials(int type, uint32_t seed, double low, double high) {
  Tensor t = random(type, {3001}, seed, low, high);
  const double special[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1, -1, 1e-30, -1e-30, 1e30, -1e30, 3e-41, 88.7, -88.7};
  for (size_t i = 0; i < std::size(special); ++i) t.set(int64_t(i * 7), special[i]);
  return t;
}

class OnIsa : public testing::TestWithParam<std::string> {};

TEST_P(OnIsa, unary_f32_is_within_4_ulp) {
  for (const Unary& u : kUnary) {
    const Tensor x = with_specials(FRL_F32, 7, u.low, u.high);
    const Result r = run_pointwise(cpu(GetParam()), u.op, {Attribute(u.p0), Attribute(u.p1)}, {x}, Tensor(FRL_F32, x.shape));
    ASSERT_EQ(r.error, "");
    EXPECT_TRUE(near(r.outputs[0], [&](int64_t i) { return u.f(x.at(i), u.p0, u.p1); }, 4, u.slack)) << "op " << u.op;
  }
}

TEST_P(OnIsa, unary_f64_and_16_bits) {
  for (int type : {FRL_F64, FRL_F16, FRL_BF16}) {
    for (const Unary& u : kUnary) {
      const Tensor x = with_specials(type, 9, u.low, u.high);
      // The formula's own conditioning: its exponent is known to one part in 2^53.
      const double tolerance = type != FRL_F64 ? 1 : u.op == FRL_OP_gelu_tanh ? 200 : 4;
      const Result r = run_pointwise(cpu(GetParam()), u.op, {Attribute(u.p0), Attribute(u.p1)}, {x}, Tensor(type, x.shape));
      ASSERT_EQ(r.error, "");
      EXPECT_TRUE(near(r.outputs[0], [&](int64_t i) { return u.f(x.at(i), u.p0, u.p1); }, tolerance, u.slack))
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
const Binary kBinary[] = {
    {FRL_OP_add, G { return a + b; }}, {FRL_OP_sub, G { return a - b; }}, {FRL_OP_mul, G { return a * b; }},
    {FRL_OP_div, G { return a / b; }}, {FRL_OP_mod, mod}, {FRL_OP_fmod, G { return std::fmod(a, b); }},
    {FRL_OP_pow, G { return std::pow(a, b); }}, {FRL_OP_max, G { return a > b || a != a ? a : b; }},
    {FRL_OP_min, G { return a < b || a != a ? a : b; }}, {FRL_OP_prelu, G { return a < 0 ? a * b : a; }},
};
const Binary kTests[] = {
    {FRL_OP_less, G { return a < b; }}, {FRL_OP_less_equal, G { return a <= b; }}, {FRL_OP_greater, G { return a > b; }},
    {FRL_OP_greater_equal, G { return a >= b; }}, {FRL_OP_equal, G { return a == b; }}, {FRL_OP_not_equal, G { return a != b; }},
};

TEST_P(OnIsa, binary_floats_with_every_pair_of_specials) {
  const double s[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1, -1, 2, -2, 3, -3, 0.5, -0.5, 1e30, 7.25};
  const int n = std::size(s);
  for (int type : {FRL_F32, FRL_F64, FRL_F16, FRL_BF16}) {
    Tensor a(type, {n * n}), b(type, {n * n});
    for (int i = 0; i < n * n; ++i) a.set(i, s[i / n]), b.set(i, s[i % n]);
    for (const Binary& o : kBinary) {
      const Result r = run_pointwise(cpu(GetParam()), o.op, {}, {a, b}, Tensor(type, a.shape));
      ASSERT_EQ(r.error, "");
      EXPECT_TRUE(near(r.outputs[0], [&](int64_t i) { return o.f(a.at(i), b.at(i)); }, 1)) << "op " << o.op << " type " << type;
    }
    for (const Binary& o : kTests) {
      const Result r = run_pointwise(cpu(GetParam()), o.op, {}, {a, b}, Tensor(FRL_BOOL, a.shape));
      ASSERT_EQ(r.error, "");
      EXPECT_TRUE(near(r.outputs[0], [&](int64_t i) { return o.f(a.at(i), b.at(i)); }, 0)) << "op " << o.op << " type " << type;
    }
  }
}

TEST_P(OnIsa, pow_f32_random) {
  const Tensor a = random(FRL_F32, {4000}, 1, 0, 30), b = random(FRL_F32, {4000}, 2, -20, 20);
  const Result r = run_pointwise(cpu(GetParam()), FRL_OP_pow, {}, {a, b}, Tensor(FRL_F32, a.shape));
  EXPECT_TRUE(near(r.outputs[0], [&](int64_t i) { return std::pow(a.at(i), b.at(i)); }, 1));
}

TEST_P(OnIsa, integers_wrap_and_divide_as_the_table_says) {
  Plugin& p = cpu(GetParam());
  const auto i8 = [&](uint32_t op, int a, int b) {
    return run_pointwise(p, op, {}, {of(FRL_I8, {1}, {double(a)}), of(FRL_I8, {1}, {double(b)})}, Tensor(FRL_I8, {1})).outputs[0].int_at(0);
  };
  EXPECT_EQ(i8(FRL_OP_add, 127, 1), -128);
  EXPECT_EQ(i8(FRL_OP_mul, 100, 3), 300 - 256);
  EXPECT_EQ(i8(FRL_OP_div, -7, 2), -3);
  EXPECT_EQ(i8(FRL_OP_div, 5, 0), 0);
  EXPECT_EQ(i8(FRL_OP_div, -128, -1), -128);
  EXPECT_EQ(i8(FRL_OP_mod, -7, 3), 2);
  EXPECT_EQ(i8(FRL_OP_mod, 7, -3), -2);
  EXPECT_EQ(i8(FRL_OP_mod, 7, 0), 0);
  EXPECT_EQ(i8(FRL_OP_fmod, -7, 3), -1);
  EXPECT_EQ(i8(FRL_OP_pow, 2, -1), 0);
  EXPECT_EQ(i8(FRL_OP_pow, -1, -3), -1);
  EXPECT_EQ(i8(FRL_OP_pow, 3, 4), 81);
  EXPECT_EQ(i8(FRL_OP_prelu, -3, 4), -12);
  EXPECT_EQ(i8(FRL_OP_bit_xor, 5, 3), 6);
  const auto u32 = [&](uint32_t op, double a, double b) {
    return run_pointwise(p, op, {}, {of(FRL_U32, {1}, {a}), of(FRL_U32, {1}, {b})}, Tensor(FRL_U32, {1})).outputs[0].int_at(0);
  };
  EXPECT_EQ(u32(FRL_OP_shift_left, 1, 31), 2147483648);
  EXPECT_EQ(u32(FRL_OP_shift_left, 1, 32), 0);
  EXPECT_EQ(u32(FRL_OP_shift_right, 4294967295.0, 40), 0);
  EXPECT_EQ(u32(FRL_OP_shift_right, 4294967295.0, 31), 1);
}

TEST_P(OnIsa, casts_saturate_and_round_once) {
  Plugin& p = cpu(GetParam());
  const auto cast = [&](int from, double v, int to) {
    return run_pointwise(p, FRL_OP_cast, {Attribute(to)}, {of(from, {1}, {v})}, Tensor(to, {1})).outputs[0];
  };
  EXPECT_EQ(cast(FRL_F32, 300.7, FRL_I8).int_at(0), 127);
  EXPECT_EQ(cast(FRL_F32, -1, FRL_U8).int_at(0), 0);
  EXPECT_EQ(cast(FRL_F32, NAN, FRL_I32).int_at(0), 0);
  EXPECT_EQ(cast(FRL_F32, 3e9, FRL_I32).int_at(0), 2147483647);
  EXPECT_EQ(cast(FRL_F32, -3e9, FRL_I32).int_at(0), -2147483648LL);
  EXPECT_EQ(cast(FRL_F64, 1e300, FRL_I64).int_at(0), INT64_MAX);
  EXPECT_EQ(cast(FRL_F64, -2.9, FRL_I64).int_at(0), -2);
  EXPECT_EQ(uint64_t(cast(FRL_F64, 1e300, FRL_U64).int_at(0)), UINT64_MAX);
  EXPECT_EQ(cast(FRL_F64, 2147483646.5, FRL_I32).int_at(0), 2147483646);
  EXPECT_EQ(cast(FRL_F32, NAN, FRL_BOOL).int_at(0), 1);
  EXPECT_EQ(cast(FRL_I32, 256, FRL_BOOL).int_at(0), 1);
  EXPECT_EQ(cast(FRL_BOOL, 1, FRL_F16).at(0), 1);
  EXPECT_EQ(cast(FRL_I32, 65520, FRL_F16).at(0), INFINITY);
  // Just above a tie of f16: through f32 it would fall back onto the tie.
  const double above = 1 + std::ldexp(1.0, -11) + std::ldexp(1.0, -40);
  EXPECT_EQ(cast(FRL_F64, above, FRL_F16).at(0), 1 + std::ldexp(1.0, -10));
  EXPECT_EQ(cast(FRL_I32, 4194304 * 4 + 32769 * 2, FRL_BF16).at(0), to_bits16(0, true) == 0 ? from_bits16(to_bits16(4194304 * 4 + 32769 * 2, true), true) : 0);
  for (int type : {FRL_F16, FRL_BF16}) {
    Tensor all(type, {65536});
    for (int64_t i = 0; i < 65536; ++i) all.as<uint16_t>()[i] = uint16_t(i);
    const Tensor wide = run_pointwise(p, FRL_OP_cast, {Attribute(FRL_F32)}, {all}, Tensor(FRL_F32, {65536})).outputs[0];
    EXPECT_TRUE(near(wide, [&](int64_t i) { return all.at(i); }, 0));
    const Tensor back = run_pointwise(p, FRL_OP_cast, {Attribute(type)}, {wide}, Tensor(type, {65536})).outputs[0];
    EXPECT_TRUE(near(back, [&](int64_t i) { return all.at(i); }, 0));
    const Tensor some = with_specials(FRL_F32, 3, -70000, 70000);
    const Tensor narrow = run_pointwise(p, FRL_OP_cast, {Attribute(type)}, {some}, Tensor(type, some.shape)).outputs[0];
    EXPECT_TRUE(near(narrow, [&](int64_t i) { return from_bits16(to_bits16(some.at(i), type == FRL_BF16), type == FRL_BF16); }, 0));
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, OnIsa, testing::Values("generic", "avx2", "avx512"),
                         [](const auto& i) { return i.param; });

// A chain with several outputs over every way to broadcast.
Shape strides_of(const Shape& shape) {
  Shape s(shape.size());
  int64_t at = 1;
  for (size_t d = shape.size(); d-- > 0; at *= shape[d]) s[d] = at;
  return s;
}
double at_broadcast(const Tensor& t, const Shape& shape, int64_t i) {
  const Shape s = strides_of(t.shape);
  int64_t at = 0;
  for (size_t d = shape.size(); d-- > 0; i /= shape[d]) {
    const int64_t k = int64_t(d) - int64_t(shape.size() - t.shape.size());
    if (k >= 0 && t.shape[size_t(k)] != 1) at += i % shape[d] * s[size_t(k)];
  }
  return t.at(at);
}
TEST(Pointwise, broadcasts_of_every_form) {
  const Shape shapes[] = {{2, 3, 5}, {4, 1, 300}, {7, 2, 700}, {3, 0, 4}, {1}, {}, {70000}};
  for (const Shape& shape : shapes) {
    std::vector<Shape> others{shape, {}, Shape(shape.size(), 1)};
    for (size_t d = 0; d < shape.size(); ++d) {
      Shape one = shape, only(shape.size(), 1);
      one[d] = 1, only[d] = shape[d];
      others.push_back(one), others.push_back(only);
      others.push_back(Shape(shape.begin() + int64_t(d), shape.end()));
    }
    for (const Shape& other : others) {
      const Tensor a = random(FRL_F32, shape, 1), c = random(FRL_F32, other, 2);
      const Result r = run_pointwise(cpu(), FRL_OP_sub, {}, {a, c}, Tensor(FRL_F32, shape));
      ASSERT_EQ(r.error, "");
      EXPECT_TRUE(near(r.outputs[0], [&](int64_t i) { return a.at(i) - at_broadcast(c, shape, i); }, 1));
    }
  }
}

TEST(Pointwise, several_outputs_literals_and_mixed_types) {
  for (uint32_t workers : {1u, 2u, 3u}) {
    Plugin& p = cpu("best", workers);
    const Shape shape{50, 1000};
    const Tensor x = random(FRL_F16, shape, 4), bias = random(FRL_F32, {1000}, 5);
    Block b;
    const uint32_t vx = b.value(FRL_F16, shape), vb = b.value(FRL_F32, {1000});
    const uint32_t wide = b.node1(FRL_OP_cast, {vx}, FRL_F32, shape, {Attribute(FRL_F32)});
    const uint32_t sum = b.node1(FRL_OP_add, {wide, vb}, FRL_F32, shape);
    const uint32_t half = b.literal(of(FRL_F32, {}, {0.5}));
    const uint32_t positive = b.node1(FRL_OP_greater, {sum, half}, FRL_BOOL, shape);
    const uint32_t chosen = b.node1(FRL_OP_select, {positive, sum, half}, FRL_F32, shape);
    const uint32_t narrow = b.node1(FRL_OP_cast, {chosen}, FRL_BF16, shape, {Attribute(FRL_BF16)});
    frl_kernel* k = p.compile(b.finish(FRL_OP_pointwise, {vx, vb}, {sum, positive, narrow}));
    ASSERT_TRUE(k) << p.error.text;
    Tensor y0(FRL_F32, shape), y1(FRL_BOOL, shape), y2(FRL_BF16, shape);
    ASSERT_EQ(p.run(k, {x.bytes.data(), bias.bytes.data(), y0.bytes.data(), y1.bytes.data(), y2.bytes.data()}, 5), 0);
    const auto want = [&](int64_t i) { return double(float(x.at(i) + bias.at(i % 1000))); };
    EXPECT_TRUE(near(y0, want, 0));
    EXPECT_TRUE(near(y1, [&](int64_t i) { return double(want(i) > 0.5); }, 0));
    EXPECT_TRUE(near(y2, [&](int64_t i) { return from_bits16(to_bits16(std::max(want(i), 0.5), true), true); }, 0));
    p.api->drop_kernel(k);
  }
}

TEST(Pointwise, an_output_may_lie_on_an_input) {
  Plugin& p = cpu();
  const Shape shape{5000};
  Tensor x = random(FRL_F32, shape, 6);
  const Tensor before = x;
  Block b;
  const uint32_t v = b.value(FRL_F32, shape);
  const uint32_t y = b.node1(FRL_OP_add, {v, v}, FRL_F32, shape);
  const uint32_t z = b.node1(FRL_OP_mul, {y, v}, FRL_F32, shape);
  frl_kernel* k = p.compile(b.finish(FRL_OP_pointwise, {v}, {y, z}));
  ASSERT_EQ(k->aliases.n, 2u);
  Tensor second(FRL_F32, shape);
  ASSERT_EQ(p.run(k, {x.bytes.data(), x.bytes.data(), second.bytes.data()}, 3), 0);
  EXPECT_TRUE(near(x, [&](int64_t i) { return 2 * before.at(i); }, 0));
  EXPECT_TRUE(near(second, [&](int64_t i) { return double(float(2 * before.at(i) * before.at(i))); }, 0));
  p.api->drop_kernel(k);
}

TEST(Pointwise, strided_operands_even_backwards) {
  Plugin& p = cpu();
  Block b;
  const uint32_t t = b.value(FRL_I64, {3, 4}, 0, {1, 3}), back = b.value(FRL_I64, {4}, 0, {-1});
  const uint32_t y = b.node1(FRL_OP_add, {t, back}, FRL_I64, {3, 4});
  frl_kernel* k = p.compile(b.finish(FRL_OP_pointwise, {t, back}, {y}));
  ASSERT_TRUE(k);
  int64_t a[12], c[4] = {0, 100, 200, 300}, out[12];
  for (int i = 0; i < 12; ++i) a[i] = i;
  ASSERT_EQ(p.run(k, {a, c + 3, out}, 3), 0);
  for (int i = 0; i < 12; ++i) EXPECT_EQ(out[i], (i % 4) * 3 + i / 4 + (3 - i % 4) * 100);
  p.api->drop_kernel(k);
}

}  // namespace
