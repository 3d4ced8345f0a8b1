// Matrix micro-kernels: a tile of C stays in registers while packed panels of A and B stream by.
#include "plugins/cpu/isa/tiles.h"
#include "plugins/cpu/isa/vector.h"

namespace cpu {
namespace FRL_ISA {
namespace {

// R rows by V vectors. A panels have kRows elements a step, whatever R is.
template <class T, int R, int V>
void tile(const T* a, const T* b, T* c, int64_t ldc, int64_t k, bool accumulate) {
  Vector<T> sum[R][V];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) sum[r][v] = Vector<T>{};
  constexpr int kWidth = V * kLanes<T>;
  for (int r = 0; r < R; ++r) __builtin_prefetch(c + r * ldc, 1);
#pragma GCC unroll 4
  for (int64_t i = 0; i < k; ++i) {
    Vector<T> row[V];
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) row[v] = load_vector(b + v * kLanes<T>);
    __builtin_prefetch(b + 8 * kWidth);
    if constexpr (kWidth * sizeof(T) > 64) __builtin_prefetch(b + 8 * kWidth + 64 / sizeof(T));
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const Vector<T> x = a[r] - Vector<T>{};
#pragma GCC unroll 2
      for (int v = 0; v < V; ++v) sum[r][v] += x * row[v];
    }
    a += kRows, b += kWidth;
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) {
      T* at = c + r * ldc + v * kLanes<T>;
      store_vector(at, accumulate ? load_vector(at) + sum[r][v] : sum[r][v]);
    }
}

// The same with B where it lies: row i of it starts at b + offsets[i].
template <class T, int R>
void rows_tile(const T* a, const T* b, const int64_t* offsets, T* c, int64_t ldc, int64_t k,
               bool accumulate) {
  Vector<T> sum[R][2];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) sum[r][0] = Vector<T>{}, sum[r][1] = Vector<T>{};
  for (int r = 0; r < R; ++r) __builtin_prefetch(c + r * ldc, 1);
#pragma GCC unroll 2
  for (int64_t i = 0; i < k; ++i) {
    const T* x = b + offsets[i];
    const Vector<T> first = load_vector(x), second = load_vector(x + kLanes<T>);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const Vector<T> f = a[r] - Vector<T>{};
      sum[r][0] += f * first, sum[r][1] += f * second;
    }
    a += kRows;
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < 2; ++v) {
      T* at = c + r * ldc + v * kLanes<T>;
      store_vector(at, accumulate ? load_vector(at) + sum[r][v] : sum[r][v]);
    }
}

// kTiles[r]: the tile of r rows.
template <class Tile>
struct TilesByRows {
  Tile of[13];
};
#if defined(__AVX512F__)
#define FRL_ROWS(tile)                                                                          \
  {                                                                                             \
    {                                                                                           \
      nullptr, tile(1), tile(2), tile(3), tile(4), tile(5), tile(6), tile(7), tile(8), tile(9), \
          tile(10), tile(11), tile(12)                                                          \
    }                                                                                           \
  }
#elif defined(__AVX2__)
#define FRL_ROWS(tile)                                                \
  {                                                                   \
    { nullptr, tile(1), tile(2), tile(3), tile(4), tile(5), tile(6) } \
  }
#else
#define FRL_ROWS(tile)                              \
  {                                                 \
    { nullptr, tile(1), tile(2), tile(3), tile(4) } \
  }
#endif
#define FRL_PACKED(rows) tile<T, rows, V>
template <class T, int V>
GemmTile<T> tile_of(int64_t rows) {
  static constexpr TilesByRows<GemmTile<T>> kTiles = FRL_ROWS(FRL_PACKED);
  return kTiles.of[rows];
}
#define FRL_OFFSETS(rows) rows_tile<T, rows>
template <class T>
RowsTile<T> rows_tile_of(int64_t rows) {
  static constexpr TilesByRows<RowsTile<T>> kTiles = FRL_ROWS(FRL_OFFSETS);
  return kTiles.of[rows];
}

