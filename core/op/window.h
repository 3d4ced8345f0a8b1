// The windows of convolutions and pools, one row for each spatial axis.
#pragma once

#include "core/op/refuse.h"

namespace ferrule {

struct WindowAxis {
  int64_t kernel = 1, stride = 1, dilation = 1, begin = 0, end = 0;
  // From the first to the last tap, in elements.
  int64_t span() const { return (kernel - 1) * dilation + 1; }
};
using Window = std::vector<WindowAxis>;

// `first_slot` is the slot of strides; dilations and pads follow it.
//   errors  invalid_argument for list lengths and values outside 1 (pads: 0) .. kMaxWindow
Result<Window> read_window(const OpCall& call, std::span<const int64_t> kernel,
                           uint32_t first_slot);

}  // namespace ferrule
