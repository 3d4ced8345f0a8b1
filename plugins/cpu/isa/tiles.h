// Loops over the elements of a tile, shared by the tables of unary, binary and other ops.
#pragma once

#include "plugins/cpu/isa.h"
#include "plugins/cpu/isa/math_wide.h"

namespace cpu {
namespace FRL_ISA {

struct TileRow {
  uint32_t op;
  TileFn by_work[kNWork];
};

// Each pass is independent of the others even where dst is an operand, hence ivdep.
template <class Op, class T, class R = T>
void unary_loop(void* dst, const void* a, const void*, const void*, int64_t n, const double* p) {
  const T* x = static_cast<const T*>(a);
  R* y = static_cast<R*>(dst);
  const T p0 = p ? static_cast<T>(p[0]) : T(), p1 = p ? static_cast<T>(p[1]) : T();
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = static_cast<R>(Op::f(x[i], p0, p1));
}
template <class Op, class T, class R = T>
void binary_loop(void* dst, const void* a, const void* b, const void*, int64_t n, const double*) {
  const T *x = static_cast<const T*>(a), *z = static_cast<const T*>(b);
  R* y = static_cast<R*>(dst);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = static_cast<R>(Op::f(x[i], z[i]));
}

template <class T>
constexpr bool kIsFloat = false;
template <>
inline constexpr bool kIsFloat<float> = true;
template <>
inline constexpr bool kIsFloat<double> = true;

// The unsigned type of the same width, in which integers wrap.
template <class T>
struct Wrapping {
  using type = T;
};
template <>
struct Wrapping<int8_t> {
  using type = uint8_t;
};
template <>
struct Wrapping<int16_t> {
  using type = uint16_t;
};
template <>
struct Wrapping<int32_t> {
  using type = uint32_t;
};
template <>
struct Wrapping<int64_t> {
  using type = uint64_t;
};
template <class T>
using Wrap = typename Wrapping<T>::type;

inline TileFn find_tile(const TileRow* rows, int64_t n, uint32_t op, Work work) {
  for (int64_t i = 0; i < n; ++i)
    if (rows[i].op == op) return rows[i].by_work[work];
  return nullptr;
}

TileFn find_unary(uint32_t op, Work work);
TileFn find_binary(uint32_t op, Work work);
TileFn find_select(Work work);
TileFn find_cast(Work from, Work to);
void fill_conversions(Isa* isa);
void fill_rows(Isa* isa);
void fill_gemm(Isa* isa);
void fill_gemv(Isa* isa);
void fill_depthwise(Isa* isa);

}  // namespace FRL_ISA
}  // namespace cpu