template <class T, bool kColumns, bool kResidual>
void finish_loop(T* y, const T* x, int64_t n, T bias, const T* columns, const T* residual, T low,
                 T high) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    T v = x[i] + bias;
    if (kColumns) v += columns[i];
    if (kResidual) v += residual[i];
    v = v <= low ? low : v;  // NaN stays, and a bound of 0 makes -0 to 0
    y[i] = v >= high ? high : v;
  }
}
template <class T>
void finish(T* y, const T* x, int64_t n, T bias, const T* columns, const T* residual, T low,
            T high) {
  if (columns && residual)
    finish_loop<T, true, true>(y, x, n, bias, columns, residual, low, high);
  else if (columns)
    finish_loop<T, true, false>(y, x, n, bias, columns, residual, low, high);
  else if (residual)
    finish_loop<T, false, true>(y, x, n, bias, columns, residual, low, high);
  else
    finish_loop<T, false, false>(y, x, n, bias, columns, residual, low, high);
}

// Four rows of four neighbours become four columns.
typedef float Four __attribute__((vector_size(16), aligned(4), may_alias));
FRL_INLINE void transpose_four(float* to, int64_t width, const float* x, int64_t column) {
  const Four a = *reinterpret_cast<const Four*>(x), b = *reinterpret_cast<const Four*>(x + column);
  const Four c = *reinterpret_cast<const Four*>(x + 2 * column);
  const Four d = *reinterpret_cast<const Four*>(x + 3 * column);
  const Four ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
  const Four ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const Four cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
  const Four cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  *reinterpret_cast<Four*>(to) = __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5);
  *reinterpret_cast<Four*>(to + width) = __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7);
  *reinterpret_cast<Four*>(to + 2 * width) = __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5);
  *reinterpret_cast<Four*>(to + 3 * width) = __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7);
}
// What of a panel goes in squares of four: the rest is left to the caller.
FRL_INLINE void pack_fours(float* panel, const float* x, int64_t column, int64_t k, int64_t n,
                           int64_t width) {
  for (int64_t i = 0; i + 4 <= k; i += 4)
    for (int64_t c = 0; c + 4 <= n; c += 4)
      transpose_four(panel + i * width + c, width, x + i + c * column, column);
}

// Panels of `width` columns: panel[i * width + c] = x[i * row + c * column], zeros behind `n`.
template <class T>
void pack(T* panel, const T* x, int64_t row, int64_t column, int64_t k, int64_t n, int64_t width) {
  if (n < width)
    for (int64_t i = 0; i < k * width; ++i) panel[i] = 0;
  if (column == 1) {
    for (int64_t i = 0; i < k; ++i) {
      const T* from = x + i * row;
      T* to = panel + i * width;
#pragma GCC ivdep
      for (int64_t c = 0; c < n; ++c) to[c] = from[c];
    }
    return;
  }
  int64_t done_k = 0, done_n = 0;
  if constexpr (sizeof(T) == 4)
    if (row == 1) {
      pack_fours(panel, x, column, k, n, width);
      done_k = k / 4 * 4, done_n = n / 4 * 4;
    }
  // Columns lie apart: read along them, in blocks whose targets stay in cache.
  constexpr int64_t kBlock = 64;
  for (int64_t first = 0; first < k; first += kBlock) {
    const int64_t end = first + kBlock < k ? first + kBlock : k;
    for (int64_t c = first < done_k && end <= done_k ? done_n : 0; c < n; ++c) {
      const T* from = x + c * column;
      for (int64_t i = first; i < end; ++i) panel[i * width + c] = from[i * row];
    }
  }
}

template <class T>
void fill(GemmLoops<T>* loops) {
  loops->rows = kRows, loops->lanes = kLanes<T>;
  loops->narrow = tile_of<T, 1>, loops->wide = tile_of<T, 2>, loops->offset = rows_tile_of<T>;
  loops->finish = finish<T>, loops->pack = pack<T>;
}

}  // namespace

void fill_gemm(Isa* isa) { fill(&isa->gemm_f32), fill(&isa->gemm_f64); }

}  // namespace FRL_ISA
}  // namespace cpu
