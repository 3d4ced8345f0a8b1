// Ops that move elements, against index arithmetic done one element at a time.
#include "tests/cpu/cpu_test.h"

namespace {
using namespace host;

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
// Every element of y is the element of x at source(index of y); -1 in front: `fill`.
testing::AssertionResult moved(const Result& r, const Tensor& x,
                               const std::function<Shape(const Shape&)>& source, double fill = 0) {
  if (!r.error.empty()) return testing::AssertionFailure() << r.error;
  const Tensor& y = r.outputs[0];
  return near(
      y,
      [&](int64_t i) {
        const Shape at = source(index_of(i, y.shape));
        return !at.empty() && at[0] < 0 ? fill : x.at(flat(at, x.shape));
      },
      0);
}
const int kTypes[] = {FRL_F64, FRL_F32, FRL_F16, FRL_I8, FRL_I64, FRL_BOOL};

TEST(Movement, transpose_every_order_and_size) {
  const Shape shapes[] = {{2, 3, 4}, {1, 5, 7}, {64, 33, 3}, {3, 0, 2}, {100, 130, 1}};
  const Shape orders[] = {{-3, -2, -1}, {-1, -2, -3}, {-2, -1, -3},
                          {-2, -3, -1}, {-1, -3, -2}, {-3, -1, -2}};
  for (int type : kTypes)
    for (const Shape& s : shapes)
      for (const Shape& order : orders) {
        const Tensor x = random(type, s, 1, -100, 100);
        Shape shape(3);
        for (size_t d = 0; d < 3; ++d) shape[d] = s[size_t(3 + order[d])];
        const Result r =
            run_op(cpu(), FRL_OP_transpose, {Attribute(order)}, {x}, {Tensor(type, shape)});
        EXPECT_TRUE(moved(r, x, [&](const Shape& y) {
          Shape at(3);
          for (size_t d = 0; d < 3; ++d) at[size_t(3 + order[d])] = y[d];
          return at;
        }));
      }
}

TEST(Movement, a_large_transpose_is_the_same_for_any_number_of_workers) {
  const Tensor x = random(FRL_F32, {700, 900}, 1);
  for (uint32_t workers : {1u, 3u}) {
    const Result r = run_op(cpu("best", workers), FRL_OP_transpose, {Attribute(Shape{-1, -2})}, {x},
                            {Tensor(FRL_F32, {900, 700})});
    EXPECT_TRUE(moved(r, x, [](const Shape& y) { return Shape{y[1], y[0]}; }));
  }
}

TEST(Movement, reshape_broadcast_slice) {
  for (int type : kTypes) {
    const Tensor x = random(type, {3, 1, 4}, 2, -9, 9);
    EXPECT_TRUE(
        moved(run_op(cpu(), FRL_OP_reshape, {Attribute(Shape{2, 6})}, {x}, {Tensor(type, {2, 6})}),
              x, [&](const Shape& y) { return index_of(y[0] * 6 + y[1], x.shape); }));
    EXPECT_TRUE(moved(run_op(cpu(), FRL_OP_broadcast, {Attribute(Shape{2, 3, 5, 4})}, {x},
                             {Tensor(type, {2, 3, 5, 4})}),
                      x, [&](const Shape& y) {
                        return Shape{y[1], 0, y[3]};
                      }));
    const Tensor z = random(type, {6, 7}, 3, -9, 9);
    EXPECT_TRUE(
        moved(run_op(cpu(), FRL_OP_slice,
                     {Attribute(Shape{1, 6}), Attribute(Shape{2, 3}), Attribute(Shape{3, -2})}, {z},
                     {Tensor(type, {2, 3})}),
              z, [&](const Shape& y) {
                return Shape{1 + 3 * y[0], 6 - 2 * y[1]};
              }));
    EXPECT_TRUE(moved(run_op(cpu(), FRL_OP_slice,
                             {Attribute(Shape{2, 0}), Attribute(Shape{4, 7}), Attribute(Shape{})},
                             {z}, {Tensor(type, {4, 7})}),
                      z, [&](const Shape& y) {
                        return Shape{2 + y[0], y[1]};
                      }));
  }
}

TEST(Movement, concat_of_three_with_an_empty_one) {
  const Tensor a = random(FRL_F32, {2, 3, 4}, 1), b(FRL_F32, {2, 0, 4}),
               c = random(FRL_F32, {2, 2, 4}, 2);
  const Result r =
      run_op(cpu(), FRL_OP_concat, {Attribute(-2)}, {a, b, c}, {Tensor(FRL_F32, {2, 5, 4})});
  ASSERT_EQ(r.error, "");
  EXPECT_TRUE(near(
      r.outputs[0],
      [&](int64_t i) {
        const Shape y = index_of(i, {2, 5, 4});
        return y[1] < 3 ? a.at(flat(y, a.shape)) : c.at(flat({y[0], y[1] - 3, y[2]}, c.shape));
      },
      0));
}

TEST(Movement, pad_modes_and_crops) {
  const Tensor x = random(FRL_F32, {3, 4}, 1);
  const Tensor fill = of(FRL_F32, {}, {7});
  const auto reflect = [](int64_t i, int64_t n) {
    while (i < 0 || i >= n) i = i < 0 ? -i : 2 * (n - 1) - i;
    return i;
  };
  const auto at = [&](int mode, int64_t i, int64_t n) -> int64_t {
    if (i >= 0 && i < n) return i;
    return mode == 0   ? -1
           : mode == 1 ? reflect(i, n)
           : mode == 2 ? std::clamp<int64_t>(i, 0, n - 1)
                       : ((i % n) + n) % n;
  };
  for (int mode = 0; mode < 4; ++mode) {
    const Result r = run_op(cpu(), FRL_OP_pad,
                            {Attribute(Shape{1, 2}), Attribute(Shape{2, -1}), Attribute(mode)},
                            {x, fill}, {Tensor(FRL_F32, {6, 5})});
    EXPECT_TRUE(moved(
        r, x,
        [&](const Shape& y) {
          const int64_t a = at(mode, y[0] - 1, 3), b = at(mode, y[1] - 2, 4);
          return a < 0 || b < 0 ? Shape{-1, -1} : Shape{a, b};
        },
        7))
        << mode;
  }
  const Result none =
      run_op(cpu(), FRL_OP_pad, {Attribute(Shape{1, 0}), Attribute(Shape{0, 0}), Attribute(0)}, {x},
             {Tensor(FRL_F32, {4, 4})});
  EXPECT_EQ(none.outputs[0].at(0), 0);
}

TEST(Movement, trilu_keeps_its_triangle) {
  const Tensor x = random(FRL_I32, {2, 4, 5}, 1, 1, 9);
  for (int upper : {0, 1})
    for (int k : {-9, -1, 0, 2, 9}) {
      const Result r = run_op(cpu(), FRL_OP_trilu, {Attribute(upper), Attribute(k)}, {x},
                              {Tensor(FRL_I32, x.shape)});
      EXPECT_TRUE(near(
          r.outputs[0],
          [&](int64_t i) {
            const Shape y = index_of(i, x.shape);
            return (upper ? y[2] - y[1] >= k : y[2] - y[1] <= k) ? x.at(i) : 0;
          },
          0));
    }
}

TEST(Gather, along_an_axis_with_negative_indices) {
  const Tensor x = random(FRL_F32, {2, 5, 3}, 1);
  for (int type : {FRL_I32, FRL_I64}) {
    const Tensor i = of(type, {2, 2}, {4, -1, 0, -5});
    const Result r =
        run_op(cpu(), FRL_OP_gather, {Attribute(-2)}, {x, i}, {Tensor(FRL_F32, {2, 2, 2, 3})});
    EXPECT_TRUE(moved(r, x, [&](const Shape& y) {
      const int64_t k = i.int_at(y[1] * 2 + y[2]);
      return Shape{y[0], k < 0 ? k + 5 : k, y[3]};
    }));
  }
}
TEST(Gather, an_index_outside_fails_the_step) {
  const Tensor x = random(FRL_F32, {5}, 1), i = of(FRL_I64, {1}, {5});
  EXPECT_EQ(run_op(cpu(), FRL_OP_gather, {Attribute(-1)}, {x, i}, {Tensor(FRL_F32, {1})}).error,
            "gather: want an index within 5, got 5");
}
TEST(Gather, elements_and_nd) {
  const Tensor x = random(FRL_F16, {3, 4}, 1);
  const Tensor i = of(FRL_I64, {2, 4}, {0, 1, 2, -1, 2, 2, 0, 1});
  EXPECT_TRUE(moved(
      run_op(cpu(), FRL_OP_gather_elements, {Attribute(-2)}, {x, i}, {Tensor(FRL_F16, {2, 4})}), x,
      [&](const Shape& y) {
        const int64_t k = i.int_at(y[0] * 4 + y[1]);
        return Shape{k < 0 ? k + 3 : k, y[1]};
      }));
  const Tensor z = random(FRL_F32, {2, 3, 4}, 2), nd = of(FRL_I64, {2, 2, 1}, {2, 0, -1, 1});
  EXPECT_TRUE(
      moved(run_op(cpu(), FRL_OP_gather_nd, {Attribute(1)}, {z, nd}, {Tensor(FRL_F32, {2, 2, 4})}),
            z, [&](const Shape& y) {
              const int64_t k = nd.int_at(y[0] * 2 + y[1]);
              return Shape{y[0], k < 0 ? k + 3 : k, y[2]};
            }));
  const Tensor full = of(FRL_I64, {2, 3}, {0, 1, 2, 1, 2, 3});
  EXPECT_TRUE(moved(
      run_op(cpu(), FRL_OP_gather_nd, {Attribute(0)}, {z, full}, {Tensor(FRL_F32, {2})}), z,
      [&](const Shape& y) {
        return Shape{full.int_at(y[0] * 3), full.int_at(y[0] * 3 + 1), full.int_at(y[0] * 3 + 2)};
      }));
}
TEST(Scatter, elements_combine_in_index_order) {
  const Tensor x = of(FRL_F32, {4}, {1, 2, 3, 4}), i = of(FRL_I64, {3}, {1, 1, -1}),
               u = of(FRL_F32, {3}, {10, 20, NAN});
  const std::pair<uint32_t, std::vector<double>> cases[] = {{0, {1, 20, 3, NAN}},
                                                            {FRL_OP_add, {1, 32, 3, NAN}},
                                                            {FRL_OP_mul, {1, 400, 3, NAN}},
                                                            {FRL_OP_max, {1, 20, 3, NAN}},
                                                            {FRL_OP_min, {1, 2, 3, NAN}}};
  for (const auto& c : cases) {
    const uint32_t by = c.first;
    const Result r = run_op(cpu(), FRL_OP_scatter_elements, {Attribute(-1), Attribute(by)},
                            {x, i, u}, {Tensor(FRL_F32, {4})});
    ASSERT_EQ(r.error, "");
    EXPECT_TRUE(near(
        r.outputs[0], [&](int64_t k) { return c.second[size_t(k)]; }, 0))
        << by;
  }
}
TEST(Scatter, nd_replaces_slices) {
  const Tensor x = random(FRL_F32, {4, 3}, 1), i = of(FRL_I64, {2, 1}, {2, -4}),
               u = random(FRL_F32, {2, 3}, 2);
  const Result r =
      run_op(cpu(), FRL_OP_scatter_nd, {Attribute(0)}, {x, i, u}, {Tensor(FRL_F32, {4, 3})});
  ASSERT_EQ(r.error, "");
  EXPECT_TRUE(near(
      r.outputs[0],
      [&](int64_t k) {
        const int64_t row = k / 3;
        return row == 2 ? u.at(k % 3) : row == 0 ? u.at(3 + k % 3) : x.at(k);
      },
      0));
}

}  // namespace
