// What the convolution kernels share.
#pragma once

#include "plugins/cpu/activation.h"
#include "plugins/cpu/gemm.h"
#include "plugins/cpu/window.h"

namespace cpu {

struct ConvShape {
  int64_t n, c, m, groups;
  Window window;
  int64_t group_channels() const { return c / groups; }
  int64_t group_results() const { return m / groups; }
};

// Everything behind the sum, and where operands are.
struct ConvParts {
  ConvShape shape;
  Place x, w, bias, residual, y;
  uint32_t w_input;  // number of the input, for packs
  bool w_is_parameter;
  Activation activation;
  bool clamps = false;
  double low = 0, high = 0;
};

template <class T>
Epilogue<T> epilogue_of(const ConvParts& p, const frl::Call& call) {
  Epilogue<T> e;
  e.row_bias = p.bias.in<T>(call);
  e.residual = p.residual.in<T>(call);
  e.residual_stride = p.shape.window.out();
  e.activation = p.activation.fn;
  std::copy_n(p.activation.attributes, 2, e.attributes);
  e.clamps = p.clamps, e.low = static_cast<T>(p.low), e.high = static_cast<T>(p.high);
  return e;
}

// One channel in, one out, f32, up to two spatial axes: rows of taps.
KernelPtr make_depthwise(const Context& context, ConvParts parts);

// Stride 1, more than one tap, f32, up to two spatial axes: windows are read where they lie.
bool fits_direct(const ConvShape& shape);
KernelPtr make_direct_conv(const Context& context, ConvParts parts);

}  // namespace cpu
