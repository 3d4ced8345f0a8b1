// Vectors as wide as the instruction set has them; loads and stores at any element.
#pragma once

#include "plugins/cpu/isa/math.h"

namespace cpu {
namespace FRL_ISA {

#if defined(__AVX512F__)
constexpr int kVector = 64, kRows = 12;
#elif defined(__AVX2__)
constexpr int kVector = 32, kRows = 6;
#else
constexpr int kVector = 16, kRows = 4;
#endif

template <class T>
struct Lanes {
  typedef T type __attribute__((vector_size(kVector), aligned(sizeof(T)), may_alias));
};
template <class T>
using Vector = typename Lanes<T>::type;
template <class T>
constexpr int kLanes = kVector / sizeof(T);

template <class T>
FRL_INLINE Vector<T> load_vector(const T* p) {
  return *reinterpret_cast<const Vector<T>*>(p);
}
template <class T>
FRL_INLINE void store_vector(T* p, Vector<T> v) {
  *reinterpret_cast<Vector<T>*>(p) = v;
}

}  // namespace FRL_ISA
}  // namespace cpu
