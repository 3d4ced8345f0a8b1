#include "plugins/cpu/gemm.h"

#include <algorithm>
#include <cstring>

namespace cpu {
namespace {

constexpr int64_t kRowBlock = 192;      // rows of A packed at once: with kDepth, a part of L2
constexpr int64_t kColumnBlock = 1024;  // columns of B packed at once
constexpr double kFlopsANs = 40;        // cautious: for deciding how many workers to wake

int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

}  // namespace

template <class T>
void apply_epilogue(const Epilogue<T>& e, T* c, int64_t ldc, int64_t m0, int64_t m1, int64_t n0,
                    int64_t n1) {
  if (e.is_nothing()) return;
  const bool same_for_all = !e.row_bias && !e.column_bias;
  if (same_for_all && ldc == n1 - n0 && (!e.residual || e.residual_stride == ldc)) {
    T* all = c + m0 * ldc;
    return e.finish(all, all, (m1 - m0) * ldc, 0, nullptr,
                    e.residual ? e.residual + m0 * ldc : nullptr);
  }
  for (int64_t i = m0; i < m1; ++i) {
    T* row = c + i * ldc + n0;
    e.finish(row, row, n1 - n0, i, e.column_bias ? e.column_bias + n0 : nullptr,
             e.residual ? e.residual + i * e.residual_stride + n0 : nullptr);
  }
}

template <class T>
GemmPlan<T>::GemmPlan(const Gemm<T>& g, int64_t workers) {
  const int64_t rows = g.isa->template gemm<T>().rows;
  const double flops =
      2.0 * static_cast<double>(g.m) * static_cast<double>(g.n) * static_cast<double>(g.k);
  // A side that is not packed yet is packed by each task that uses it: cut along the larger one.
  const int64_t wanted = std::max<int64_t>(
      1, std::min<int64_t>(workers, static_cast<int64_t>(flops / kFlopsANs / 16000)));
  const double a_cost = g.a.packed ? 0 : static_cast<double>(g.m),
               b_cost = g.b.packed ? 0 : static_cast<double>(g.n);
  const bool by_columns =
      g.n >= 2 * g.width * wanted && (b_cost >= a_cost || g.m < 2 * rows * wanted);
  // Several tasks a worker, so that a slow core does not hold up the rest.
  const int64_t tasks = wanted == 1 ? 1 : 2 * wanted;
  task_columns_ = by_columns ? std::max(round_up((g.n + tasks - 1) / tasks, g.width), 2 * g.width)
                             : std::max<int64_t>(g.n, 1);
  task_rows_ = by_columns ? std::max<int64_t>(g.m, 1)
                          : std::max(round_up((g.m + tasks - 1) / tasks, rows), 2 * rows);
  row_tasks_ = (g.m + task_rows_ - 1) / task_rows_,
  column_tasks_ = (g.n + task_columns_ - 1) / task_columns_;
  const int64_t depth = std::min(g.k, kDepth);
  a_elements_ = g.a.packed ? 0 : round_up(std::min(task_rows_, kRowBlock), rows) * depth;
  b_elements_ = g.b.packed ? 0 : round_up(std::min(task_columns_, kColumnBlock), g.width) * depth;
  task_ns_ = n_tasks() ? flops / kFlopsANs / static_cast<double>(n_tasks()) : 0;
}

template <class T>
uint64_t GemmPlan<T>::scratch_bytes() const {
  const int64_t n = round_up(a_elements_, 16) + b_elements_;
  return static_cast<uint64_t>(n) * sizeof(T);
}

template <class T>
void GemmPlan<T>::run_task(const Gemm<T>& g, int64_t task, void* scratch) const {
  T* a_scratch = static_cast<T*>(scratch);
  T* b_scratch = a_scratch + round_up(a_elements_, 16);
  const int64_t m0 = task / column_tasks_ * task_rows_, m1 = std::min(g.m, m0 + task_rows_);
  const int64_t n0 = task % column_tasks_ * task_columns_, n1 = std::min(g.n, n0 + task_columns_);
  for (int64_t n = n0; n < n1; n += kColumnBlock)
    block(g, m0, m1, n, std::min(n1, n + kColumnBlock), a_scratch, b_scratch);
}

namespace {

// One panel of B under all rows of a block: edges go through a tile of their own.
template <class T>
struct PanelWalk {
  const GemmLoops<T>& loops;
  const Gemm<T>& g;
  int64_t depth;
  bool accumulate;

