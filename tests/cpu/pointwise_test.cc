// Pointwise regions: broadcasts, several outputs, literals, mixed types, operands in place.
#include "tests/cpu/cpu_test.h"

namespace {
using namespace host;

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
      EXPECT_TRUE(near(
          r.outputs[0], [&](int64_t i) { return a.at(i) - at_broadcast(c, shape, i); }, 1));
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
    ASSERT_EQ(p.run(k,
                    {x.bytes.data(), bias.bytes.data(), y0.bytes.data(), y1.bytes.data(),
                     y2.bytes.data()},
                    5),
              0);
    const auto want = [&](int64_t i) { return double(float(x.at(i) + bias.at(i % 1000))); };
    EXPECT_TRUE(near(y0, want, 0));
    EXPECT_TRUE(near(
        y1, [&](int64_t i) { return double(want(i) > 0.5); }, 0));
    EXPECT_TRUE(near(
        y2, [&](int64_t i) { return from_bits16(to_bits16(std::max(want(i), 0.5), true), true); },
        0));
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
  EXPECT_TRUE(near(
      x, [&](int64_t i) { return 2 * before.at(i); }, 0));
  EXPECT_TRUE(near(
      second, [&](int64_t i) { return double(float(2 * before.at(i) * before.at(i))); }, 0));
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
