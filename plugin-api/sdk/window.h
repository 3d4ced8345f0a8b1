// The window of a convolution or pool over up to three spatial axes; fewer are filled with ones in
// front.
#pragma once

#include <algorithm>
#include <array>
#include <string>

#include "plugin-api/sdk/error.h"
#include "plugin-api/sdk/region.h"

namespace frl {

struct WindowAxis {
  int64_t in = 1, out = 1, kernel = 1, stride = 1, dilation = 1, begin = 0, end = 0;
  // Where tap `tap` of the window at `at` reads; outside [0, in) it is a pad.
  int64_t source(int64_t at, int64_t tap) const { return at * stride - begin + tap * dilation; }
  // Elements of the operand with the pads that windows reach.
  int64_t padded() const {
    return std::max((out - 1) * stride + (kernel - 1) * dilation + 1, begin + in);
  }
  bool operator==(const WindowAxis&) const = default;
};

struct Window {
  std::array<WindowAxis, 3> axis;  // depth, height, width
  int64_t in() const { return axis[0].in * axis[1].in * axis[2].in; }
  int64_t out() const { return axis[0].out * axis[1].out * axis[2].out; }
  int64_t taps() const { return axis[0].kernel * axis[1].kernel * axis[2].kernel; }
  bool operator==(const Window&) const = default;
};

// Lists over the spatial axes: strides at first_slot, then dilations, then pads. x and y are
// [n, c, spatial..]; kernel: as many extents as spatial axes.
//   errors  throws FRL_NO_SHAPE for other than one to three spatial axes
inline Window read_window(const Attributes& attributes, uint32_t first_slot, const Value& x,
                          const Value& y, std::span<const int64_t> kernel) {
  const auto strides = attributes.list(first_slot), dilations = attributes.list(first_slot + 1),
             pads = attributes.list(first_slot + 2);
  const size_t rank = kernel.size();
  if (rank == 0 || rank > 3)
    throw Failure(FRL_NO_SHAPE, "window: want 1 to 3 spatial axes, got " + std::to_string(rank));
  Window out;
  for (size_t i = 0; i < rank; ++i) {
    WindowAxis& a = out.axis[3 - rank + i];
    a.in = x.extents[2 + i], a.out = y.extents[2 + i], a.kernel = kernel[i];
    a.stride = strides.empty() ? 1 : strides[i];
    a.dilation = dilations.empty() ? 1 : dilations[i];
    a.begin = pads.empty() ? 0 : pads[i], a.end = pads.empty() ? 0 : pads[rank + i];
  }
  return out;
}

}  // namespace frl
