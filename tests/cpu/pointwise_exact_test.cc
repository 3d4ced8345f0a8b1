// Integer arithmetic and casts: exact, on each instruction set.
#include "tests/cpu/cpu_test.h"

namespace {
using namespace host;

class ExactOnIsa : public testing::TestWithParam<std::string> {};

TEST_P(ExactOnIsa, integers_wrap_and_divide_as_the_table_says) {
  Plugin& p = cpu(GetParam());
  const auto i8 = [&](uint32_t op, int a, int b) {
    return run_pointwise(p, op, {}, {of(FRL_I8, {1}, {double(a)}), of(FRL_I8, {1}, {double(b)})},
                         Tensor(FRL_I8, {1}))
        .outputs[0]
        .int_at(0);
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
    return run_pointwise(p, op, {}, {of(FRL_U32, {1}, {a}), of(FRL_U32, {1}, {b})},
                         Tensor(FRL_U32, {1}))
        .outputs[0]
        .int_at(0);
  };
  EXPECT_EQ(u32(FRL_OP_shift_left, 1, 31), 2147483648);
  EXPECT_EQ(u32(FRL_OP_shift_left, 1, 32), 0);
  EXPECT_EQ(u32(FRL_OP_shift_right, 4294967295.0, 40), 0);
  EXPECT_EQ(u32(FRL_OP_shift_right, 4294967295.0, 31), 1);
}

TEST_P(ExactOnIsa, casts_saturate_and_round_once) {
  Plugin& p = cpu(GetParam());
  const auto cast = [&](int from, double v, int to) {
    return run_pointwise(p, FRL_OP_cast, {Attribute(to)}, {of(from, {1}, {v})}, Tensor(to, {1}))
        .outputs[0];
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
  EXPECT_EQ(
      cast(FRL_I32, 4194304 * 4 + 32769 * 2, FRL_BF16).at(0),
      to_bits16(0, true) == 0 ? from_bits16(to_bits16(4194304 * 4 + 32769 * 2, true), true) : 0);
  for (int type : {FRL_F16, FRL_BF16}) {
    Tensor all(type, {65536});
    for (int64_t i = 0; i < 65536; ++i) all.as<uint16_t>()[i] = uint16_t(i);
    const Tensor wide =
        run_pointwise(p, FRL_OP_cast, {Attribute(FRL_F32)}, {all}, Tensor(FRL_F32, {65536}))
            .outputs[0];
    EXPECT_TRUE(near(
        wide, [&](int64_t i) { return all.at(i); }, 0));
    const Tensor back =
        run_pointwise(p, FRL_OP_cast, {Attribute(type)}, {wide}, Tensor(type, {65536})).outputs[0];
    EXPECT_TRUE(near(
        back, [&](int64_t i) { return all.at(i); }, 0));
    const Tensor some = random(FRL_F32, {3000}, 3, -70000, 70000);
    const Tensor narrow =
        run_pointwise(p, FRL_OP_cast, {Attribute(type)}, {some}, Tensor(type, some.shape))
            .outputs[0];
    EXPECT_TRUE(near(
        narrow,
        [&](int64_t i) {
          return from_bits16(to_bits16(some.at(i), type == FRL_BF16), type == FRL_BF16);
        },
        0));
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, ExactOnIsa, testing::Values(FRL_CPU_SETS),
                         [](const auto& i) { return i.param; });

}  // namespace
