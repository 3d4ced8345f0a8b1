// Convolution with one channel a group, f32: bands of padded rows lie in scratch, split by the
// phase of the column stride, so that every tap of a row is one run of neighbours. With stride 1
// the rows of a band are one run as well; the positions between them are computed and dropped.
#include <algorithm>

#include "plugins/cpu/conv.h"

namespace cpu {
namespace {

constexpr int64_t kSlack = 64;  // window_row reads and writes whole vectors
constexpr int64_t kBandFloats = 8 * 1024;

class Depthwise final : public frl::Kernel {
 public:
  Depthwise(const Context& context, ConvParts parts) : isa_(context.isa), p_(std::move(parts)) {
    const WindowAxis &h = height(), &w = width();
    row_ = PaddedRow(*isa_, w), line_ = row_.length();
    reach_ = (h.kernel - 1) * h.dilation + 1;
    is_run_ = h.stride == 1 && w.stride == 1;
    const int64_t rows =
        std::max<int64_t>(kBandFloats / std::max<int64_t>(line_, 1) - reach_, 0) / h.stride + 1;
    band_ = std::clamp<int64_t>(rows, 1, std::max<int64_t>(h.out, 1));
    n_rows_ = (band_ - 1) * h.stride + reach_;
    pitch_ = is_run_ ? line_ : w.out;
    product_ = band_ * pitch_ + kSlack;
    for (int64_t t = 0; t < h.kernel * w.kernel; ++t)
      tap_places_.push_back(t / w.kernel * h.dilation * line_ +
                            row_.place(t % w.kernel * w.dilation));
  }

  void run(const frl::Call& call) const override {
    const ConvShape& s = p_.shape;
    const WindowAxis &h = height(), &w = width();
    if (s.n * s.m == 0 || h.out * w.out == 0) return;
    const int64_t bands = (h.out + band_ - 1) / band_, taps = s.window.taps();
    const uint64_t bytes =
        static_cast<uint64_t>(n_rows_ * line_ + kSlack + product_ + 2) * sizeof(float) +
        static_cast<uint64_t>(taps) * sizeof(const float*);
    const double ns = static_cast<double>(band_ * w.out * taps) * 0.03 +
                      static_cast<double>(n_rows_ * line_) * 0.15;
    const Epilogue<float> all = epilogue_of<float>(*isa_, p_, call);
    frl::for_slices(call.host, s.n * s.m * bands, ns, bytes,
                    [&](int64_t begin, int64_t end, void* scratch) {
                      for (int64_t i = begin; i < end; ++i) {
                        const int64_t first = i % bands * band_;
                        band(call, all, i / bands, first, std::min(h.out, first + band_),
                             static_cast<float*>(scratch));
                      }
                    });
  }

 private:
  const WindowAxis& height() const { return p_.shape.window.axis[1]; }
  const WindowAxis& width() const { return p_.shape.window.axis[2]; }

  // Rows [h0, h1) of one plane of the result.
  void band(const frl::Call& call, const Epilogue<float>& all, int64_t plane, int64_t h0,
            int64_t h1, float* padded) const {
    const ConvShape& s = p_.shape;
    const WindowAxis &h = height(), &w = width();
    const int64_t m = plane % s.m, channel = m / s.group_results(), taps = h.kernel * w.kernel;
    const float* x = p_.x.in<float>(call) + (plane / s.m * s.c + channel) * h.in * w.in;
    float* product = padded + n_rows_ * line_ + kSlack;
    const auto** rows =
        reinterpret_cast<const float**>(padded + (n_rows_ * line_ + kSlack + product_ + 1) / 2 * 2);
    const int64_t top = h0 * h.stride - h.begin, n = (h1 - h0 - 1) * h.stride + reach_;
    for (int64_t r = 0; r < n; ++r) {
      if (top + r < 0 || top + r >= h.in)
        row_.write_pads(padded + r * line_);
      else
        row_.write(padded + r * line_, x + (top + r) * w.in);
    }
    std::fill_n(padded + n * line_, kSlack, 0.0f);  // denormals would be slow
    for (int64_t t = 0; t < taps; ++t) rows[t] = padded + tap_places_[static_cast<size_t>(t)];
    const float* weights = p_.w.in<float>(call) + m * taps;
    if (is_run_) isa_->window_row(product, rows, weights, taps, (h1 - h0) * line_);
    for (int64_t at = h0; !is_run_ && at < h1; ++at) {
      isa_->window_row(product + (at - h0) * pitch_, rows, weights, taps, w.out);
      for (int64_t t = 0; t < taps; ++t) rows[t] += h.stride * line_;
    }
    const int64_t to = (plane * h.out + h0) * w.out;
    finish_rows(all, p_.y.out<float>(call) + to, product, h1 - h0, w.out, pitch_, m,
                all.residual ? all.residual + to : nullptr);
  }

  const Isa* isa_;
  ConvParts p_;
  PaddedRow row_;
  int64_t line_, reach_, band_, n_rows_, pitch_, product_;
  bool is_run_;
  std::vector<int64_t> tap_places_;  // in the padded rows of one window
};

}  // namespace

KernelPtr make_depthwise(const Context& context, ConvParts parts) {
  return std::make_unique<Depthwise>(context, std::move(parts));
}

}  // namespace cpu
