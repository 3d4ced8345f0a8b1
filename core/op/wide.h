// Reference arithmetic: floats in double, integers in 64 bits that wrap. Rounding to the element
// type, or cutting to its width, happens once, in store().
#pragma once

#include <type_traits>
#include <vector>

#include "core/op/tensor.h"

namespace ferrule {

// Calls fn with a value of the type that elements of `type` are computed in: double, int64_t or
// uint64_t (bool too).
template <class Fn>
auto with_wide(Type type, Fn&& fn) {
  if (is_float(type)) return fn(double{});
  if (is_signed_int(type)) return fn(int64_t{});
  return fn(uint64_t{});
}

// Calls fn with an unsigned integer as large as an element, for ops that only move elements.
template <class Fn>
auto with_word(Type type, Fn&& fn) {
  switch (size_bytes(type)) {
    case 1:
      return fn(uint8_t{});
    case 2:
      return fn(uint16_t{});
    case 4:
      return fn(uint32_t{});
    default:
      return fn(uint64_t{});
  }
}

inline double widen(Half x) { return to_float(x); }
inline double widen(BFloat16 x) { return to_float(x); }
template <class T>
requires std::is_arithmetic_v<T> T widen(T x) { return x; }

template <class W>
std::vector<W> load(const Tensor& tensor) {
  std::vector<W> out(static_cast<size_t>(tensor.n_elements()));
  with_type(tensor.element(), [&]<class T>(T) {
    const auto in = tensor.as<T>();
    for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<W>(widen(in[i]));
  });
  return out;
}

// To element type T: floats round, integers keep the low bits, bool the lowest.
template <class T, class W>
T narrow(W x) {
  if constexpr (std::is_same_v<W, double>)
    return convert_to<T>(x);
  else if constexpr (std::is_same_v<T, bool>)
    return x & 1;
  else if constexpr (std::is_arithmetic_v<T>)
    return static_cast<T>(x);
  else
    return convert_to<T>(double(x));
}

template <class W>
void store(const std::vector<W>& values, Tensor& tensor) {
  with_type(tensor.element(), [&]<class T>(T) {
    const auto out = tensor.mutable_as<T>();
    for (size_t i = 0; i < out.size(); ++i) out[i] = narrow<T>(values[i]);
  });
}

// a + b and a * b; integers wrap.
template <class W>
W wide_add(W a, W b) {
  if constexpr (std::is_same_v<W, double>)
    return a + b;
  else
    return W(uint64_t(a) + uint64_t(b));
}
template <class W>
W wide_mul(W a, W b) {
  if constexpr (std::is_same_v<W, double>)
    return a * b;
  else
    return W(uint64_t(a) * uint64_t(b));
}
// NaN wins, the first of two.
template <class W>
W wide_max(W a, W b) {
  return a > b || a != a ? a : b;
}
template <class W>
W wide_min(W a, W b) {
  return a < b || a != a ? a : b;
}

// A combining op (`by`) and what it makes of nothing in element type `type`.
template <class W>
using Combine = W (*)(W, W);
template <class W>
Combine<W> combine_of(int64_t by) {
  switch (by) {
    case FRL_OP_mul:
      return wide_mul<W>;
    case FRL_OP_max:
      return wide_max<W>;
    case FRL_OP_min:
      return wide_min<W>;
    default:
      return wide_add<W>;
  }
}
template <class W>
W neutral_of(int64_t by, Type type);

}  // namespace ferrule
