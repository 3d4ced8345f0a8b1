// Element types: the ids of the C ABI, their sizes and names, and the 16-bit floats.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

#include "plugin-api/frl_plugin.h"

namespace ferrule {

enum class Type : uint8_t {
  none = FRL_ANY_TYPE,
  f64 = FRL_F64,
  f32 = FRL_F32,
  f16 = FRL_F16,
  bf16 = FRL_BF16,
  i8 = FRL_I8,
  i16 = FRL_I16,
  i32 = FRL_I32,
  i64 = FRL_I64,
  u8 = FRL_U8,
  u16 = FRL_U16,
  u32 = FRL_U32,
  u64 = FRL_U64,
  boolean = FRL_BOOL,
};

// Bytes of one element; 0 for ids that are only reserved.
int64_t size_bytes(Type type);
// "f32", "bool"; "?" for an unknown id.
std::string_view type_name(Type type);
// Type::none if there is no such name.
Type parse_type(std::string_view name);

constexpr bool is_float(Type t) { return t >= Type::f64 && t <= Type::bf16; }
// 16-bit floats are normalised and summed in f32, as every backend does; others in their own type.
constexpr Type wide(Type t) { return t == Type::f16 || t == Type::bf16 ? Type::f32 : t; }
constexpr bool is_signed_int(Type t) { return t >= Type::i8 && t <= Type::i64; }
constexpr bool is_unsigned_int(Type t) { return t >= Type::u8 && t <= Type::u64; }
constexpr bool is_int(Type t) { return is_signed_int(t) || is_unsigned_int(t); }

// 16-bit floats as storage. Conversion to them rounds to nearest even.
struct Half {
  uint16_t bits = 0;
};
struct BFloat16 {
  uint16_t bits = 0;
};

float to_float(Half h);
Half to_half(double value);
inline float to_float(BFloat16 b) { return std::bit_cast<float>(uint32_t(b.bits) << 16); }
BFloat16 to_bfloat16(double value);

// Calls fn with a value of the C++ type that stores elements of `type`:
// double, float, Half, BFloat16, int8_t .. uint64_t, bool.
template <class Fn>
auto with_type(Type type, Fn&& fn) {
  switch (type) {
    case Type::f64:
      return fn(double{});
    case Type::f16:
      return fn(Half{});
    case Type::bf16:
      return fn(BFloat16{});
    case Type::i8:
      return fn(int8_t{});
    case Type::i16:
      return fn(int16_t{});
    case Type::i32:
      return fn(int32_t{});
    case Type::i64:
      return fn(int64_t{});
    case Type::u8:
      return fn(uint8_t{});
    case Type::u16:
      return fn(uint16_t{});
    case Type::u32:
      return fn(uint32_t{});
    case Type::u64:
      return fn(uint64_t{});
    case Type::boolean:
      return fn(bool{});
    default:
      return fn(float{});
  }
}

}  // namespace ferrule
