// What lowerings of products share.
#pragma once

#include "plugins/tpu-sim/emit.h"

namespace tpu_sim {

// How often the array runs for a product of this type in the region's compute mode: 1 for bf16, or
// where reduced products are allowed, 3 for bf16x3, else 6, which keeps all bits of f32.
int passes_of(const frl::Region& region, uint32_t type);

}  // namespace tpu_sim
