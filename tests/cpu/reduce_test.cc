// Reductions, orders and normalisations against plain loops in double.
#include <algorithm>
#include <numeric>
#include <set>

#include "tests/cpu/cpu_test.h"

namespace {
using namespace host;

Shape index_of(int64_t i, const Shape& shape) {
  Shape out(shape.size());
  for (size_t d = shape.size(); d-- > 0; i /= shape[d]) out[d] = i % shape[d];
  return out;
}
double combine(uint32_t by, double a, double b) {
  switch (by) {
    case FRL_OP_mul:
      return a * b;
    case FRL_OP_max:
      return a > b || a != a ? a : b;
    case FRL_OP_min:
      return a < b || a != a ? a : b;
    default:
      return a + b;
  }
}

TEST(Reduce, every_set_of_axes) {
  const Shape shapes[] = {{3, 4, 5}, {2, 1, 700}, {40, 6, 3}, {2, 0, 3}, {1, 1, 1}};
  const Shape sets[] = {{}, {-1}, {-2}, {-3}, {-1, -2}, {-1, -3}, {-3, -2}, {-1, -2, -3}};
  for (int type : {FRL_F32, FRL_F64, FRL_BF16, FRL_I32, FRL_U8})
    for (const Shape& s : shapes)
      for (const Shape& axes : sets)
        for (uint32_t by : {FRL_OP_add, FRL_OP_mul, FRL_OP_max, FRL_OP_min}) {
          const Tensor x = random(type, s, 3, type == FRL_U8 ? 0 : -1.5, 1.6);
          Shape kept = s;
          for (int64_t a : axes) kept[size_t(3 + a)] = 1;
          const bool is_float = type <= FRL_BF16;
          const double low = is_float ? -INFINITY : type == FRL_U8 ? 0 : -2147483648.0;
          const double high = is_float ? INFINITY : type == FRL_U8 ? 255 : 2147483647.0;
          std::vector<double> want(size_t(count(kept)), by == FRL_OP_add   ? 0
                                                        : by == FRL_OP_mul ? 1
                                                        : by == FRL_OP_max ? low
                                                                           : high);
          std::vector<double> size(want.size(), 0);
          for (int64_t i = 0; i < x.n(); ++i) {
            const Shape at = index_of(i, s);
            int64_t to = 0;
            for (size_t d = 0; d < 3; ++d) to = to * kept[d] + (kept[d] == 1 ? 0 : at[d]);
            want[size_t(to)] = combine(by, want[size_t(to)], x.at(i));
            if (type == FRL_U8) want[size_t(to)] = double(uint8_t(int64_t(want[size_t(to)])));
            size[size_t(to)] += std::fabs(x.at(i));
          }
          const double largest_sum = size.empty() ? 0 : *std::max_element(size.begin(), size.end());
          const Result r =
              run_op(cpu(), FRL_OP_reduce, {Attribute(by), Attribute(axes), Attribute(1)}, {x},
                     {Tensor(type, kept)});
          ASSERT_EQ(r.error, "");
          EXPECT_TRUE(near(
              r.outputs[0], [&](int64_t i) { return want[size_t(i)]; }, 1,
              by == FRL_OP_add ? 1e-15 * largest_sum : 0))
              << "type " << type << " by " << by;
        }
}
TEST(Reduce, nan_wins_and_infinities_stay) {
  Tensor x = random(FRL_F32, {2, 100}, 1);
  x.set(7, NAN), x.set(150, INFINITY), x.set(160, -INFINITY);
  const Result top =
      run_op(cpu(), FRL_OP_reduce, {Attribute(FRL_OP_max), Attribute(Shape{-1}), Attribute(0)}, {x},
             {Tensor(FRL_F32, {2})});
  EXPECT_TRUE(std::isnan(top.outputs[0].at(0)));
  EXPECT_EQ(top.outputs[0].at(1), INFINITY);
  const Result sum =
      run_op(cpu(), FRL_OP_reduce, {Attribute(FRL_OP_add), Attribute(Shape{-1}), Attribute(0)}, {x},
             {Tensor(FRL_F32, {2})});
  EXPECT_TRUE(std::isnan(sum.outputs[0].at(1)));
}
TEST(Reduce, arg_of_equals_and_nan) {
  const Tensor x = of(FRL_F32, {2, 5}, {1, 3, 3, 2, 3, 4, NAN, 1, NAN, 9});
  const auto arg = [&](uint32_t by, int last) {
    const Result r = run_op(cpu(), FRL_OP_arg_reduce,
                            {Attribute(by), Attribute(-1), Attribute(0), Attribute(last)}, {x},
                            {Tensor(FRL_I64, {2})});
    return std::vector<int64_t>{r.outputs[0].int_at(0), r.outputs[0].int_at(1)};
  };
  EXPECT_EQ(arg(FRL_OP_max, 0), (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(arg(FRL_OP_max, 1), (std::vector<int64_t>{4, 3}));
  EXPECT_EQ(arg(FRL_OP_min, 0), (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(arg(FRL_OP_min, 1), (std::vector<int64_t>{0, 3}));
}
TEST(Reduce, arg_of_signed_integers_along_a_middle_axis) {
  const Tensor x = random(FRL_I8, {2, 300, 3}, 1, -100, 100);
  const Result r = run_op(cpu(), FRL_OP_arg_reduce,
                          {Attribute(FRL_OP_min), Attribute(-2), Attribute(0), Attribute(0)}, {x},
                          {Tensor(FRL_I64, {2, 3})});
  EXPECT_TRUE(near(
      r.outputs[0],
      [&](int64_t i) {
        int64_t best = 0;
        const auto at = [&](int64_t k) { return x.int_at((i / 3 * 300 + k) * 3 + i % 3); };
        for (int64_t k = 1; k < 300; ++k) best = at(k) < at(best) ? k : best;
        return double(best);
      },
      0));
}
TEST(Reduce, cumulative_in_both_directions) {
  const Tensor x = random(FRL_F32, {2, 7, 3}, 5);
  for (uint32_t by : {FRL_OP_add, FRL_OP_mul, FRL_OP_max})
    for (int exclusive : {0, 1})
      for (int reverse : {0, 1}) {
        const Result r =
            run_op(cpu(), FRL_OP_cumulative,
                   {Attribute(by), Attribute(-2), Attribute(exclusive), Attribute(reverse)}, {x},
                   {Tensor(FRL_F32, x.shape)});
        ASSERT_EQ(r.error, "");
        EXPECT_TRUE(near(
            r.outputs[0],
            [&](int64_t i) {
              const Shape at = index_of(i, x.shape);
              double sum = by == FRL_OP_add ? 0 : by == FRL_OP_mul ? 1 : -INFINITY;
              for (int64_t k = 0; k < 7; ++k) {
                const bool before = reverse ? k > at[1] : k < at[1];
                if (before || (!exclusive && k == at[1]))
                  sum = combine(by, sum, x.at((at[0] * 7 + k) * 3 + at[2]));
              }
              return sum;
            },
            1, 1e-15));
      }
}

TEST(Order, topk_is_stable_and_nan_is_the_largest) {
  const Tensor x = of(FRL_F32, {6}, {2, NAN, 5, 2, -INFINITY, 5});
  const Result r = run_op(cpu(), FRL_OP_topk, {Attribute(-1), Attribute(4), Attribute(1)}, {x},
                          {Tensor(FRL_F32, {4}), Tensor(FRL_I64, {4})});
  ASSERT_EQ(r.error, "");
  const std::vector<double> places{1, 2, 5, 0};
  EXPECT_TRUE(near(
      r.outputs[1], [&](int64_t i) { return places[size_t(i)]; }, 0));
  EXPECT_TRUE(near(
      r.outputs[0], [&](int64_t i) { return x.at(int64_t(places[size_t(i)])); }, 0));
  const Result s = run_op(cpu(), FRL_OP_topk, {Attribute(-1), Attribute(6), Attribute(0)}, {x},
                          {Tensor(FRL_F32, {6}), Tensor(FRL_I64, {6})});
  const std::vector<double> up{4, 0, 3, 2, 5, 1};
  EXPECT_TRUE(near(
      s.outputs[1], [&](int64_t i) { return up[size_t(i)]; }, 0));
}
TEST(Order, topk_along_a_middle_axis) {
  const Tensor x = random(FRL_I16, {2, 50, 3}, 1, -1000, 1000);
  const Result r = run_op(cpu(), FRL_OP_topk, {Attribute(-2), Attribute(5), Attribute(1)}, {x},
                          {Tensor(FRL_I16, {2, 5, 3}), Tensor(FRL_I64, {2, 5, 3})});
  for (int64_t o = 0; o < 2; ++o)
    for (int64_t i = 0; i < 3; ++i) {
      std::vector<int64_t> lane;
      for (int64_t k = 0; k < 50; ++k) lane.push_back(x.int_at((o * 50 + k) * 3 + i));
      std::sort(lane.rbegin(), lane.rend());
      for (int64_t k = 0; k < 5; ++k)
        EXPECT_EQ(r.outputs[0].int_at((o * 5 + k) * 3 + i), lane[size_t(k)]);
    }
}
TEST(Order, nonzero_writes_its_extent) {
  const Tensor x = of(FRL_F32, {2, 3}, {0, 1, -0.0, NAN, 0, 2});
  const Result r = run_op(cpu(), FRL_OP_nonzero, {}, {x}, {Tensor(FRL_I64, {2, 6})}, {}, 1);
  ASSERT_EQ(r.error, "");
  ASSERT_EQ(r.written, std::vector<int64_t>{3});
  const int64_t rows[] = {0, 1, 1}, columns[] = {1, 0, 2};
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(r.outputs[0].int_at(i), rows[i]);
    EXPECT_EQ(r.outputs[0].int_at(6 + i), columns[i]);
  }
}
TEST(Order, unique_sorted_or_by_first_place) {
  const Tensor x = of(FRL_I32, {6}, {5, 2, 5, 7, 2, 1});
  for (int sorted : {1, 0}) {
    const Result r = run_op(
        cpu(), FRL_OP_unique, {Attribute(0), Attribute(sorted)}, {x},
        {Tensor(FRL_I32, {6}), Tensor(FRL_I64, {6}), Tensor(FRL_I64, {6}), Tensor(FRL_I64, {6})},
        {}, 0);
    ASSERT_EQ(r.error, "");
    ASSERT_EQ(r.written[0], 4);
    const int64_t values[2][4] = {{5, 2, 7, 1}, {1, 2, 5, 7}},
                  first[2][4] = {{0, 1, 3, 5}, {5, 1, 0, 3}},
                  counts[2][4] = {{2, 2, 1, 1}, {1, 2, 2, 1}};
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(r.outputs[0].int_at(i), values[sorted][i]);
      EXPECT_EQ(r.outputs[1].int_at(i), first[sorted][i]);
      EXPECT_EQ(r.outputs[3].int_at(i), counts[sorted][i]);
    }
    for (int i = 0; i < 6; ++i) EXPECT_EQ(r.outputs[0].int_at(r.outputs[2].int_at(i)), x.int_at(i));
  }
}

class NormOnIsa : public testing::TestWithParam<std::string> {};
TEST_P(NormOnIsa, softmax_over_any_axis) {
  for (int type : {FRL_F32, FRL_F64, FRL_F16})
    for (uint32_t op : {FRL_OP_softmax, FRL_OP_log_softmax})
      for (int64_t axis : {-1, -2, -3}) {
        const Shape shape{5, 37, 130};
        const Tensor x = random(type, shape, 3, -20, 20);
        const Result r = run_op(cpu(GetParam()), op, {Attribute(axis)}, {x}, {Tensor(type, shape)});
        ASSERT_EQ(r.error, "");
        const int64_t n = shape[size_t(3 + axis)], inner = axis == -1   ? 1
                                                           : axis == -2 ? 130
                                                                        : 130 * 37;
        const auto want = [&](int64_t i) {
          const int64_t first = i / (inner * n) * inner * n + i % inner;
          double top = -INFINITY, sum = 0;
          for (int64_t k = 0; k < n; ++k) top = std::max(top, x.at(first + k * inner));
          for (int64_t k = 0; k < n; ++k) sum += std::exp(x.at(first + k * inner) - top);
          return op == FRL_OP_softmax ? std::exp(x.at(i) - top) / sum
                                      : x.at(i) - top - std::log(sum);
        };
        EXPECT_TRUE(near(r.outputs[0], want, type == FRL_F32 ? 5 : 2)) << type << " " << axis;
      }
}
TEST_P(NormOnIsa, softmax_of_specials) {
  const Tensor x =
      of(FRL_F32, {4, 3},
         {1, NAN, 2, -INFINITY, 0, 1, -INFINITY, -INFINITY, -INFINITY, INFINITY, 0, 0});
  const Result r =
      run_op(cpu(GetParam()), FRL_OP_softmax, {Attribute(-1)}, {x}, {Tensor(FRL_F32, {4, 3})});
  for (int i : {0, 1, 2, 6, 7, 8, 9}) EXPECT_TRUE(std::isnan(r.outputs[0].at(i))) << i;
  EXPECT_EQ(r.outputs[0].at(3), 0);
  EXPECT_NEAR(r.outputs[0].at(5), 0.7310585786, 1e-6);
}
TEST_P(NormOnIsa, layer_and_rms_norm) {
  for (int type : {FRL_F32, FRL_F64, FRL_BF16})
    for (int form = 0; form < 4; ++form) {
      const Shape shape{3, 7, 101};
      const Tensor x = random(type, shape, 3, 90, 110);
      const int64_t axes = form == 3 ? 2 : 1, n = axes == 2 ? 707 : 101;
      const Shape tail = axes == 2 ? Shape{7, 101} : Shape{101};
      const Tensor scale = random(type, tail, 4), shift = random(type, tail, 5);
      const auto stats = [&](int64_t i, bool centred) {
        const int64_t first = i / n * n;
        double mean = 0, squares = 0;
        for (int64_t k = 0; centred && k < n; ++k) mean += x.at(first + k) / double(n);
        for (int64_t k = 0; k < n; ++k)
          squares += (x.at(first + k) - mean) * (x.at(first + k) - mean) / double(n);
        return (x.at(i) - mean) / std::sqrt(squares + 1e-5);
      };
      const double slack = type == FRL_F32 ? 3e-6 : type == FRL_F64 ? 1e-12 : 1e-6, ulps = 2;
      Inputs in{x};
      if (form >= 1) in.push_back(scale);
      if (form >= 2) in.push_back(shift);
      const Result r = run_op(cpu(GetParam()), FRL_OP_layer_norm,
                              {Attribute(axes), Attribute(1e-5)}, in, {Tensor(type, shape)});
      ASSERT_EQ(r.error, "");
      EXPECT_TRUE(near(
          r.outputs[0],
          [&](int64_t i) {
            return stats(i, true) * (form >= 1 ? scale.at(i % n) : 1) +
                   (form >= 2 ? shift.at(i % n) : 0);
          },
          ulps, slack));
      in.resize(form >= 1 ? 2 : 1);
      const Result q = run_op(cpu(GetParam()), FRL_OP_rms_norm, {Attribute(axes), Attribute(1e-5)},
                              in, {Tensor(type, shape)});
      ASSERT_EQ(q.error, "");
      EXPECT_TRUE(near(
          q.outputs[0],
          [&](int64_t i) { return stats(i, false) * (form >= 1 ? scale.at(i % n) : 1); }, 4,
          slack));
    }
}
INSTANTIATE_TEST_SUITE_P(Isas, NormOnIsa, testing::Values(FRL_CPU_SETS),
                         [](const auto& i) { return i.param; });

}  // namespace
