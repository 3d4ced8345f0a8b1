// Hot loops, compiled once for each instruction set; the best one that the machine runs is chosen
// when a device opens. Whoever adds a loop adds a slot here and fills it in isa/.
#pragma once

#include <cstdint>

namespace cpu {

// One op on n elements of a tile. dst may be exactly a, b or c; p: two f64 attributes.
using TileFn = void (*)(void* dst, const void* a, const void* b, const void* c, int64_t n,
                        const double* p);

// How elements look inside a tile: 16-bit floats are f32 there.
enum Work : uint8_t {
  kWorkF64,
  kWorkF32,
  kWorkI8,
  kWorkI16,
  kWorkI32,
  kWorkI64,
  kWorkU8,
  kWorkU16,
  kWorkU32,
  kWorkU64,
  kWorkBool,
  kNWork
};

// c[rows, width] = or += a panel of A times a panel of B. A panels are [k][rows of the set], B
// panels [k][width].
template <class T>
using GemmTile = void (*)(const T* a, const T* b, T* c, int64_t ldc, int64_t k, bool accumulate);

// The same with two vectors of B where they lie: row i starts at b + offsets[i].
template <class T>
using RowsTile = void (*)(const T* a, const T* b, const int64_t* offsets, T* c, int64_t ldc,
                          int64_t k, bool accumulate);

template <class T>
struct GemmLoops {
  int64_t rows, lanes;
  // Tiles of 1 .. rows rows; B panels of one or two vectors.
  GemmTile<T> (*narrow)(int64_t rows);
  GemmTile<T> (*wide)(int64_t rows);
  RowsTile<T> (*offset)(int64_t rows);
  // One row against `panels` (at most 4) wide panels, `panel_stride` elements apart; a is strided.
  void (*row)(const T* a, int64_t a_step, const T* b, int64_t panel_stride, int64_t panels, T* c,
              int64_t k);
  T (*dot)(const T* x, const T* y, int64_t n);
  // y = min(max(x + bias + columns + residual, low), high), NaN kept; columns, residual may be
  // null.
  void (*finish)(T* y, const T* x, int64_t n, T bias, const T* columns, const T* residual, T low,
                 T high);
  // y += sum over r of a[r * step] x[r * ldx ..], in order of r.
  void (*add_rows)(T* y, const T* a, int64_t step, const T* x, int64_t ldx, int64_t rows,
                   int64_t n);
  // panel[i * width + c] = x[i * row + c * column] for i < k, c < n; zeros up to width.
  void (*pack)(T* panel, const T* x, int64_t row, int64_t column, int64_t k, int64_t n,
               int64_t width);
};

struct Isa {
  const char* name;
  int64_t vector_bytes;

  // Null where the op has no meaning for the type. `work` is that of the result, but for
  // comparisons and tests, where it is the operands'.
  TileFn (*unary)(uint32_t op, Work work);
  TileFn (*binary)(uint32_t op, Work work);
  TileFn (*select)(Work work);
  TileFn (*cast)(Work from, Work to);
  // f32 tiles from and to 16-bit storage, and the rounding that a member of such a type does.
  TileFn load_f16, load_bf16, store_f16, store_bf16, round_f16, round_bf16;
  TileFn narrow_odd;  // f64 to f32 so that a later rounding to 16 bits is the only one

  // Rows of f32, n >= 1. Extremes are NaN if any element is.
  double (*sum)(const float* x, int64_t n);
  float (*top)(const float* x, int64_t n);
  float (*bottom)(const float* x, int64_t n);
  void (*add_to)(double* target, const float* x, int64_t n);
  double (*exp_row)(float* y, int64_t n, float best);    // y = exp(y - best), and their sum
  void (*softmax)(float* y, const float* x, int64_t n);  // y may be x
  void (*log_softmax)(float* y, const float* x, int64_t n);
  // scale and shift may be null.
  void (*layer_norm)(float* y, const float* x, const float* scale, const float* shift, int64_t n,
                     double epsilon);
  void (*rms_norm)(float* y, const float* x, const float* scale, int64_t n, double epsilon);

  // y[i] = sum over taps of w[t] rows[t][i]; rows and y have 15 elements of slack
  // behind n.
  void (*window_row)(float* y, const float* const* rows, const float* w, int64_t taps, int64_t n);

  void (*max_tap)(float* y, int32_t* best, const float* x, int64_t n, int64_t step, int32_t tap);
  void (*copy_step)(float* to, const float* from, int64_t n, int64_t step);

  // sum[j] += sum over r < k of f[r * step] x[r * ldx + j]; everything wraps.
  void (*add_products)(uint32_t* sum, const uint32_t* f, int64_t step, const uint32_t* x,
                       int64_t ldx, int64_t k, int64_t n);

  GemmLoops<float> gemm_f32;
  GemmLoops<double> gemm_f64;
  template <class T>
  const GemmLoops<T>& gemm() const {
    if constexpr (sizeof(T) == 4)
      return gemm_f32;
    else
      return gemm_f64;
  }
};

// The best set for this machine, or the one called `name` if the machine has it.
const Isa& choose_isa(const char* name = nullptr);

}  // namespace cpu
