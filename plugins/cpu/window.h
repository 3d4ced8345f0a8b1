// The window of a convolution or pool, as the kernels of this plugin read it.
#pragma once

#include "plugin-api/sdk/window.h"
#include "plugins/cpu/kernels.h"

namespace cpu {

using frl::Window;
using frl::WindowAxis;

// May the padded operand be written out? A model may ask for any pads and dilations.
inline bool is_compact(const Window& window) {
  double padded = 1;
  for (const WindowAxis& a : window.axis) padded *= static_cast<double>(a.padded());
  return padded <= 8 * static_cast<double>(window.in() + window.out()) + 65536;
}

inline Window read_window(const Request& request, const frl::Value& x, const frl::Value& y,
                          std::span<const int64_t> kernel, uint32_t first_slot) {
  return frl::read_window(request.region().attributes(), first_slot, x, y, kernel);
}

}  // namespace cpu
