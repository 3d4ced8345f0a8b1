// Elements of any type as unsigned numbers in the same order, so that sorting and searching are
// written once. Zeros of either sign are one key; NaN is one key above all others.
#pragma once

#include "plugins/cpu/kernels.h"

namespace cpu {

// keys[i] = key of the element at x + i * step elements. upside_down: smaller elements get larger
// keys, but NaN still the largest.
using KeyLoader = void (*)(uint64_t* keys, const std::byte* x, int64_t step, int64_t n,
                           bool upside_down);
KeyLoader key_loader(uint32_t type);

}  // namespace cpu
