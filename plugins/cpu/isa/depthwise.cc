// Rows of windows with one channel: y[i] = start + sum over taps of w[t] rows[t][i].
#include "plugins/cpu/isa/tiles.h"

namespace cpu {
namespace FRL_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int kVector = 64;
#elif defined(__AVX2__)
constexpr int kVector = 32;
#else
constexpr int kVector = 16;
#endif
constexpr int64_t kLanes = kVector / 4;
typedef float Vector __attribute__((vector_size(kVector), aligned(4), may_alias));

FRL_INLINE Vector load_vector(const float* p) { return *reinterpret_cast<const Vector*>(p); }
FRL_INLINE void store_vector(float* p, Vector v) { *reinterpret_cast<Vector*>(p) = v; }

// Reads and writes whole vectors: rows and y have kLanes - 1 elements of slack behind n.
void window_row(float* y, const float* const* rows, const float* w, int64_t taps, int64_t n,
                float start) {
  // Enough sums at once to hide the latency of a multiply-add.
  constexpr int kSums = 6;
  int64_t i = 0;
  for (; i + (kSums - 1) * kLanes < n; i += kSums * kLanes) {
    Vector s[kSums];
#pragma GCC unroll 8
    for (int v = 0; v < kSums; ++v) s[v] = start - Vector{};
    for (int64_t t = 0; t < taps; ++t) {
      const float* x = rows[t] + i;
      const Vector f = w[t] - Vector{};
#pragma GCC unroll 8
      for (int v = 0; v < kSums; ++v) s[v] += f * load_vector(x + v * kLanes);
    }
#pragma GCC unroll 8
    for (int v = 0; v < kSums; ++v) store_vector(y + i + v * kLanes, s[v]);
  }
  for (; i < n; i += kLanes) {
    Vector s = start - Vector{};
    for (int64_t t = 0; t < taps; ++t) s += (w[t] - Vector{}) * load_vector(rows[t] + i);
    store_vector(y + i, s);
  }
}

}  // namespace

void fill_depthwise(Isa* isa) { isa->window_row = window_row; }

}  // namespace FRL_ISA
}  // namespace cpu
