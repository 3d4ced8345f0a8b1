// Rows of windows with one channel: y[i] = sum over taps of w[t] rows[t][i].
#include "plugins/cpu/isa/tiles.h"
#include "plugins/cpu/isa/vector.h"

namespace cpu {
namespace FRL_ISA {
namespace {

// Reads and writes whole vectors: rows and y have one vector less one element of slack behind n.
void window_row(float* y, const float* const* rows, const float* w, int64_t taps, int64_t n) {
  constexpr int64_t kStep = kLanes<float>;
  // Enough sums at once to hide the latency of a multiply-add.
  constexpr int kSums = 6;
  int64_t i = 0;
  for (; i + (kSums - 1) * kStep < n; i += kSums * kStep) {
    Vector<float> s[kSums];
#pragma GCC unroll 8
    for (int v = 0; v < kSums; ++v) s[v] = Vector<float>{};
    for (int64_t t = 0; t < taps; ++t) {
      const float* x = rows[t] + i;
      const Vector<float> f = w[t] - Vector<float>{};
#pragma GCC unroll 8
      for (int v = 0; v < kSums; ++v) s[v] += f * load_vector(x + v * kStep);
    }
#pragma GCC unroll 8
    for (int v = 0; v < kSums; ++v) store_vector(y + i + v * kStep, s[v]);
  }
  for (; i < n; i += kStep) {
    Vector<float> s = Vector<float>{};
    for (int64_t t = 0; t < taps; ++t) s += (w[t] - Vector<float>{}) * load_vector(rows[t] + i);
    store_vector(y + i, s);
  }
}

// Tap number `tap` of the windows of a row: where it is larger, y and best take it. Tap 0 starts
// them.
void max_tap(float* y, int32_t* best, const float* x, int64_t n, int64_t step, int32_t tap) {
  if (tap == 0) {
    for (int64_t i = 0; i < n; ++i) y[i] = x[i * step], best[i] = 0;
    return;
  }
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const float v = x[i * step];
    const bool wins = (v > y[i]) | ((v != v) & (y[i] == y[i]));
    y[i] = wins ? v : y[i];
    best[i] = wins ? tap : best[i];
  }
}

// to[i] = from[i * step]
void copy_step(float* to, const float* from, int64_t n, int64_t step) {
  if (step == 1) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) to[i] = from[i];
  } else if (step == 2) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) to[i] = from[2 * i];
  } else {
    for (int64_t i = 0; i < n; ++i) to[i] = from[i * step];
  }
}

}  // namespace

void fill_depthwise(Isa* isa) {
  isa->window_row = window_row, isa->copy_step = copy_step;
  isa->max_tap = max_tap;
}

}  // namespace FRL_ISA
}  // namespace cpu
