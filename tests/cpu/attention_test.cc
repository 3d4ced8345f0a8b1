// attention against softmax(q k^T scale + mask) v in double.
#include "tests/cpu/cpu_test.h"

namespace {
using namespace host;

struct Case {
  Shape batch, kv_batch;
  int64_t s, t, d, e;
};
const Case kCases[] = {{{}, {}, 5, 7, 4, 3},           {{2, 3}, {2, 3}, 100, 130, 16, 24},
                       {{2, 4}, {2, 1}, 9, 600, 8, 8}, {{3}, {3}, 1, 1100, 64, 64},
                       {{1}, {1}, 200, 1, 5, 5},       {{2}, {2}, 3, 0, 4, 4}};
Shape with(Shape s, int64_t a, int64_t b) {
  s.push_back(a), s.push_back(b);
  return s;
}

class AttentionOnIsa : public testing::TestWithParam<std::string> {};
TEST_P(AttentionOnIsa, every_mask) {
  for (int type : {FRL_F32, FRL_F64, FRL_BF16})
    for (const Case& c : kCases)
      for (int kind = 0; kind < 4; ++kind) {
        if (c.t == 0 && kind > 1) continue;
        const Shape qs = with(c.batch, c.s, c.d), ks = with(c.kv_batch, c.t, c.d),
                    vs = with(c.kv_batch, c.t, c.e);
        const Tensor q = random(type, qs, 1), k = random(type, ks, 2), v = random(type, vs, 3);
        Inputs in{q, k, v};
        if (kind == 2) in.push_back(random(type, {c.s, c.t}, 4));
        if (kind == 3) in.push_back(random(FRL_BOOL, {1, c.t}, 5));
        const Result r =
            run_op(cpu(GetParam()), FRL_OP_attention, {Attribute(kind), Attribute(0.0)}, in,
                   {Tensor(type, with(c.batch, c.s, c.e))});
        ASSERT_EQ(r.error, "");
        const int64_t per_batch = count(c.batch);
        for (int64_t b = 0; b < per_batch; ++b) {
          const int64_t kb = count(c.kv_batch) == per_batch ? b : b / c.batch.back();
          for (int64_t i = 0; i < c.s; ++i) {
            std::vector<double> p(size_t(c.t), 0.0);
            double top = -INFINITY, sum = 0;
            for (int64_t j = 0; j < c.t; ++j) {
              for (int64_t x = 0; x < c.d; ++x)
                p[size_t(j)] += q.at((b * c.s + i) * c.d + x) * k.at((kb * c.t + j) * c.d + x);
              p[size_t(j)] /= std::sqrt(double(c.d));
              if (kind == 1 && j > i + c.t - c.s) p[size_t(j)] = -INFINITY;
              if (kind == 2) p[size_t(j)] += in[3]->at(i * c.t + j);
              if (kind == 3 && !in[3]->int_at(j)) p[size_t(j)] = -INFINITY;
              top = std::max(top, p[size_t(j)]);
            }
            for (double& x : p) sum += x = std::exp(x - top);
            for (int64_t x = 0; x < c.e; ++x) {
              double want = 0, size = 0;
              for (int64_t j = 0; j < c.t; ++j)
                want += p[size_t(j)] / sum * v.at((kb * c.t + j) * c.e + x),
                    size += std::fabs(v.at((kb * c.t + j) * c.e + x)) * p[size_t(j)] / sum;
              if (c.t == 0) want = 0;  // the sum of nothing
              const double got = r.outputs[0].at((b * c.s + i) * c.e + x);
              ASSERT_EQ(
                  differs(type, got, want, 1, (type == FRL_F64 ? 1e-14 : 2e-5) * (size + 0.1)), "")
                  << kind << " s " << c.s << " t " << c.t;
            }
          }
        }
      }
}
INSTANTIATE_TEST_SUITE_P(Isas, AttentionOnIsa, testing::Values(FRL_CPU_SETS),
                         [](const auto& i) { return i.param; });

TEST(Attention, keys_masked_in_whole_blocks_leave_no_trace) {
  const int64_t t = 1500;
  const Tensor q = random(FRL_F32, {20, 8}, 1), k = random(FRL_F32, {t, 8}, 2);
  Tensor v = random(FRL_F32, {t, 8}, 3), mask(FRL_BOOL, {1, t}), few(FRL_F32, {1, 8});
  mask.set(700, 1);
  const Result r = run_op(cpu(), FRL_OP_attention, {Attribute(3), Attribute(0.0)}, {q, k, v, mask},
                          {Tensor(FRL_F32, {20, 8})});
  EXPECT_TRUE(near(
      r.outputs[0], [&](int64_t i) { return v.at(700 * 8 + i % 8); }, 2));
}

}  // namespace
