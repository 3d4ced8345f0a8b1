// C = A B + epilogue, for f32 and f64: blocked, packed, shared over the team.
//
// Every element of C is summed in one order (blocks of kDepth along k, in each of them one by one),
// whatever the tiles or the number of workers.
#pragma once

#include <algorithm>
#include <limits>

#include "plugins/cpu/activation.h"

namespace cpu {

constexpr int64_t kDepth = 256;  // k of one block: a wide panel of it fits L1

// What happens to finished elements, in this order. Null: nothing.
template <class T>
struct Epilogue {
  const GemmLoops<T>* loops = nullptr;
  const T* row_bias = nullptr;     // one for each row of C
  const T* column_bias = nullptr;  // one for each column
  const T* residual = nullptr;     // C's shape
  int64_t residual_stride = 0;     // between rows
  TileFn activation = nullptr;     // relu is a bound instead
  double attributes[2] = {0, 0};
  T low = -std::numeric_limits<T>::infinity(), high = std::numeric_limits<T>::infinity();

  Epilogue() = default;
  Epilogue(const Isa& isa, const Activation& act, double least, double most)
      : loops(&isa.gemm<T>()), low(static_cast<T>(least)), high(static_cast<T>(most)) {
    if (act.op == FRL_OP_relu) {
      low = std::max(low, T{0});
      return;
    }
    activation = act.fn;
    std::copy_n(act.attributes, 2, attributes);
  }
  bool is_nothing() const {
    return !row_bias && !column_bias && !residual && !activation &&
           low == -std::numeric_limits<T>::infinity() && high == -low;
  }
  // y = all of it on x, n elements of one row; columns and residual: at the first of them, or null.
  void finish(T* y, const T* x, int64_t n, int64_t row, const T* columns, const T* left) const {
    constexpr T kInfinite = std::numeric_limits<T>::infinity();
    const T bias = row_bias ? row_bias[row] : T(-0.0);  // which changes nothing, not even -0
    if (!activation) return loops->finish(y, x, n, bias, columns, left, low, high);
    loops->finish(y, x, n, bias, columns, left, -kInfinite, kInfinite);
    activation(y, y, y, y, n, attributes);
    if (low != -kInfinite || high != kInfinite)
      loops->finish(y, y, n, T(-0.0), nullptr, nullptr, low, high);
  }
};

// One side of the product in panels. Packed already, or packed block by block as it is needed.
//   fill  writes elements [k0, k0 + k) x [first, first + n) of the side as panels of `width`; n may
//         end within a panel, whose rest becomes zeros
template <class T>
struct Side {
  const T* packed = nullptr;  // whole panels of all k, one after the other
  void (*fill)(const void* source, T* panels, int64_t k0, int64_t k, int64_t first, int64_t n,
               int64_t width) = nullptr;
  const void* source = nullptr;
  // Set for a side B whose rows are runs of memory: read where they lie, but for the last columns.
  const T* rows = nullptr;
  int64_t stride = 0;  // between rows
};

// A strided matrix as a side: element (i, c) at x[i * row + c * column], i along k.
template <class T>
struct StridedSide {
  const Isa* isa;
  const T* x;
  int64_t row, column;
  static void fill(const void* source, T* panels, int64_t k0, int64_t k, int64_t first, int64_t n,
                   int64_t width) {
    const auto& s = *static_cast<const StridedSide*>(source);
    for (int64_t c = 0; c < n; c += width)
      s.isa->template gemm<T>().pack(panels + c * k, s.x + k0 * s.row + (first + c) * s.column,
                                     s.row, s.column, k, std::min(width, n - c), width);
  }
  Side<T> side() const { return {nullptr, fill, this}; }
  // As side B [k, ..] of a product with m rows: few rows do not pay for packing it.
  Side<T> side_for(int64_t m, int64_t k) const {
    // Each row lies on pages of its own: 64 of them stay known to the processor.
    constexpr int64_t kFewRows = 48, kFewPages = 64;
    Side<T> s = side();
    if (column == 1 && (m <= kFewRows || k <= kFewPages)) s.rows = x, s.stride = row;
    return s;
  }
};

template <class T>
struct Gemm {
  const Isa* isa;
  int64_t m, n, k;
  Side<T> a;  // panels of isa->gemm().rows rows of A
  Side<T> b;  // panels of `width` columns of B
  int64_t width;
  T* c;
  int64_t ldc;
  Epilogue<T> epilogue;
  bool accumulate = false;  // adds to what C holds
};

// The width of B panels for n columns.
template <class T>
int64_t panel_width(const Isa& isa, int64_t n) {
  const int64_t lanes = isa.gemm<T>().lanes;
  return n <= lanes ? lanes : 2 * lanes;
}
// Elements of a side of `n` rows or columns in panels.
constexpr int64_t packed_size(int64_t k, int64_t n, int64_t width) {
  return (n + width - 1) / width * width * k;
}

// Tiles of C that a team divides among itself.
template <class T>
class GemmPlan {
 public:
  // At most `workers` of them at once; packing decides how C is cut.
  GemmPlan(const Gemm<T>& g, int64_t workers);
  int64_t n_tasks() const { return row_tasks_ * column_tasks_; }
  uint64_t scratch_bytes() const;
  double task_ns() const { return task_ns_; }
  void run_task(const Gemm<T>& g, int64_t task, void* scratch) const;

 private:
  void block(const Gemm<T>& g, int64_t m0, int64_t m1, int64_t n0, int64_t n1, T* a_scratch,
             T* b_scratch) const;
  int64_t row_tasks_, column_tasks_, task_rows_, task_columns_;
  int64_t a_elements_, b_elements_;
  double task_ns_;
};

// The whole product, on the team.
template <class T>
void run_gemm(const frl_host* host, const Gemm<T>& g);

// `count` products of one shape: make(i, use) calls use(gemm) with the i-th. Few large ones share
// the team one by one, many small ones are dealt out whole.
template <class T, class Make>
void run_gemms(const frl_host* host, int64_t count, const Make& make) {
  if (count == 0) return;
  double ns = 0;
  uint64_t scratch_bytes = 0;
  make(int64_t{0}, [&](const Gemm<T>& g) {
    const GemmPlan<T> plan(g, 1);
    ns = plan.task_ns() * static_cast<double>(plan.n_tasks()), scratch_bytes = plan.scratch_bytes();
  });
  if (count == 1 || (count < host->max_workers && ns > 50000)) {
    for (int64_t i = 0; i < count; ++i) make(i, [&](const Gemm<T>& g) { run_gemm(host, g); });
    return;
  }
  frl::for_slices(host, count, ns, scratch_bytes, [&](int64_t begin, int64_t end, void* scratch) {
    for (int64_t i = begin; i < end; ++i)
      make(i, [&](const Gemm<T>& g) {
        if (g.m == 0 || g.n == 0) return;
        const GemmPlan<T> plan(g, 1);
        for (int64_t task = 0; task < plan.n_tasks(); ++task) plan.run_task(g, task, scratch);
      });
  });
}

template <class T>
void apply_epilogue(const Epilogue<T>& e, T* c, int64_t ldc, int64_t m0, int64_t m1, int64_t n0,
                    int64_t n1);

}  // namespace cpu
