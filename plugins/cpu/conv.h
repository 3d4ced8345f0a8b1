// What the convolution kernels share.
#pragma once

#include <algorithm>

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
  double low = -INFINITY, high = INFINITY;
};

template <class T>
Epilogue<T> epilogue_of(const Isa& isa, const ConvParts& p, const frl::Call& call) {
  Epilogue<T> e(isa, p.activation, p.low, p.high);
  e.row_bias = p.bias.in<T>(call);
  e.residual = p.residual.in<T>(call);
  e.residual_stride = p.shape.window.out();
  return e;
}

// A row of an image with its pads, its columns split by their phase of the stride: `stride` runs of
// `phase_length` elements.
inline void pad_row(float* to, const float* row, const WindowAxis& w, int64_t phase_length) {
  for (int64_t phase = 0; phase < w.stride; ++phase, to += phase_length) {
    // Padded columns phase, phase + stride, ..: pads, then the row, then pads.
    const auto first_at = [&](int64_t column) {
      return (column - phase + w.stride - 1) / w.stride;
    };
    const int64_t skip = std::clamp<int64_t>(first_at(w.begin), 0, phase_length);
    const int64_t last = std::clamp<int64_t>(first_at(w.in + w.begin), skip, phase_length);
    std::fill_n(to, skip, 0.0f);
    const float* source = row + phase - w.begin;
    if (w.stride == 1)
      std::copy(source + skip, source + last, to + skip);
    else
      for (int64_t k = skip; k < last; ++k) to[k] = source[k * w.stride];
    std::fill(to + last, to + phase_length, 0.0f);
  }
}

// One channel in, one out, f32, up to two spatial axes: rows of taps.
KernelPtr make_depthwise(const Context& context, ConvParts parts);

// More than one tap, f32, up to two spatial axes: windows are read where they lie.
bool fits_direct(const ConvShape& shape);
KernelPtr make_direct_conv(const Context& context, ConvParts parts);

}  // namespace cpu
