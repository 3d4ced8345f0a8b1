// Elements as HBM stores them, and as the floats that VMEM holds.
#pragma once

#include "plugin-api/sdk/error.h"
#include "plugins/tpu-sim/program.h"

namespace tpu_sim {

// fn(T{}) with the type that elements are stored in.
template <class Fn>
auto with_stored(uint32_t type, Fn&& fn) {
  switch (type) {
    case FRL_F32:
      return fn(float{});
    case FRL_BF16:
      return fn(uint16_t{});
    case FRL_BOOL:
      return fn(uint8_t{});
    case FRL_I64:
      return fn(int64_t{});
    default:
      throw frl::Failure(FRL_NO_TYPE, "load: want f32, bf16, bool or i64");
  }
}
inline float as_float(float x) { return x; }
inline float as_float(uint16_t x) { return from_bf16(x); }
inline float as_float(uint8_t x) { return x ? 1.0f : 0.0f; }
inline float as_float(int64_t x) { return static_cast<float>(x); }
inline void put(float x, float* to) { *to = x; }
inline void put(float x, uint16_t* to) { *to = bf16_bits(x); }
inline void put(float x, uint8_t* to) { *to = x != 0; }
inline void put(float x, int64_t* to) { *to = static_cast<int64_t>(x); }

}  // namespace tpu_sim
