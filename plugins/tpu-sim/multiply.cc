// The systolic array: products of bf16 pieces, summed in f32.
#include <algorithm>
#include <cmath>

#include "plugins/tpu-sim/program.h"

namespace tpu_sim {
namespace {

constexpr int64_t kDepth = 32, kWidth = 128;  // of the part of b that is split at once

// x = p[0] + p[1] + .. up to what three bf16 hold: all 24 bits of a float. A piece that would
// round up to infinity is cut off instead.
template <int n>
void split(float x, float* p) {
  for (int i = 0; i < n; ++i) {
    p[i] = to_bf16(x);
    if (std::isinf(p[i]) && !std::isinf(x)) {
      uint32_t bits;
      __builtin_memcpy(&bits, &x, sizeof bits);
      p[i] = from_bf16(static_cast<uint16_t>(bits >> 16));
    }
    x -= p[i];
  }
}

template <int n>
struct Pieces {
  alignas(64) float p[n][kDepth][kWidth];
};

// One part of b against all rows of a.
template <int n>
void multiply_part(const Multiply& m, float* acc, const float* a, const Pieces<n>& b, int64_t k0,
                   int64_t depth, int64_t j0, int64_t width) {
  for (int64_t i = 0; i < m.m; ++i) {
    float* to = acc + i * m.n + j0;
    for (int64_t k = 0; k < depth; ++k) {
      float x[n];
      split<n>(a[i * m.k + k0 + k], x);
      for (int64_t j = 0; j < width; ++j) {
        float low = 0;
        if constexpr (n == 3) low = x[2] * b.p[0][k][j] + x[0] * b.p[2][k][j] + x[1] * b.p[1][k][j];
        if constexpr (n >= 2) low += x[1] * b.p[0][k][j] + x[0] * b.p[1][k][j];
        to[j] += x[0] * b.p[0][k][j] + low;
      }
    }
  }
}

float b_at(const Multiply& m, const float* b, int64_t k, int64_t j) {
  return m.b_transposed ? b[j * m.k + k] : b[k * m.n + j];
}

template <int n>
void multiply_pieces(const Multiply& m, float* acc, const float* a, const float* b) {
  Pieces<n> part;
  for (int64_t j0 = 0; j0 < m.n; j0 += kWidth)
    for (int64_t k0 = 0; k0 < m.k; k0 += kDepth) {
      const int64_t width = std::min(kWidth, m.n - j0), depth = std::min(kDepth, m.k - k0);
      for (int64_t k = 0; k < depth; ++k)
        for (int64_t j = 0; j < width; ++j) {
          float pieces[n];
          split<n>(b_at(m, b, k0 + k, j0 + j), pieces);
          for (int p = 0; p < n; ++p) part.p[p][k][j] = pieces[p];
        }
      multiply_part<n>(m, acc, a, part, k0, depth, j0, width);
    }
}

// Infinities and NaN have no pieces: 0 * infinity would come in where there is none. The front end
// sends such blocks through as they are.
void multiply_whole(const Multiply& m, float* acc, const float* a, const float* b) {
  for (int64_t i = 0; i < m.m; ++i)
    for (int64_t k = 0; k < m.k; ++k)
      for (int64_t j = 0; j < m.n; ++j) acc[i * m.n + j] += a[i * m.k + k] * b_at(m, b, k, j);
}

bool all_finite(const float* x, int64_t n) {
  return std::all_of(x, x + n, [](float v) { return std::isfinite(v); });
}

}  // namespace

void run_multiply(const Multiply& m, float* acc, const float* a, const float* b) {
  if (!m.adds) std::fill_n(acc, m.m * m.n, 0.0f);
  if (m.passes > 1 && !(all_finite(a, m.m * m.k) && all_finite(b, m.k * m.n)))
    return multiply_whole(m, acc, a, b);
  if (m.passes == 1) return multiply_pieces<1>(m, acc, a, b);
  if (m.passes == 3) return multiply_pieces<2>(m, acc, a, b);
  multiply_pieces<3>(m, acc, a, b);
}

}  // namespace tpu_sim
