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
  int64_t i = 0;
  for (; i + 3 * kLanes < n; i += 4 * kLanes) {
    Vector s0 = start - Vector{}, s1 = s0, s2 = s0, s3 = s0;
    for (int64_t t = 0; t < taps; ++t) {
      const float* x = rows[t] + i;
      const Vector f = w[t] - Vector{};
      s0 += f * load_vector(x), s1 += f * load_vector(x + kLanes);
      s2 += f * load_vector(x + 2 * kLanes), s3 += f * load_vector(x + 3 * kLanes);
    }
    store_vector(y + i, s0), store_vector(y + i + kLanes, s1);
    store_vector(y + i + 2 * kLanes, s2), store_vector(y + i + 3 * kLanes, s3);
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
