// The windows of convolutions and pools, which slide over up to three spatial axes.
#pragma once

#include "plugins/tpu-sim/program.h"

namespace tpu_sim {

// Lists over the spatial axes: strides at first_slot, then dilations, then pads. x and y are
// [n, c, spatial..]; kernel: as many extents as spatial axes.
//   errors  throws FRL_NO_SHAPE for other than one to three spatial axes
Geometry read_geometry(const frl::Attributes& attributes, uint32_t first_slot, const frl::Value& x,
                       const frl::Value& y, std::span<const int64_t> kernel);

}  // namespace tpu_sim
