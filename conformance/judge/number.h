// The element types as sets of numbers: precision, range, spacing.
#pragma once

#include <cmath>

#include "core/op/tensor.h"

namespace ferrule::conformance {

constexpr double kInfinite = INFINITY;
// The bound of a zero whose sign is free: no number of use, but it lives through a few products.
constexpr double kLooseZero = 0x1p-1000;

struct FloatFormat {
  int digits;        // of the significand, the hidden one too
  int min_exponent;  // of the smallest normal number, as frexp counts
  double largest;
  double eps() const { return std::ldexp(1, 1 - digits); }
  double min_normal() const { return std::ldexp(1, min_exponent - 1); }
  // Distance to the next number away from zero; that of the denormals below them.
  double ulp(double x) const {
    int exponent = 0;
    if (x == 0 || !std::isfinite(x)) return std::ldexp(1, min_exponent - digits);
    std::frexp(x, &exponent);
    return std::ldexp(1, std::max(exponent, min_exponent) - digits);
  }
  // Numbers from here on round to infinity.
  double overflow() const { return largest + ulp(largest) / 2; }
};

inline FloatFormat format_of(Type type) {
  switch (type) {
    case Type::f64:
      return {53, -1021, 1.7976931348623157e308};
    case Type::f16:
      return {11, -13, 65504};
    case Type::bf16:
      return {8, -125, 3.3895313892515355e38};
    default:
      return {24, -125, 3.4028234663852886e38};
  }
}

// Rounded once to nearest even; infinite beyond the range.
inline double round_to(Type type, double x) {
  switch (type) {
    case Type::f64:
      return x;
    case Type::f16:
      return to_float(to_half(x));
    case Type::bf16:
      return to_float(to_bfloat16(x));
    default:
      return double(float(x));
  }
}

// What "kept wide" is at least: 16-bit floats in f32, others in their own type.
inline Type wide_type(Type type) {
  return type == Type::f16 || type == Type::bf16 ? Type::f32 : type;
}

}  // namespace ferrule::conformance