  void run(const T* a, int64_t a_stride, const T* b, int64_t m0, int64_t m1, int64_t j,
           int64_t n) const {
    const bool wide = g.width > loops.lanes;
    for (int64_t i = m0; i < m1; i += loops.rows, a += a_stride) {
      const int64_t rows = std::min(loops.rows, m1 - i);
      const GemmTile<T> tile = wide ? loops.wide(rows) : loops.narrow(rows);
      T* c = g.c + i * g.ldc + j;
      if (n == g.width) {
        tile(a, b, c, g.ldc, depth, accumulate);
        continue;
      }
      alignas(64) T edge[16 * 32];
      for (int64_t r = 0; accumulate && r < rows; ++r)
        std::copy_n(c + r * g.ldc, n, edge + r * g.width);
      tile(a, b, edge, g.width, depth, accumulate);
      for (int64_t r = 0; r < rows; ++r) std::copy_n(edge + r * g.width, n, c + r * g.ldc);
    }
  }
  // Whole panels of B where they lie.
  void run_direct(const T* a, int64_t a_stride, const T* b, const int64_t* offsets, int64_t m0,
                  int64_t m1, int64_t j) const {
    for (int64_t i = m0; i < m1; i += loops.rows, a += a_stride)
      loops.offset(std::min(loops.rows, m1 - i))(a, b, offsets, g.c + i * g.ldc + j, g.ldc, depth,
                                                 accumulate);
  }
};

}  // namespace

template <class T>
void GemmPlan<T>::block(const Gemm<T>& g, int64_t m0, int64_t m1, int64_t n0, int64_t n1,
                        T* a_scratch, T* b_scratch) const {
  const GemmLoops<T>& loops = g.isa->template gemm<T>();
  int64_t offsets[kDepth];
  for (int64_t i = 0; g.b.rows && i < kDepth; ++i) offsets[i] = i * g.b.stride;
  if (g.k == 0 && !g.accumulate)
    for (int64_t i = m0; i < m1; ++i) std::fill(g.c + i * g.ldc + n0, g.c + i * g.ldc + n1, T{0});
  for (int64_t k0 = 0; k0 < g.k; k0 += kDepth) {
    const int64_t depth = std::min(kDepth, g.k - k0);
    // Columns from here on are packed: all of them, or those of the last, partial panel.
    const int64_t direct_end =
        g.b.rows && g.width > loops.lanes ? n0 + (n1 - n0) / g.width * g.width : n0;
    if (!g.b.packed && direct_end < n1)
      g.b.fill(g.b.source, b_scratch, k0, depth, direct_end, n1 - direct_end, g.width);
    for (int64_t i = m0; i < m1; i += kRowBlock) {
      const int64_t end = std::min(m1, i + kRowBlock);
      if (!g.a.packed) g.a.fill(g.a.source, a_scratch, k0, depth, i, end - i, loops.rows);
      const T* a = g.a.packed ? g.a.packed + i * g.k + k0 * loops.rows : a_scratch;
      const int64_t a_stride = (g.a.packed ? g.k : depth) * loops.rows;
      const PanelWalk<T> walk{loops, g, depth, k0 > 0 || g.accumulate};
      for (int64_t j = n0; j < direct_end; j += g.width)
        walk.run_direct(a, a_stride, g.b.rows + k0 * g.b.stride + j, offsets, i, end, j);
      for (int64_t j = direct_end; j < n1; j += g.width) {
        const T* b =
            g.b.packed ? g.b.packed + j * g.k + k0 * g.width : b_scratch + (j - direct_end) * depth;
        walk.run(a, a_stride, b, i, end, j, std::min(g.width, n1 - j));
      }
      if (k0 + depth == g.k) apply_epilogue(g.epilogue, g.c, g.ldc, i, end, n0, n1);
    }
  }
  if (g.k == 0) apply_epilogue(g.epilogue, g.c, g.ldc, m0, m1, n0, n1);
}

template <class T>
void run_gemm(const frl_host* host, const Gemm<T>& g) {
  if (g.m == 0 || g.n == 0) return;
  const GemmPlan<T> plan(g, host->max_workers);
  frl::for_slices(host, plan.n_tasks(), plan.task_ns(), plan.scratch_bytes(),
                  [&](int64_t begin, int64_t end, void* scratch) {
                    for (int64_t task = begin; task < end; ++task) plan.run_task(g, task, scratch);
                  });
}

template class GemmPlan<float>;
template class GemmPlan<double>;
template void run_gemm(const frl_host*, const Gemm<float>&);
template void run_gemm(const frl_host*, const Gemm<double>&);
template void apply_epilogue(const Epilogue<float>&, float*, int64_t, int64_t, int64_t, int64_t,
                             int64_t);
template void apply_epilogue(const Epilogue<double>&, double*, int64_t, int64_t, int64_t, int64_t,
                             int64_t);

}  // namespace cpu
