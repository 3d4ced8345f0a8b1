// Element types in plain C++: storage, the type that sums are kept in, and dispatch over types.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "plugin-api/sdk/error.h"
#include "plugin-api/sdk/region.h"

namespace cpu {

// 16-bit floats as storage; arithmetic is in f32.
struct Half {
  uint16_t bits;
};
struct BFloat {
  uint16_t bits;
};

inline float to_float(Half h) {
  const uint32_t sign = uint32_t(h.bits & 0x8000u) << 16, rest = uint32_t(h.bits & 0x7fffu) << 13;
  // Scaling by 2^112 moves the exponent and makes denormals normal.
  const float scaled = std::bit_cast<float>(rest) * 5.19229686e33f;
  const uint32_t bits =
      rest >= 0x0f800000u ? (rest | 0x7f800000u) : std::bit_cast<uint32_t>(scaled);
  return std::bit_cast<float>(bits | sign);
}
inline float to_float(BFloat b) { return std::bit_cast<float>(uint32_t(b.bits) << 16); }
// Nearest, ties to even.
inline Half to_half(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x), sign = (bits >> 16) & 0x8000u;
  const uint32_t size = bits & 0x7fffffffu;
  uint32_t y = (size - 0x38000000u + 0xfffu + ((size >> 13) & 1u)) >> 13;
  if (size < 0x38800000u)
    y = std::bit_cast<uint32_t>(std::bit_cast<float>(size) + 0.5f) - std::bit_cast<uint32_t>(0.5f);
  if (size >= 0x47800000u) y = size > 0x7f800000u ? 0x7e00u : 0x7c00u;
  return {static_cast<uint16_t>(y | sign)};
}
inline BFloat to_bfloat(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  if (x != x) return {static_cast<uint16_t>((bits >> 16) | 0x40u)};
  return {static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
}

// The type that an element is computed in: itself, but f32 for 16-bit floats.
template <class T>
struct Computed {
  using type = T;
};
template <>
struct Computed<Half> {
  using type = float;
};
template <>
struct Computed<BFloat> {
  using type = float;
};
template <class T>
using Compute = typename Computed<T>::type;
template <class T>
constexpr bool kIsFloat = std::is_floating_point_v<Compute<T>>;

// The type of long sums: f64 for floats (so that the order hardly matters), 64-bit wrapping for
// ints.
template <class T>
using Sum = std::conditional_t<kIsFloat<T>, double, uint64_t>;

template <class T>
Compute<T> load(T x) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat>)
    return to_float(x);
  else
    return x;
}
// Rounds once from double as well: through f32 to odd where the target has 16 bits.
template <class T, class C>
T store(C x) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat>) {
    float f = static_cast<float>(x);
    if constexpr (std::is_same_v<C, double>) {
      if (static_cast<double>(f) != x && f == f && !std::isinf(f)) {
        uint32_t bits = std::bit_cast<uint32_t>(f);
        bits -= std::fabs(static_cast<double>(f)) > std::fabs(x);
        f = std::bit_cast<float>(bits | 1u);
      }
    }
    if constexpr (std::is_same_v<T, Half>)
      return to_half(f);
    else
      return to_bfloat(f);
  } else {
    return static_cast<T>(x);
  }
}

// Calls fn with a value of the C++ type that stores elements of `type`; bool as uint8_t.
template <class Fn>
auto with_type(uint32_t type, Fn&& fn) {
  switch (type) {
    case FRL_F64:
      return fn(double{});
    case FRL_F32:
      return fn(float{});
    case FRL_F16:
      return fn(Half{});
    case FRL_BF16:
      return fn(BFloat{});
    case FRL_I8:
      return fn(int8_t{});
    case FRL_I16:
      return fn(int16_t{});
    case FRL_I32:
      return fn(int32_t{});
    case FRL_I64:
      return fn(int64_t{});
    case FRL_U8:
    case FRL_BOOL:
      return fn(uint8_t{});
    case FRL_U16:
      return fn(uint16_t{});
    case FRL_U32:
      return fn(uint32_t{});
    case FRL_U64:
      return fn(uint64_t{});
    default:
      throw frl::Failure(FRL_NO_TYPE, "element type: want a number or bool");
  }
}
// For kernels that see 16-bit floats as f32.
template <class Fn>
auto with_float(uint32_t type, Fn&& fn) {
  if (type == FRL_F64) return fn(double{});
  if (type == FRL_F32) return fn(float{});
  throw frl::Failure(FRL_NO_TYPE, "element type: want f32 or f64");
}
// By size alone, for ops that only move elements.
template <class Fn>
auto with_size(uint32_t type, Fn&& fn) {
  switch (frl::element_bytes(type)) {
    case 1:
      return fn(uint8_t{});
    case 2:
      return fn(uint16_t{});
    case 4:
      return fn(uint32_t{});
    case 8:
      return fn(uint64_t{});
    default:
      throw frl::Failure(FRL_NO_TYPE, "element type: want 1, 2, 4 or 8 bytes");
  }
}

}  // namespace cpu
