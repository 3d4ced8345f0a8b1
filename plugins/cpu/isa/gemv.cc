// Products of single rows: memory is read once, in several streams.
#include "plugins/cpu/isa/tiles.h"
#include "plugins/cpu/isa/vector.h"

namespace cpu {
namespace FRL_ISA {
namespace {

// One row of C: P panels side by side, so that memory is read in several streams.
template <class T, int P>
void row_tile(const T* a, int64_t a_step, const T* b, int64_t panel_stride, T* c, int64_t k) {
  constexpr int kWidth = 2 * kLanes<T>;
  Vector<T> sum[P][2];
#pragma GCC unroll 4
  for (int p = 0; p < P; ++p) sum[p][0] = Vector<T>{}, sum[p][1] = Vector<T>{};
  for (int64_t i = 0; i < k; ++i) {
    const Vector<T> x = a[i * a_step] - Vector<T>{};
#pragma GCC unroll 4
    for (int p = 0; p < P; ++p) {
      const T* row = b + p * panel_stride + i * kWidth;
      sum[p][0] += x * load_vector(row), sum[p][1] += x * load_vector(row + kLanes<T>);
    }
  }
#pragma GCC unroll 4
  for (int p = 0; p < P; ++p) {
    store_vector(c + p * kWidth, sum[p][0]);
    store_vector(c + p * kWidth + kLanes<T>, sum[p][1]);
  }
}
template <class T>
void row_tiles(const T* a, int64_t a_step, const T* b, int64_t panel_stride, int64_t panels, T* c,
               int64_t k) {
  switch (panels) {
    case 1:
      return row_tile<T, 1>(a, a_step, b, panel_stride, c, k);
    case 2:
      return row_tile<T, 2>(a, a_step, b, panel_stride, c, k);
    case 3:
      return row_tile<T, 3>(a, a_step, b, panel_stride, c, k);
    default:
      return row_tile<T, 4>(a, a_step, b, panel_stride, c, k);
  }
}

// Sum of x[i] y[i].
template <class T>
T dot(const T* x, const T* y, int64_t n) {
  Vector<T> sum[4] = {};
  int64_t i = 0;
  for (; i + 4 * kLanes<T> <= n; i += 4 * kLanes<T>)
#pragma GCC unroll 4
    for (int u = 0; u < 4; ++u)
      sum[u] += load_vector(x + i + u * kLanes<T>) * load_vector(y + i + u * kLanes<T>);
  for (; i + kLanes<T> <= n; i += kLanes<T>) sum[0] += load_vector(x + i) * load_vector(y + i);
  const Vector<T> all = (sum[0] + sum[1]) + (sum[2] + sum[3]);
  T total = 0;
  for (int l = 0; l < kLanes<T>; ++l) total += all[l];
  for (; i < n; ++i) total += x[i] * y[i];
  return total;
}

// y += sum over r of a[r * step] * x[r * ldx ..], rows in order.
template <class T>
void add_rows(T* y, const T* a, int64_t step, const T* x, int64_t ldx, int64_t rows, int64_t n) {
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    const T a0 = a[r * step], a1 = a[(r + 1) * step], a2 = a[(r + 2) * step],
            a3 = a[(r + 3) * step];
    const T *x0 = x + r * ldx, *x1 = x0 + ldx, *x2 = x1 + ldx, *x3 = x2 + ldx;
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
      T s = y[i];
      s += a0 * x0[i];
      s += a1 * x1[i];
      s += a2 * x2[i];
      s += a3 * x3[i];
      y[i] = s;
    }
  }
  for (; r < rows; ++r) {
    const T a0 = a[r * step];
    const T* x0 = x + r * ldx;
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) y[i] += a0 * x0[i];
  }
}

// Columns stay in registers, four vectors at a time.
void add_products(uint32_t* sum, const uint32_t* f, int64_t step, const uint32_t* x, int64_t ldx,
                  int64_t k, int64_t n) {
  constexpr int kN = kLanes<uint32_t>, kWide = 4;
  using V = Vector<uint32_t>;
  int64_t j = 0;
  for (; j + kWide * kN <= n; j += kWide * kN) {
    V part[kWide];
    for (int v = 0; v < kWide; ++v) part[v] = load_vector(sum + j + v * kN);
    for (int64_t r = 0; r < k; ++r)
      for (int v = 0; v < kWide; ++v)
        part[v] += f[r * step] * load_vector(x + r * ldx + j + v * kN);
    for (int v = 0; v < kWide; ++v) store_vector(sum + j + v * kN, part[v]);
  }
  for (; j < n; ++j)
    for (int64_t r = 0; r < k; ++r) sum[j] += f[r * step] * x[r * ldx + j];
}

template <class T>
void fill(GemmLoops<T>* loops) {
  loops->row = row_tiles<T>, loops->dot = dot<T>, loops->add_rows = add_rows<T>;
}

}  // namespace

void fill_gemv(Isa* isa) {
  fill(&isa->gemm_f32), fill(&isa->gemm_f64);
  isa->add_products = add_products;
}

}  // namespace FRL_ISA
}  // namespace cpu
