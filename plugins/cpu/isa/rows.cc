// Whole rows of f32: sums, extremes, softmax, normalisation. Sums are kept in f64.
#include "plugins/cpu/isa/tiles.h"
#include "plugins/cpu/isa/vector.h"

namespace cpu {
namespace FRL_ISA {
namespace {

double sum(const float* x, int64_t n) {
  double s0 = 0, s1 = 0;
  const int64_t half = n / 2;
  const float* z = x + half;
#pragma omp simd reduction(+ : s0, s1)
  for (int64_t i = 0; i < half; ++i) s0 += x[i], s1 += z[i];
  return s0 + s1 + (n % 2 ? static_cast<double>(x[n - 1]) : 0.0);
}

// The largest (or smallest) element; NaN if any is. Written out in lanes: the neutral element of an
// OpenMP reduction is the largest finite number, not the infinity.
template <bool kMax>
float extreme(const float* x, int64_t n) {
  constexpr int kN = kLanes<float>;
  constexpr float kNeutral = kMax ? -kInf : kInf;
  const auto better = [](auto a, auto b) { return kMax ? a > b : a < b; };
  float best = kNeutral, bad = 0;
  int64_t i = 0;
  if (n >= kN) {
    Vector<float> lanes = load_vector(x), odd = {};
    for (; i + kN <= n; i += kN) {
      const Vector<float> v = load_vector(x + i);
      lanes = better(v, lanes) ? v : lanes;
      odd = v == v ? odd : v;
    }
    for (int k = 0; k < kN; ++k) {
      best = better(lanes[k], best) ? lanes[k] : best;
      bad = odd[k] == odd[k] ? bad : odd[k];
    }
  }
  for (; i < n; ++i) {
    best = better(x[i], best) ? x[i] : best;
    bad = x[i] == x[i] ? bad : x[i];
  }
  return bad == bad ? best : kNan;
}
float top(const float* x, int64_t n) { return extreme<true>(x, n); }
float bottom(const float* x, int64_t n) { return extreme<false>(x, n); }

// exp(x - best), with the difference known to twice the precision: its rounding error would be the
// result's.
FRL_INLINE float exp_of_difference(float x, float best) {
  const float d = x - best, back = d - x;
  const float low = (x - (d - back)) - (best + back);
  return exp_sum(d, d > -104.0f && low == low ? low : 0.0f);  // far below, low is no small part
}

double exp_row(float* y, int64_t n, float best) {
  double s = 0;
#pragma omp simd reduction(+ : s)
  for (int64_t i = 0; i < n; ++i) {
    y[i] = exp(y[i] - best);
    s += static_cast<double>(y[i]);
  }
  return s;
}

void softmax(float* y, const float* x, int64_t n) {
  const float best = top(x, n);
  double s = 0;
#pragma omp simd reduction(+ : s)
  for (int64_t i = 0; i < n; ++i) {
    y[i] = exp_of_difference(x[i], best);
    s += static_cast<double>(y[i]);
  }
  const float scale = static_cast<float>(1.0 / s);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] *= scale;
}
void log_softmax(float* y, const float* x, int64_t n) {
  const float best = top(x, n);
  double s = 0;
#pragma omp simd reduction(+ : s)
  for (int64_t i = 0; i < n; ++i) s += static_cast<double>(exp(x[i] - best));
  const float shift = static_cast<float>(::log(s));
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - best) - shift;
}

// ((x - mean) * factor + rest) * scale + shift; scale and shift may be null.
void scale_row(float* y, const float* x, const float* scale, const float* shift, float mean,
               float factor, float rest, int64_t n) {
  if (scale && shift) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) y[i] = ((x[i] - mean) * factor + rest) * scale[i] + shift[i];
  } else if (scale) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) y[i] = ((x[i] - mean) * factor + rest) * scale[i];
  } else if (shift) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * factor + rest + shift[i];
  } else {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * factor + rest;
  }
}
void layer_norm(float* y, const float* x, const float* scale, const float* shift, int64_t n,
                double epsilon) {
  // One pass: sums around the first element, which lies about as far from the mean as any other.
  const double origin = static_cast<double>(x[0]);
  double sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum, squares)
  for (int64_t i = 0; i < n; ++i) {
    const double d = static_cast<double>(x[i]) - origin;
    sum += d, squares += d * d;
  }
  const double size = static_cast<double>(n), mean = sum / size;
  const double variance = squares / size - mean * mean;
  const double factor = 1.0 / __builtin_sqrt((variance < 0 ? 0 : variance) + epsilon);
  // The mean as f32 may be off by much of a deviation: the rest of it is added after scaling.
  const float m = static_cast<float>(origin + mean);
  const double rest = (static_cast<double>(m) - (origin + mean)) * factor;
  scale_row(y, x, scale, shift, m, static_cast<float>(factor), static_cast<float>(rest), n);
}
void rms_norm(float* y, const float* x, const float* scale, int64_t n, double epsilon) {
  double squares = 0;
#pragma omp simd reduction(+ : squares)
  for (int64_t i = 0; i < n; ++i) squares += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  const double factor = 1.0 / __builtin_sqrt(squares / static_cast<double>(n) + epsilon);
  scale_row(y, x, scale, nullptr, 0.0f, static_cast<float>(factor), -0.0f, n);
}

// target += x, in f64: column sums.
void add_to(double* target, const float* x, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) target[i] += static_cast<double>(x[i]);
}

}  // namespace

void fill_rows(Isa* isa) {
  isa->sum = sum, isa->top = top, isa->bottom = bottom, isa->add_to = add_to;
  isa->exp_row = exp_row, isa->softmax = softmax, isa->log_softmax = log_softmax;
  isa->layer_norm = layer_norm, isa->rms_norm = rms_norm;
}

}  // namespace FRL_ISA
}  // namespace cpu
