// Convolution with one channel a group, f32: bands of padded rows lie in scratch, split by the
// phase of the column stride, so that every tap of a row is one run of neighbours.
#include <algorithm>

#include "plugins/cpu/conv.h"

namespace cpu {
namespace {

constexpr int64_t kSlack = 16;  // window_row reads whole vectors
constexpr int64_t kBandFloats = 32 * 1024;

class Depthwise final : public frl::Kernel {
 public:
  Depthwise(const Context& context, ConvParts parts) : isa_(context.isa), p_(std::move(parts)) {
    const WindowAxis &h = height(), &w = width();
    columns_ = (w.out - 1) * w.stride + (w.kernel - 1) * w.dilation + 1;
    phase_ = (columns_ + w.stride - 1) / w.stride + kSlack;
    line_ = phase_ * w.stride;
    reach_ = (h.kernel - 1) * h.dilation + 1;
    const int64_t rows =
        std::max<int64_t>(kBandFloats / std::max<int64_t>(line_, 1) - reach_, 0) / h.stride + 1;
    band_ = std::clamp<int64_t>(rows, 1, std::max<int64_t>(h.out, 1));
  }

  void run(const frl::Call& call) const override {
    const ConvShape& s = p_.shape;
    const WindowAxis &h = height(), &w = width();
    if (s.n * s.m == 0 || h.out * w.out == 0) return;
    const int64_t bands = (h.out + band_ - 1) / band_, n_rows = (band_ - 1) * h.stride + reach_;
    const uint64_t bytes = static_cast<uint64_t>(n_rows * line_ + kSlack) * sizeof(float) +
                           static_cast<uint64_t>(s.window.taps()) * sizeof(const float*);
    const double ns = static_cast<double>(band_ * w.out * s.window.taps()) * 0.05 +
                      static_cast<double>(n_rows * line_) * 0.2;
    const Epilogue<float> all = epilogue_of<float>(p_, call);
    frl::for_slices(call.host, s.n * s.m * bands, ns, bytes,
                    [&](int64_t begin, int64_t end, void* scratch) {
                      for (int64_t i = begin; i < end; ++i) {
                        const int64_t first = i % bands * band_;
                        band(call, all, i / bands, first, std::min(h.out, first + band_),
                             static_cast<float*>(scratch), n_rows);
                      }
                    });
  }

 private:
  const WindowAxis& height() const { return p_.shape.window.axis[1]; }
  const WindowAxis& width() const { return p_.shape.window.axis[2]; }

  // Rows [h0, h1) of one plane of the result.
  void band(const frl::Call& call, const Epilogue<float>& all, int64_t plane, int64_t h0,
            int64_t h1, float* padded, int64_t n_rows) const {
    const ConvShape& s = p_.shape;
    const WindowAxis &h = height(), &w = width();
    const int64_t m = plane % s.m, channel = m / s.group_results(), taps = h.kernel * w.kernel;
    const float* x = p_.x.in<float>(call) + (plane / s.m * s.c + channel) * h.in * w.in;
    const float* weights = p_.w.in<float>(call) + m * taps;
    const float** rows =
        reinterpret_cast<const float**>(padded + (n_rows * line_ + kSlack) / 2 * 2);
    const int64_t top = h0 * h.stride - h.begin, n = (h1 - h0 - 1) * h.stride + reach_;
    for (int64_t r = 0; r < n; ++r) pad_row(padded + r * line_, x, top + r);
    float* y = p_.y.out<float>(call) + plane * h.out * w.out;
    const float start = all.row_bias ? all.row_bias[m] : 0.0f;
    for (int64_t at = h0; at < h1; ++at) {
      for (int64_t t = 0; t < taps; ++t) {
        const int64_t column = t % w.kernel * w.dilation,
                      row = (at - h0) * h.stride + t / w.kernel * h.dilation;
        rows[t] = padded + row * line_ + column % w.stride * phase_ + column / w.stride;
      }
      isa_->window_row(y + at * w.out, rows, weights, taps, w.out, start);
    }
    Epilogue<float> e = all;
    e.row_bias = nullptr, e.residual_stride = w.out;
    if (e.residual) e.residual += plane * h.out * w.out;
    apply_epilogue(e, y, w.out, h0, h1, 0, w.out);
  }
  void pad_row(float* to, const float* x, int64_t row) const {
    const WindowAxis &h = height(), &w = width();
    std::fill_n(to, line_, 0.0f);
    if (row < 0 || row >= h.in) return;
    const float* from = x + row * w.in;
    const int64_t end = std::min(columns_, w.in + w.begin);
    for (int64_t phase = 0; phase < w.stride; ++phase) {
      // Padded columns phase, phase + stride, ..; the first one that is not a pad.
      const int64_t skip = std::max<int64_t>(0, (w.begin - phase + w.stride - 1) / w.stride);
      float* out = to + phase * phase_;
      if (w.stride == 1) {
        if (end > skip) std::copy(from + skip - w.begin, from + end - w.begin, out + skip);
        continue;
      }
      for (int64_t k = skip, c = phase + skip * w.stride; c < end; ++k, c += w.stride)
        out[k] = from[c - w.begin];
    }
  }

  const Isa* isa_;
  ConvParts p_;
  int64_t columns_, phase_, line_, reach_, band_;
};

}  // namespace

KernelPtr make_depthwise(const Context& context, ConvParts parts) {
  return std::make_unique<Depthwise>(context, std::move(parts));
}

}  // namespace cpu
