// The window attributes that convolutions and pools share, with every default filled in.
#pragma once

#include "core/model/importer.h"

namespace ferrule {

// strides, dilations, pads and auto_pad over the spatial axes of x [n, c, spatial..]. A node that
// fails gives lists of ones and zeros.
struct Window {
  Ints kernel, strides, dilations, pads;  // pads: begins, then ends
  size_t n_axes() const { return kernel.size(); }
  // How far the kernel reaches along an axis.
  int64_t reach(size_t axis) const { return (kernel[axis] - 1) * dilations[axis] + 1; }
};

// `kernel` empty: the attribute kernel_shape.
Window window_of(ModelNode& n, Val x, Ints kernel = {});

}  // namespace ferrule
