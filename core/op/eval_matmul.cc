// Reference evaluation of linear algebra: products and determinants.
#include <algorithm>
#include <cmath>

#include "core/op/rules.h"
#include "core/op/walk.h"
#include "core/op/wide.h"

namespace ferrule {
namespace {

// c[m,n] += a[m,k] b[k,n]
template <class W>
void multiply(const W* a, const W* b, W* c, int64_t m, int64_t k, int64_t n) {
  for (int64_t i = 0; i < m; ++i)
    for (int64_t p = 0; p < k; ++p) {
      const W left = a[i * k + p];
      for (int64_t j = 0; j < n; ++j)
        c[i * n + j] = wide_add(c[i * n + j], wide_mul(left, b[p * n + j]));
    }
}

// Gaussian elimination with row pivots; overwrites a.
double determinant(double* a, int64_t n) {
  double out = 1;
  for (int64_t column = 0; column < n; ++column) {
    int64_t pivot = column;
    for (int64_t row = column + 1; row < n; ++row)
      if (std::fabs(a[row * n + column]) > std::fabs(a[pivot * n + column])) pivot = row;
    if (pivot != column) {
      std::swap_ranges(a + pivot * n, a + pivot * n + n, a + column * n);
      out = -out;
    }
    const double head = a[column * n + column];
    out *= head;
    if (head == 0) return out;
    for (int64_t row = column + 1; row < n; ++row) {
      const double factor = a[row * n + column] / head;
      for (int64_t i = column; i < n; ++i) a[row * n + i] -= factor * a[column * n + i];
    }
  }
  return out;
}

}  // namespace

Status eval_matmul(const OpCall&, Operands operands, Results results) {
  const Shape& a = operands[0]->shape();
  const Shape& b = operands[1]->shape();
  const Shape& c = results[0].shape();
  const int64_t m = a.from_end(-2), k = a.back(), n = b.back();
  const Shape batch = sub_shape(c, 0, c.rank() - 2);
  const Strides of_a = broadcast_strides(sub_shape(a, 0, a.rank() - 2), batch);
  const Strides of_b = broadcast_strides(sub_shape(b, 0, b.rank() - 2), batch);
  with_wide(results[0].element(), [&]<class W>(W) {
    const std::vector<W> left = load<W>(*operands[0]), right = load<W>(*operands[1]);
    std::vector<W> out(static_cast<size_t>(c.n_elements()));
    if (out.empty()) return;
    W* to = out.data();
    for (Odometer at(batch); at.more(); at.next(), to += m * n)
      multiply(left.data() + at.offset(of_a) * m * k, right.data() + at.offset(of_b) * k * n, to, m,
               k, n);
    store(out, results[0]);
  });
  return {};
}

Status eval_det(const OpCall&, Operands operands, Results results) {
  std::vector<double> x = load<double>(*operands[0]);
  const int64_t n = operands[0]->shape().back();
  std::vector<double> out(static_cast<size_t>(results[0].n_elements()));
  for (size_t i = 0; i < out.size(); ++i) out[i] = determinant(x.data() + int64_t(i) * n * n, n);
  store(out, results[0]);
  return {};
}

}  // namespace ferrule
