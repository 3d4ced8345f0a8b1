#include "core/op/element.h"

#include <cmath>

namespace ferrule {
namespace {

struct Row {
  Type type;
  std::string_view name;
  int64_t size_bytes;
};

constexpr Row kRows[] = {
    {Type::f64, "f64", 8},      {Type::f32, "f32", 4}, {Type::f16, "f16", 2},
    {Type::bf16, "bf16", 2},    {Type::i8, "i8", 1},   {Type::i16, "i16", 2},
    {Type::i32, "i32", 4},      {Type::i64, "i64", 8}, {Type::u8, "u8", 1},
    {Type::u16, "u16", 2},      {Type::u32, "u32", 4}, {Type::u64, "u64", 8},
    {Type::boolean, "bool", 1},
};

// Rounds |value| to a float with `fraction` explicit fraction bits and exponents from `least` up,
// once, to nearest even; subnormals included. The result is exact in double.
double round_to(double value, int fraction, int least) {
  int exponent = 0;
  std::frexp(value, &exponent);
  const int ulp = std::max(exponent - 1, least) - fraction;
  return std::ldexp(std::nearbyint(std::ldexp(value, -ulp)), ulp);
}

}  // namespace

int64_t size_bytes(Type type) {
  const auto i = size_t(type) - 1;
  return i < std::size(kRows) ? kRows[i].size_bytes : 0;
}

std::string_view type_name(Type type) {
  const auto i = size_t(type) - 1;
  return i < std::size(kRows) ? kRows[i].name : "?";
}

Type parse_type(std::string_view name) {
  for (const Row& row : kRows)
    if (row.name == name) return row.type;
  return Type::none;
}

float to_float(Half h) {
  const int exponent = h.bits >> 10 & 31;
  const int fraction = h.bits & 1023;
  const float sign = h.bits >> 15 ? -1.0f : 1.0f;
  if (exponent == 31) return fraction ? std::nanf("") : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(float(fraction), -24);
  return sign * std::ldexp(float(fraction + 1024), exponent - 25);
}

Half to_half(double value) {
  const auto sign = uint16_t(std::signbit(value) ? 0x8000 : 0);
  if (std::isnan(value)) return {uint16_t(sign | 0x7e00)};
  const double size = std::isinf(value) ? value : round_to(std::fabs(value), 10, -14);
  if (std::fabs(size) > 65504.0) return {uint16_t(sign | 0x7c00)};
  if (size < std::ldexp(1.0, -14)) return {uint16_t(sign | uint16_t(std::ldexp(size, 24)))};
  int exponent = 0;
  const double mantissa = std::frexp(size, &exponent);
  return {uint16_t(sign | (exponent + 14) << 10 | (int(std::ldexp(mantissa, 11)) & 1023))};
}

BFloat16 to_bfloat16(double value) {
  if (std::isnan(value)) return {uint16_t(std::signbit(value) ? 0xffc0 : 0x7fc0)};
  if (value == 0 || std::isinf(value))
    return {uint16_t(std::bit_cast<uint32_t>(float(value)) >> 16)};
  const double size = round_to(std::fabs(value), 7, -126);
  return {uint16_t(std::bit_cast<uint32_t>(float(std::copysign(size, value))) >> 16)};
}

}  // namespace ferrule
