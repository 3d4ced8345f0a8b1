// The window of a convolution or pool over up to three spatial axes; fewer are filled with ones in
// front.
#pragma once

#include <algorithm>

#include "plugins/cpu/kernels.h"

namespace cpu {

struct WindowAxis {
  int64_t in = 1, out = 1, kernel = 1, stride = 1, dilation = 1, begin = 0, end = 0;
  // Where tap `tap` of the window at `at` reads; outside [0, in) it is a pad.
  int64_t source(int64_t at, int64_t tap) const { return at * stride - begin + tap * dilation; }
  // Elements of the operand with the pads that windows reach.
  int64_t padded() const {
    return std::max((out - 1) * stride + (kernel - 1) * dilation + 1, begin + in);
  }
};

struct Window {
  WindowAxis axis[3];  // depth, height, width
  int64_t in() const { return axis[0].in * axis[1].in * axis[2].in; }
  int64_t out() const { return axis[0].out * axis[1].out * axis[2].out; }
  int64_t taps() const { return axis[0].kernel * axis[1].kernel * axis[2].kernel; }
  // May the padded operand be written out? A model may ask for any pads and dilations.
  bool is_compact() const {
    double padded = 1;
    for (const WindowAxis& a : axis) padded *= static_cast<double>(a.padded());
    return padded <= 8 * static_cast<double>(in() + out()) + 65536;
  }
};

// Lists over the spatial axes: strides at first_slot, then dilations, then pads. x and y are
// [n, c, spatial..]; kernel: as many extents as spatial axes.
Window read_window(const Request& request, const frl::Value& x, const frl::Value& y,
                   std::span<const int64_t> kernel, uint32_t first_slot);

}  // namespace cpu
