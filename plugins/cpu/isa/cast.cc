// Tile loops that change the element type, and the 16-bit floats' way in and out.
#include <cstring>

#include "plugins/cpu/isa/tiles.h"

namespace cpu {
namespace FRL_ISA {
namespace {

struct Boolean {
  uint8_t value;
};

template <class To, class From>
FRL_INLINE To convert(From a) {
  if constexpr (__is_same(From, Boolean)) {
    if constexpr (__is_same(To, Boolean))
      return a;
    else
      return static_cast<To>(a.value);
  } else if constexpr (__is_same(To, Boolean)) {
    return {static_cast<uint8_t>(a != From(0))};
  } else if constexpr (kIsFloat<From> && !kIsFloat<To>) {
    // Truncates and saturates; NaN gives 0. The top as a float may be one too high: then nothing
    // that fits is at or above it.
    constexpr To low = std::numeric_limits<To>::min(), high = std::numeric_limits<To>::max();
    constexpr From top = static_cast<From>(high);
    if (a != a) return 0;
    if (a <= static_cast<From>(low)) return low;
    return a >= top ? high : static_cast<To>(a);
  } else {
    return static_cast<To>(a);
  }
}

template <class From, class To>
void cast_loop(void* dst, const void* a, const void*, const void*, int64_t n, const double*) {
  const From* x = static_cast<const From*>(a);
  To* y = static_cast<To*>(dst);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = convert<To>(x[i]);
}

struct CastRow {
  TileFn to[kNWork];
};
template <class From>
constexpr CastRow from() {
  return {{cast_loop<From, double>, cast_loop<From, float>, cast_loop<From, int8_t>,
           cast_loop<From, int16_t>, cast_loop<From, int32_t>, cast_loop<From, int64_t>,
           cast_loop<From, uint8_t>, cast_loop<From, uint16_t>, cast_loop<From, uint32_t>,
           cast_loop<From, uint64_t>, cast_loop<From, Boolean>}};
}
constexpr CastRow kCasts[kNWork] = {from<double>(),   from<float>(),    from<int8_t>(),
                                    from<int16_t>(),  from<int32_t>(),  from<int64_t>(),
                                    from<uint8_t>(),  from<uint16_t>(), from<uint32_t>(),
                                    from<uint64_t>(), from<Boolean>()};

// ---- 16-bit floats ----

FRL_INLINE float half_to_float(uint16_t h) {
  const uint32_t sign = uint32_t(h & 0x8000u) << 16, rest = uint32_t(h & 0x7fffu) << 13;
  // Scaling by 2^112 moves the exponent and makes denormals normal; the top exponent stays special.
  const float scaled = as_float(rest) * 5.19229686e33f;
  const uint32_t bits = rest >= 0x0f800000u ? (rest | 0x7f800000u) : as_bits(scaled);
  return as_float(bits | sign);
}
// Nearest, ties to even.
FRL_INLINE uint16_t float_to_half(float x) {
  const uint32_t bits = as_bits(x), sign = (bits >> 16) & 0x8000u, size = bits & 0x7fffffffu;
  const uint32_t rounded = size - 0x38000000u + 0xfffu + ((size >> 13) & 1u);
  const uint32_t normal = rounded >> 13;
  // Below 2^-14 the sum with 1/2 has its last bit at the denormals' last bit.
  const uint32_t denormal = as_bits(as_float(size) + 0.5f) - as_bits(0.5f);
  uint32_t y = size < 0x38800000u ? denormal : normal;
  y = size >= 0x47800000u ? 0x7c00u : y;
  y = size > 0x7f800000u ? 0x7e00u : y;
  return static_cast<uint16_t>(y | sign);
}
FRL_INLINE float bfloat_to_float(uint16_t b) { return as_float(uint32_t(b) << 16); }
FRL_INLINE uint16_t float_to_bfloat(float x) {
  const uint32_t bits = as_bits(x);
  const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  return static_cast<uint16_t>(x != x ? ((bits >> 16) | 0x40u) : rounded);
}

template <float (*load)(uint16_t)>
void load_loop(void* dst, const void* a, const void*, const void*, int64_t n, const double*) {
  const uint16_t* x = static_cast<const uint16_t*>(a);
  float* y = static_cast<float*>(dst);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = load(x[i]);
}
template <uint16_t (*store)(float)>
void store_loop(void* dst, const void* a, const void*, const void*, int64_t n, const double*) {
  const float* x = static_cast<const float*>(a);
  uint16_t* y = static_cast<uint16_t*>(dst);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = store(x[i]);
}
template <float (*load)(uint16_t), uint16_t (*store)(float)>
void round_loop(void* dst, const void* a, const void*, const void*, int64_t n, const double*) {
  const float* x = static_cast<const float*>(a);
  float* y = static_cast<float*>(dst);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = load(store(x[i]));
}
// To odd: an inexact result gets its last bit set, so that rounding it again is rounding once.
void narrow_odd_loop(void* dst, const void* a, const void*, const void*, int64_t n, const double*) {
  const double* x = static_cast<const double*>(a);
  float* y = static_cast<float*>(dst);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const float f = static_cast<float>(x[i]);
    const double back = static_cast<double>(f);
    const uint32_t up = __builtin_fabs(back) > __builtin_fabs(x[i]);
    const uint32_t bits = (as_bits(f) - up) | 1u;
    y[i] = back == x[i] || f != f || magnitude(f) == kInf ? f : as_float(bits);
  }
}

}  // namespace

TileFn find_cast(Work from, Work to) { return kCasts[from].to[to]; }

void fill_conversions(Isa* isa) {
  isa->load_f16 = load_loop<half_to_float>, isa->load_bf16 = load_loop<bfloat_to_float>;
  isa->store_f16 = store_loop<float_to_half>, isa->store_bf16 = store_loop<float_to_bfloat>;
  isa->round_f16 = round_loop<half_to_float, float_to_half>;
  isa->round_bf16 = round_loop<bfloat_to_float, float_to_bfloat>;
  isa->narrow_odd = narrow_odd_loop;
}

}  // namespace FRL_ISA
}  // namespace cpu
