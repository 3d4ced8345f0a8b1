// Matrix products against a triple loop in double.
#include "tests/cpu/cpu_test.h"

namespace {
using namespace host;

struct Case {
  Shape a, b, c;
};
// Where the matrix of member `batch` starts in an operand that broadcasts to c's leading axes.
int64_t offset(const Shape& shape, const Shape& c, int64_t batch) {
  const auto rank = int64_t(shape.size());
  int64_t at = 0, step = shape[size_t(rank - 1)] * shape[size_t(rank - 2)];
  for (int64_t d = int64_t(c.size()) - 3, axis = rank - 3; d >= 0; --d, --axis) {
    const int64_t k = batch % c[size_t(d)];
    batch /= c[size_t(d)];
    if (axis < 0) continue;
    if (shape[size_t(axis)] != 1) at += k * step;
    step *= shape[size_t(axis)];
  }
  return at;
}

struct Product {
  std::vector<double> sum, size;  // of each element, and of its terms' magnitudes
};
const Product& product_of(const Tensor& a, const Tensor& b, const Shape& c) {
  static std::map<std::pair<std::vector<std::byte>, std::vector<std::byte>>, Product> known;
  auto [at, is_new] = known.try_emplace({a.bytes, b.bytes});
  Product& p = at->second;
  if (!is_new && p.sum.size() == size_t(count(c))) return p;
  std::vector<double> x, y;
  for (int64_t i = 0; i < a.n(); ++i) x.push_back(a.at(i));
  for (int64_t i = 0; i < b.n(); ++i) y.push_back(b.at(i));
  const int64_t n = c.back(), m = c[c.size() - 2], k = a.shape.back();
  p.sum.assign(size_t(count(c)), 0), p.size.assign(size_t(count(c)), 0);
  for (int64_t row = 0; n && row < count(c) / n; ++row) {
    const double* left = x.data() + offset(a.shape, c, row / m) + row % m * k;
    const double* right = y.data() + offset(b.shape, c, row / m);
    for (int64_t i = 0; i < k; ++i)
      for (int64_t j = 0; j < n; ++j) {
        p.sum[size_t(row * n + j)] += left[i] * right[i * n + j];
        p.size[size_t(row * n + j)] += std::fabs(left[i] * right[i * n + j]);
      }
  }
  return p;
}

testing::AssertionResult is_product(const Result& r, const Tensor& a, const Tensor& b,
                                    const Tensor* bias, double (*act)(double)) {
  if (!r.error.empty()) return testing::AssertionFailure() << r.error;
  const Tensor& c = r.outputs[0];
  const int64_t n = c.shape.back(), k = a.shape.back();
  const double eps = c.type == FRL_F64 ? 1e-16 : 6e-8;
  const Product& product = product_of(a, b, c.shape);
  for (int64_t at = 0; at < c.n(); ++at) {
    double sum = product.sum[size_t(at)], size = product.size[size_t(at)];
    if (bias) sum += bias->at(at % n), size += std::fabs(bias->at(at % n));
    if (act) sum = act(sum);
    std::string why;
    if (c.type >= FRL_I8)
      why = double(c.int_at(at)) == sum ? "" : "integer differs";
    else
      why = differs(c.type, c.at(at), sum, 2, 0.5 * eps * double(k + 4) * size);
    if (!why.empty()) return testing::AssertionFailure() << "element " << at << ": " << why;
  }
  return testing::AssertionSuccess();
}

const Case kCases[] = {
    {{1, 1}, {1, 1}, {1, 1}},
    {{5, 7}, {7, 3}, {5, 3}},
    {{13, 300}, {300, 33}, {13, 33}},
    {{1, 600}, {600, 130}, {1, 130}},
    {{2, 64}, {64, 50}, {2, 50}},
    {{40, 20}, {20, 1}, {40, 1}},
    {{200, 257}, {257, 96}, {200, 96}},
    {{0, 4}, {4, 5}, {0, 5}},
    {{3, 0}, {0, 5}, {3, 5}},
    {{2, 3, 8, 9}, {2, 3, 9, 17}, {2, 3, 8, 17}},
    {{2, 1, 8, 9}, {3, 9, 17}, {2, 3, 8, 17}},
    {{4, 6, 10}, {10, 21}, {4, 6, 21}},
    {{10, 21}, {3, 21, 40}, {3, 10, 40}},
    {{7, 1, 30}, {7, 30, 11}, {7, 1, 11}},
};

class MatmulOnIsa : public testing::TestWithParam<std::string> {};
TEST_P(MatmulOnIsa, every_shape_and_type) {
  for (int type : {FRL_F32, FRL_F64, FRL_F16, FRL_BF16, FRL_I32, FRL_I8, FRL_U8, FRL_I64})
    for (const Case& c : kCases)
      for (bool weight : {false, true}) {
        const double high = type == FRL_I8 || type == FRL_U8 ? 1.5 : 3,
                     low = type == FRL_U8 ? 0 : -high;
        const Tensor a = random(type, c.a, 1, type == FRL_U8 || type == FRL_I8 ? 0 : low,
                                high / (type == FRL_U8 || type == FRL_I8 ? 3 : 1));
        const Tensor b = random(type, c.b, 2, low, high);
        const Result r = run_op(cpu(GetParam()), FRL_OP_matmul, {}, {a, b}, {Tensor(type, c.c)},
                                weight ? std::vector<size_t>{1} : std::vector<size_t>{});
        EXPECT_TRUE(is_product(r, a, b, nullptr, nullptr))
            << "type " << type << " k " << c.a.back() << " n " << c.c.back() << " weight "
            << weight;
      }
}
TEST_P(MatmulOnIsa, bias_and_activation) {
  const auto relu = [](double x) { return x > 0 ? x : 0; };
  const auto leaky = [](double x) { return x < 0 ? 0.01 * x : x; };
  for (int type : {FRL_F32, FRL_F64, FRL_BF16})
    for (const Case& c : kCases)
      for (bool weight : {false, true}) {
        const Tensor a = random(type, c.a, 1), b = random(type, c.b, 2),
                     bias = random(type, {c.c.back()}, 3);
        for (const auto& [op, act] : {std::pair<uint32_t, double (*)(double)>{FRL_OP_relu, relu},
                                      {FRL_OP_leaky_relu, leaky},
                                      {0, nullptr}}) {
          const Result r =
              run_op(cpu(GetParam()), FRL_OP_matmul_bias_act, {Attribute(op)}, {a, b, bias},
                     {Tensor(type, c.c)}, weight ? std::vector<size_t>{1} : std::vector<size_t>{});
          EXPECT_TRUE(is_product(r, a, b, &bias, act)) << "type " << type;
        }
        const Result none = run_op(cpu(GetParam()), FRL_OP_matmul_bias_act,
                                   {Attribute(FRL_OP_relu)}, {a, b}, {Tensor(type, c.c)});
        EXPECT_TRUE(is_product(none, a, b, nullptr, relu));
      }
}
INSTANTIATE_TEST_SUITE_P(Isas, MatmulOnIsa, testing::Values(FRL_CPU_SETS),
                         [](const auto& i) { return i.param; });

TEST(Matmul, the_same_bits_for_any_number_of_workers) {
  const Tensor a = random(FRL_F32, {300, 700}, 1), b = random(FRL_F32, {700, 500}, 2),
               row = random(FRL_F32, {1, 700}, 3);
  for (const Tensor* left : {&a, &row})
    for (bool weight : {false, true}) {
      std::vector<std::byte> first;
      for (uint32_t workers : {1u, 2u, 3u, 7u}) {
        const Result r = run_op(cpu("best", workers), FRL_OP_matmul, {}, {*left, b},
                                {Tensor(FRL_F32, {left->shape[0], 500})},
                                weight ? std::vector<size_t>{1} : std::vector<size_t>{});
        ASSERT_EQ(r.error, "");
        if (first.empty()) first = r.outputs[0].bytes;
        EXPECT_TRUE(first == r.outputs[0].bytes) << workers;
      }
    }
}

TEST(Matmul, transposed_operands_are_taken_as_they_lie) {
  Plugin& p = cpu();
  for (int64_t m : {1, 2, 9, 60}) {
    const int64_t k = 70, n = 40;
    const Tensor at = random(FRL_F32, {k, m}, 1), bt = random(FRL_F32, {n, k}, 2);
    Tensor a(FRL_F32, {m, k}), b(FRL_F32, {k, n});
    for (int64_t i = 0; i < m * k; ++i) a.set(i, at.at(i % k * m + i / k));
    for (int64_t i = 0; i < k * n; ++i) b.set(i, bt.at(i % n * k + i / n));
    for (uint16_t flags : {uint16_t{0}, uint16_t{FRL_VALUE_PARAMETER}}) {
      Block block;
      const uint32_t x = block.value(FRL_F32, {m, k}, 0, {1, m}),
                     y = block.value(FRL_F32, {k, n}, flags, {1, k});
      frl_kernel* kernel = p.compile(block.finish(
          FRL_OP_matmul, {x, y}, {block.node1(FRL_OP_matmul, {x, y}, FRL_F32, {m, n})}));
      ASSERT_TRUE(kernel);
      Result r;
      r.outputs = {Tensor(FRL_F32, {m, n})};
      ASSERT_EQ(p.run(kernel, {at.bytes.data(), bt.bytes.data(), r.outputs[0].bytes.data()}, 3), 0);
      EXPECT_TRUE(is_product(r, a, b, nullptr, nullptr));
      p.api->drop_kernel(kernel);
    }
  }
}

TEST(Matmul, openblas_gives_the_same_products) {
  Plugin p(FRL_BUILD_DIR "/plugins/cpu.so", {{"gemm", "openblas"}});
  ASSERT_EQ(p.why, "");
  for (int type : {FRL_F32, FRL_F64})
    for (const Case& c : kCases) {
      const Tensor a = random(type, c.a, 1), b = random(type, c.b, 2);
      const Result r = run_op(p, FRL_OP_matmul, {}, {a, b}, {Tensor(type, c.c)}, {1});
      EXPECT_TRUE(is_product(r, a, b, nullptr, nullptr));
    }
}

TEST(Matmul, nan_and_infinity_reach_their_row_only) {
  Tensor a = random(FRL_F32, {20, 30}, 1);
  const Tensor b = random(FRL_F32, {30, 40}, 2, 0.5, 1);
  a.set(3 * 30 + 4, NAN), a.set(5 * 30 + 6, INFINITY);
  const Result r = run_op(cpu(), FRL_OP_matmul, {}, {a, b}, {Tensor(FRL_F32, {20, 40})});
  for (int64_t i = 0; i < 800; ++i) {
    const double y = r.outputs[0].at(i);
    EXPECT_EQ(std::isnan(y), i / 40 == 3);
    EXPECT_EQ(std::isinf(y), i / 40 == 5);
  }
}

}  // namespace
