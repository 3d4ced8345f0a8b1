// Dense tensors of any element type, for tests: exact, slow, and of nobody else's code.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "plugin-api/frl_plugin.h"

namespace host {

using Shape = std::vector<int64_t>;

inline int64_t count(const Shape& s) {
  int64_t n = 1;
  for (int64_t d : s) n *= d;
  return n;
}
inline int64_t size_of(int type) {
  const int64_t bytes[] = {0, 8, 4, 2, 2, 1, 2, 4, 8, 1, 2, 4, 8, 1};
  return bytes[type];
}

// ---- 16-bit floats, exact and slow ----
inline double from_bits16(uint16_t b, bool bf16) {
  const int mantissa_bits = bf16 ? 7 : 10, bias = bf16 ? 127 : 15, top = bf16 ? 255 : 31;
  const int e = (b >> mantissa_bits) & top, m = b & ((1 << mantissa_bits) - 1);
  const double sign = b >> 15 ? -1 : 1;
  if (e == top) return m ? NAN : sign * INFINITY;
  const double f = std::ldexp(double(m), -mantissa_bits);
  return sign * (e ? std::ldexp(1 + f, e - bias) : std::ldexp(f, 1 - bias));
}
// Nearest, ties to even.
inline uint16_t to_bits16(double x, bool bf16) {
  const int mantissa_bits = bf16 ? 7 : 10, bias = bf16 ? 127 : 15, top = bf16 ? 255 : 31;
  const auto sign = uint16_t(std::signbit(x) << 15);
  if (std::isnan(x)) return uint16_t(sign | (top << mantissa_bits) | (1 << (mantissa_bits - 1)));
  double a = std::fabs(x);
  if (std::isinf(a)) return uint16_t(sign | (top << mantissa_bits));
  if (a == 0) return sign;
  int e = std::max(std::ilogb(a), 1 - bias);
  const double steps = std::nearbyint(std::ldexp(a, mantissa_bits - e));
  int64_t m = int64_t(steps);
  if (m >= (int64_t(2) << mantissa_bits)) m >>= 1, ++e;
  if (e > bias) return uint16_t(sign | (top << mantissa_bits));
  const bool normal = m >= (int64_t(1) << mantissa_bits);
  return uint16_t(
      sign | (normal ? ((e + bias) << mantissa_bits) + (m - (int64_t(1) << mantissa_bits)) : m));
}

// ---- tensors ----
struct Tensor {
  int type = FRL_F32;
  Shape shape;
  std::vector<std::byte> bytes;

  Tensor() = default;
  Tensor(int t, Shape s) : type(t), shape(std::move(s)), bytes(size_t(count(shape) * size_of(t))) {}
  int64_t n() const { return count(shape); }
  template <class T>
  T* as() {
    return reinterpret_cast<T*>(bytes.data());
  }
  template <class T>
  const T* as() const {
    return reinterpret_cast<const T*>(bytes.data());
  }

  double at(int64_t i) const {
    switch (type) {
      case FRL_F64:
        return as<double>()[i];
      case FRL_F32:
        return as<float>()[i];
      case FRL_F16:
        return from_bits16(as<uint16_t>()[i], false);
      case FRL_BF16:
        return from_bits16(as<uint16_t>()[i], true);
      default:
        return double(int_at(i));
    }
  }
  int64_t int_at(int64_t i) const {
    switch (type) {
      case FRL_I8:
        return as<int8_t>()[i];
      case FRL_I16:
        return as<int16_t>()[i];
      case FRL_I32:
        return as<int32_t>()[i];
      case FRL_I64:
        return as<int64_t>()[i];
      case FRL_U8:
      case FRL_BOOL:
        return as<uint8_t>()[i];
      case FRL_U16:
        return as<uint16_t>()[i];
      case FRL_U32:
        return as<uint32_t>()[i];
      case FRL_U64:
        return int64_t(as<uint64_t>()[i]);
      default:
        return int64_t(at(i));
    }
  }
  void set(int64_t i, double v) {
    switch (type) {
      case FRL_F64:
        as<double>()[i] = v;
        return;
      case FRL_F32:
        as<float>()[i] = float(v);
        return;
      case FRL_F16:
        as<uint16_t>()[i] = to_bits16(v, false);
        return;
      case FRL_BF16:
        as<uint16_t>()[i] = to_bits16(v, true);
        return;
      default:
        set_int(i, int64_t(v));
        return;
    }
  }
  void set_int(int64_t i, int64_t v) {
    std::memcpy(bytes.data() + i * size_of(type), &v, size_t(size_of(type)));
  }
};

inline Tensor random(int type, const Shape& shape, uint32_t seed, double low = -2,
                     double high = 2) {
  Tensor t(type, shape);
  std::mt19937 g(seed);
  std::uniform_real_distribution<double> d(low, high);
  const bool integer = type >= FRL_I8;
  for (int64_t i = 0; i < t.n(); ++i)
    t.set(i, type == FRL_BOOL ? double(d(g) > (low + high) / 2)
             : integer        ? std::floor(d(g))
                              : d(g));
  return t;
}
inline Tensor of(int type, const Shape& shape, const std::vector<double>& values) {
  Tensor t(type, shape);
  for (int64_t i = 0; i < t.n(); ++i) t.set(i, values[size_t(i) % values.size()]);
  return t;
}

}  // namespace host
