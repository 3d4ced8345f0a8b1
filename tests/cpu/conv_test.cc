// Convolutions and pools against sums over taps in double.
#include "tests/cpu/cpu_test.h"

namespace {
using namespace host;

struct Case {
  Shape x, w;  // [n, c, ..], [m, c / g, ..]
  Shape strides, dilations, pads;
  int64_t groups;
};
Shape index_of(int64_t i, const Shape& shape) {
  Shape out(shape.size());
  for (size_t d = shape.size(); d-- > 0; i /= shape[d]) out[d] = i % shape[d];
  return out;
}
int64_t flat(const Shape& index, const Shape& shape) {
  int64_t at = 0;
  for (size_t d = 0; d < shape.size(); ++d) at = at * shape[d] + index[d];
  return at;
}
Shape result_of(const Case& c) {
  Shape y{c.x[0], c.w[0]};
  const size_t r = c.x.size() - 2;
  for (size_t i = 0; i < r; ++i)
    y.push_back((c.x[2 + i] + c.pads[i] + c.pads[r + i] - (c.w[2 + i] - 1) * c.dilations[i] - 1) /
                    c.strides[i] +
                1);
  return y;
}
// Sum and sum of sizes at one place of the result.
std::pair<double, double> conv_at(const Case& c, const Tensor& x, const Tensor& w, const Shape& y) {
  double sum = 0, size = 0;
  const size_t r = c.x.size() - 2;
  const int64_t group = y[1] / (c.w[0] / c.groups);
  for (int64_t k = 0; k < w.n() / c.w[0]; ++k) {
    const Shape tap = index_of(k, Shape(c.w.begin() + 1, c.w.end()));
    Shape at{y[0], group * c.w[1] + tap[0]};
    bool inside = true;
    for (size_t i = 0; i < r; ++i) {
      at.push_back(y[2 + i] * c.strides[i] - c.pads[i] + tap[1 + i] * c.dilations[i]);
      inside &= at.back() >= 0 && at.back() < c.x[2 + i];
    }
    if (!inside) continue;
    const double term = x.at(flat(at, c.x)) * w.at(y[1] * (w.n() / c.w[0]) + k);
    sum += term, size += std::fabs(term);
  }
  return {sum, size};
}
// The same for every place, worked out once.
const std::vector<std::pair<double, double>>& conv_of(const Case& c, const Tensor& x,
                                                      const Tensor& w, const Shape& shape) {
  static std::map<std::vector<std::byte>, std::vector<std::pair<double, double>>> known;
  std::vector<std::byte> key = x.bytes;
  key.insert(key.end(), w.bytes.begin(), w.bytes.end());
  auto [at, is_new] = known.try_emplace(std::move(key));
  if (is_new)
    for (int64_t i = 0; i < count(shape); ++i)
      at->second.push_back(conv_at(c, x, w, index_of(i, shape)));
  return at->second;
}
const Case kCases[] = {
    {{1, 3, 9, 11}, {5, 3, 3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, 1},
    {{2, 16, 14, 14}, {24, 16, 1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}, 1},
    {{1, 4, 20, 17}, {8, 2, 3, 5}, {2, 3}, {1, 1}, {1, 0, 2, 4}, 2},
    {{1, 6, 13, 40}, {6, 1, 3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, 6},
    {{2, 4, 13, 41}, {8, 1, 3, 5}, {2, 2}, {2, 1}, {1, 3, 0, 2}, 4},
    {{1, 8, 7, 7}, {8, 1, 7, 7}, {1, 1}, {1, 1}, {3, 3, 3, 3}, 8},
    {{1, 2, 300}, {3, 2, 7}, {3}, {2}, {4, 1}, 1},
    {{1, 5, 70}, {5, 1, 4}, {1}, {1}, {3, 0}, 5},
    {{1, 2, 5, 6, 7}, {4, 2, 2, 3, 3}, {1, 2, 1}, {1, 1, 2}, {0, 1, 1, 1, 0, 2}, 1},
    {{1, 40, 5, 5}, {70, 40, 3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, 1},
    {{0, 3, 4, 4}, {2, 3, 3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, 1},
};
Attributes attributes_of(const Case& c) {
  return {Attribute(c.strides), Attribute(c.dilations), Attribute(c.pads), Attribute(c.groups)};
}

class ConvOnIsa : public testing::TestWithParam<std::string> {};
TEST_P(ConvOnIsa, every_window_and_type) {
  for (int type : {FRL_F32, FRL_F64, FRL_F16, FRL_I32, FRL_I8})
    for (const Case& c : kCases)
      for (bool weight : {false, true}) {
        const Tensor x = random(type, c.x, 1), w = random(type, c.w, 2),
                     bias = random(type, {c.w[0]}, 3);
        const Result r = run_op(cpu(GetParam()), FRL_OP_conv, attributes_of(c), {x, w, bias},
                                {Tensor(type, result_of(c))},
                                weight ? std::vector<size_t>{1} : std::vector<size_t>{});
        ASSERT_EQ(r.error, "");
        const Tensor& y = r.outputs[0];
        const auto& all = conv_of(c, x, w, y.shape);
        for (int64_t i = 0; i < y.n(); ++i) {
          const Shape at = index_of(i, y.shape);
          const auto [sum, size] = all[size_t(i)];
          if (type == FRL_I8) {
            ASSERT_EQ(y.int_at(i), int64_t(int8_t(int64_t(sum + bias.at(at[1])))));
            continue;
          }
          if (type == FRL_I32) {
            ASSERT_EQ(double(y.int_at(i)), sum + bias.at(at[1]));
            continue;
          }
          const std::string why = differs(type, y.at(i), sum + bias.at(at[1]), 2,
                                          (type == FRL_F64 ? 1e-15 : 1e-6) * (size + 1));
          ASSERT_EQ(why, "") << "type " << type << " element " << i << " x " << c.x[1] << " w "
                             << c.w[0];
        }
      }
}
TEST_P(ConvOnIsa, residual_activation_and_clamp) {
  for (int type : {FRL_F32, FRL_BF16})
    for (const Case& c : kCases)
      for (int form = 0; form < 3; ++form) {
        const Shape shape = result_of(c);
        const Tensor x = random(type, c.x, 1), w = random(type, c.w, 2),
                     bias = random(type, {c.w[0]}, 3), residual = random(type, shape, 4);
        Attributes a = attributes_of(c);
        a.push_back(Attribute(FRL_OP_relu)), a.push_back(Attribute(0.0)),
            a.push_back(Attribute(form == 2 ? 6.0 : INFINITY));
        Inputs in{x, w, std::nullopt, std::nullopt};
        if (form != 1) in[2] = bias;
        if (form != 0) in[3] = residual;
        const Result r =
            run_op(cpu(GetParam()), FRL_OP_conv_bias_act, a, in, {Tensor(type, shape)}, {1});
        ASSERT_EQ(r.error, "");
        const auto& all = conv_of(c, x, w, shape);
        for (int64_t i = 0; i < r.outputs[0].n(); ++i) {
          const Shape at = index_of(i, shape);
          auto [sum, size] = all[size_t(i)];
          sum += (form != 1 ? bias.at(at[1]) : 0) + (form != 0 ? residual.at(i) : 0);
          sum = std::max(sum, 0.0);
          if (form == 2) sum = std::min(sum, 6.0);
          ASSERT_EQ(differs(type, r.outputs[0].at(i), sum, 2, 1e-6 * (size + 4)), "")
              << form << " " << c.x[1];
        }
      }
}
TEST_P(ConvOnIsa, transpose_is_the_adjoint) {
  for (int type : {FRL_F32, FRL_F64, FRL_F16})
    for (Case c : kCases) {
      // y of the conv takes the part of x: w is [c, m / g, ..] for x with w[0] channels.
      const Shape shape = result_of(c);
      Shape full = c.x;
      const size_t r = full.size() - 2;
      Shape extra(r);
      for (size_t i = 0; i < r; ++i)
        extra[i] = full[2 + i] - ((shape[2 + i] - 1) * c.strides[i] - c.pads[i] - c.pads[r + i] +
                                  (c.w[2 + i] - 1) * c.dilations[i] + 1);
      const Tensor x = random(type, shape, 1), w = random(type, c.w, 2),
                   bias = random(type, {full[1]}, 3);
      Attributes a = attributes_of(c);
      a.push_back(Attribute(extra));
      const Result t =
          run_op(cpu(GetParam()), FRL_OP_conv_transpose, a, {x, w, bias}, {Tensor(type, full)});
      ASSERT_EQ(t.error, "");
      std::vector<double> want(size_t(count(full)), 0), size(want.size(), 1);
      for (int64_t i = 0; i < x.n(); ++i) {
        const Shape at = index_of(i, shape);
        for (int64_t k = 0; k < w.n() / c.w[0]; ++k) {
          const Shape tap = index_of(k, Shape(c.w.begin() + 1, c.w.end()));
          Shape to{at[0], at[1] / (c.w[0] / c.groups) * c.w[1] + tap[0]};
          bool inside = true;
          for (size_t d = 0; d < r; ++d) {
            to.push_back(at[2 + d] * c.strides[d] - c.pads[d] + tap[1 + d] * c.dilations[d]);
            inside &= to.back() >= 0 && to.back() < full[2 + d];
          }
          if (!inside) continue;
          const double term = x.at(i) * w.at(at[1] * (w.n() / c.w[0]) + k);
          want[size_t(flat(to, full))] += term, size[size_t(flat(to, full))] += std::fabs(term);
        }
      }
      for (size_t i = 0; i < want.size(); ++i)
        ASSERT_EQ(differs(type, t.outputs[0].at(int64_t(i)),
                          want[i] + bias.at(index_of(int64_t(i), full)[1]), 2,
                          (type == FRL_F64 ? 1e-15 : 1e-6) * size[i]),
                  "");
    }
}
INSTANTIATE_TEST_SUITE_P(Isas, ConvOnIsa, testing::Values(FRL_CPU_SETS),
                         [](const auto& i) { return i.param; });

struct PoolCase {
  Shape x, kernel, strides, dilations, pads, y;
};
const PoolCase kPools[] = {
    {{2, 3, 8, 9}, {2, 3}, {2, 1}, {1, 1}, {0, 1, 0, 1}, {2, 3, 4, 9}},
    {{1, 2, 7, 50}, {3, 3}, {2, 2}, {1, 2}, {1, 1, 1, 1}, {1, 2, 4, 24}},
    {{1, 2, 5, 6}, {3, 2}, {2, 2}, {1, 1}, {0, 0, 0, 0}, {1, 2, 3, 3}},  // the last row is ceil's
    {{1, 2, 30}, {4}, {3}, {1}, {2, 2}, {1, 2, 11}},
    {{1, 1, 4, 5, 6}, {2, 2, 2}, {2, 1, 2}, {1, 1, 1}, {0, 0, 0, 0, 1, 0}, {1, 1, 2, 5, 3}},
    {{1, 2, 6, 6}, {6, 6}, {1, 1}, {1, 1}, {0, 0, 0, 0}, {1, 2, 1, 1}},
};
TEST(Pool, values_and_places) {
  for (int type : {FRL_F32, FRL_F64, FRL_BF16, FRL_I8, FRL_U8})
    for (const PoolCase& c : kPools)
      for (int form = 0; form < 3; ++form) {  // max with places, max alone, average
        if (form == 2 && type >= FRL_I8) continue;
        Tensor x = random(type, c.x, 1, type == FRL_U8 ? 0 : -9, 9);
        if (type == FRL_F32) {
          x.set(3, NAN);
          for (int64_t i = 20; i < 60 && i < x.n(); ++i) x.set(i, -INFINITY);
        }
        const uint32_t op = form == 2 ? FRL_OP_avg_pool : FRL_OP_max_pool;
        for (int count_pads : {0, 1}) {
          Attributes a{Attribute(c.kernel), Attribute(c.strides), Attribute(c.dilations),
                       Attribute(c.pads), Attribute(1)};
          if (form == 2) a.push_back(Attribute(count_pads));
          std::vector<Tensor> out{Tensor(type, c.y)};
          if (form == 0) out.push_back(Tensor(FRL_I64, c.y));
          const Result r = run_op(cpu(), op, a, {x}, out);
          ASSERT_EQ(r.error, "");
          const size_t rank = c.kernel.size();
          for (int64_t i = 0; i < r.outputs[0].n(); ++i) {
            const Shape at = index_of(i, c.y);
            double best = -INFINITY, sum = 0;
            int64_t place = -1, inside = 0, counted = 0;
            for (int64_t k = 0; k < count(c.kernel); ++k) {
              const Shape tap = index_of(k, c.kernel);
              Shape from{at[0], at[1]};
              bool on = true, on_pads = true;
              for (size_t d = 0; d < rank; ++d) {
                from.push_back(at[2 + d] * c.strides[d] - c.pads[d] + tap[d] * c.dilations[d]);
                on &= from.back() >= 0 && from.back() < c.x[2 + d];
                on_pads &= from.back() < c.x[2 + d] + c.pads[rank + d];
              }
              counted += on_pads;
              if (!on) continue;
              ++inside;
              const double v = x.at(flat(from, c.x));
              sum += v;
              if (place < 0 || v > best || (v != v && best == best))
                best = v, place = flat(from, c.x);
            }
            if (form == 2) {
              ASSERT_EQ(
                  differs(type, r.outputs[0].at(i), sum / double(count_pads ? counted : inside), 1),
                  "");
            } else if (type >= FRL_I8) {
              ASSERT_EQ(double(r.outputs[0].int_at(i)), best);
            } else {
              ASSERT_EQ(differs(type, r.outputs[0].at(i), best, 0), "") << "element " << i;
            }
            if (form == 0) {
              ASSERT_EQ(r.outputs[1].int_at(i), place);
            }
          }
        }
      }
}

}  // namespace
