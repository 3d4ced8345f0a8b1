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

// Rows of images with their pads, their columns split by their phase of the stride: `stride` runs
// of phase() elements.
class PaddedRow {
 public:
  PaddedRow() = default;
  PaddedRow(const Isa& isa, const WindowAxis& w) : isa_(&isa), stride_(w.stride), begin_(w.begin) {
    const int64_t columns = (w.out - 1) * w.stride + (w.kernel - 1) * w.dilation + 1;
    phase_ = (columns + w.stride - 1) / w.stride;
    for (int64_t p = 0; p < w.stride; ++p) {
      // Padded columns p, p + stride, ..: pads, then elements [skip, last), then pads.
      const auto first_at = [&](int64_t column) { return (column - p + w.stride - 1) / w.stride; };
      const int64_t skip = std::clamp<int64_t>(first_at(w.begin), 0, phase_);
      parts_.push_back({skip, std::clamp<int64_t>(first_at(w.in + w.begin), skip, phase_)});
    }
  }
  int64_t phase() const { return phase_; }
  int64_t length() const { return phase_ * stride_; }
  // Where padded column `column` lies.
  int64_t place(int64_t column) const { return column % stride_ * phase_ + column / stride_; }

  void write(float* to, const float* row) const {
    for (int64_t p = 0; p < stride_; ++p, to += phase_) {
      const auto [skip, last] = parts_[static_cast<size_t>(p)];
      std::fill_n(to, skip, 0.0f);
      isa_->copy_step(to + skip, row + skip * stride_ + p - begin_, last - skip, stride_);
      std::fill(to + last, to + phase_, 0.0f);
    }
  }
  void write_pads(float* to) const { std::fill_n(to, length(), 0.0f); }

 private:
  struct Part {
    int64_t skip, last;
  };
  const Isa* isa_ = nullptr;
  int64_t stride_ = 1, begin_ = 0, phase_ = 0;
  std::vector<Part> parts_;
};

// y = e on x, for rows of `out` elements that lie `step` apart in x and follow each other in y.
inline void finish_rows(const Epilogue<float>& e, float* y, const float* x, int64_t rows,
                        int64_t out, int64_t step, int64_t channel, const float* residual) {
  constexpr int64_t kShort = 32;  // shorter rows are joined first, so that vectors are full
  if (out >= kShort) {
    for (int64_t h = 0; h < rows; ++h)
      e.finish(y + h * out, x + h * step, out, channel, nullptr,
               residual ? residual + h * out : nullptr);
    return;
  }
  for (int64_t h = 0; h < rows; ++h) std::copy_n(x + h * step, out, y + h * out);
  e.finish(y, y, rows * out, channel, nullptr, residual);
}

// One channel in, one out, f32, up to two spatial axes: rows of taps.
KernelPtr make_depthwise(const Context& context, ConvParts parts);

// More than one tap, f32, up to two spatial axes: windows are read where they lie.
bool fits_direct(const Isa& isa, const ConvShape& shape);
KernelPtr make_direct_conv(const Context& context, ConvParts parts);

}  // namespace cpu
