// Convolution with stride 1, f32, without writing out its windows: the images lie padded in
// scratch, so that every tap of consecutive positions is one run of memory. Positions run over
// padded rows; the few that are no result are computed and dropped.
#include <algorithm>

#include "plugins/cpu/conv.h"

namespace cpu {
namespace {

constexpr int64_t kSlack = 64;                 // tiles read whole vectors past the last position
constexpr int64_t kProductFloats = 48 * 1024;  // of one task's sums

class DirectConv final : public frl::Kernel {
 public:
  DirectConv(const Context& context, ConvParts parts)
      : isa_(context.isa), loops_(isa_->gemm_f32), p_(std::move(parts)) {
    const ConvShape& s = p_.shape;
    const WindowAxis &h = height(), &w = width();
    row_ = PaddedRow(*isa_, w), line_ = row_.length();
    plane_ = ((h.out - 1) * h.stride + (h.kernel - 1) * h.dilation + 1) * line_;
    is_run_ = h.stride == 1 && w.stride == 1;
    depth_ = s.group_channels() * s.window.taps();
    rows_ = s.group_results();
    for (int64_t k = 0; k < depth_; ++k) {
      const int64_t tap = k % s.window.taps();
      offsets_.push_back(k / s.window.taps() * plane_ + tap / w.kernel * h.dilation * line_ +
                         row_.place(tap % w.kernel * w.dilation));
    }
    packed_ = packed_size(depth_, rows_, loops_.rows);
    if (p_.w_is_parameter)
      packs = {{p_.w_input, 0, pack_key("rows", {depth_, rows_, s.groups, loops_.rows, 4}),
                static_cast<uint64_t>(s.groups * packed_) * sizeof(float)}};
    // Padded images, then (unless packed already) the weights.
    padded_ = (s.n * s.c * plane_ + kSlack + 15) / 16 * 16;
    scratch_bytes =
        static_cast<uint64_t>(padded_ + (packs.empty() ? s.groups * packed_ : 0)) * sizeof(float);
    scratch_ = p_.y.argument() + 1;
  }

  void pack(uint32_t, const std::byte* source, std::byte* target, const frl_host*) const override {
    pack_weights(reinterpret_cast<const float*>(source), reinterpret_cast<float*>(target));
  }

  void run(const frl::Call& call) const override {
    const ConvShape& s = p_.shape;
    float* padded = call.out<float>(scratch_);
    if (s.n * s.m * s.window.out() == 0) return;
    frl::for_slices(call.host, s.n * s.c,
                    touch_ns(2.0 * static_cast<double>(plane_) * sizeof(float)), 0,
                    [&](int64_t begin, int64_t end, void*) {
                      for (int64_t i = begin; i < end; ++i)
                        pad_plane(padded + i * plane_, p_.x.in<float>(call) + i * s.window.in());
                    });
    // What lay there could be denormal, which takes a processor many times as long.
    std::fill(padded + s.n * s.c * plane_, padded + padded_, 0.0f);
    const float* w = p_.w.in<float>(call);
    if (packs.empty()) pack_weights(w, padded + padded_), w = padded + padded_;
    run_bands(call, padded, w);
  }

 private:
  const WindowAxis& height() const { return p_.shape.window.axis[1]; }
  const WindowAxis& width() const { return p_.shape.window.axis[2]; }

  void pack_weights(const float* w, float* to) const {
    for (int64_t g = 0; g < p_.shape.groups; ++g)
      for (int64_t m = 0; m < rows_; m += loops_.rows)
        loops_.pack(to + g * packed_ + m * depth_, w + (g * rows_ + m) * depth_, 1, depth_, depth_,
                    std::min(loops_.rows, rows_ - m), loops_.rows);
  }
  void pad_plane(float* to, const float* from) const {
    const WindowAxis& h = height();
    const int64_t n_rows = plane_ / line_;
    for (int64_t r = 0; r < n_rows; ++r, to += line_) {
      const int64_t row = r - h.begin;
      if (row < 0 || row >= h.in)
        row_.write_pads(to);
      else
        row_.write(to, from + row * width().in);
    }
  }

  // Tasks: image and group, a band of result rows, a part of the channels.
  void run_bands(const frl::Call& call, const float* padded, const float* w) const {
    const ConvShape& s = p_.shape;
    const int64_t workers = call.host->max_workers, images = s.n * s.groups;
    const int64_t most = std::max<int64_t>(1, kProductFloats / (rows_ * line_));
    const int64_t fair = (height().out * images + 2 * workers - 1) / (2 * workers);
    const int64_t band =
        std::clamp<int64_t>(std::min(most, std::max(fair, 256 / line_ + 1)), 1, height().out);
    const int64_t bands = (height().out + band - 1) / band;
    const int64_t parts = std::clamp<int64_t>(2 * workers / (images * bands), 1,
                                              (rows_ + 2 * loops_.rows - 1) / (2 * loops_.rows));
    const int64_t part =
        ((rows_ + parts - 1) / parts + loops_.rows - 1) / loops_.rows * loops_.rows;
    const int64_t ldc = n_runs(band) * pitch(band);
    const double ns = static_cast<double>(part * band * line_) * static_cast<double>(depth_) / 40;
    const Epilogue<float> e = epilogue_of<float>(*isa_, p_, call);
    frl::for_slices(call.host, images * bands * parts, ns,
                    static_cast<uint64_t>(part * ldc) * sizeof(float),
                    [&](int64_t begin, int64_t end, void* scratch) {
                      for (int64_t i = begin; i < end; ++i) {
                        const int64_t first = i / parts % bands * band, m = i % parts * part;
                        if (m >= rows_) continue;
                        task({call, e, padded, w, i / parts / bands, first,
                              std::min(height().out, first + band), m, std::min(rows_, m + part)},
                             static_cast<float*>(scratch), ldc);
                      }
                    });
  }
  // A band's positions: one run of all its rows, or a run a row.
  int64_t n_runs(int64_t rows) const { return is_run_ ? 1 : rows; }
  int64_t run_length(int64_t rows) const { return is_run_ ? rows * line_ : width().out; }
  // From run to run in the product: whole tiles.
  int64_t pitch(int64_t rows) const {
    const int64_t tile = 2 * loops_.lanes;
    return (run_length(rows) + tile - 1) / tile * tile;
  }
  struct Task {
    const frl::Call& call;
    const Epilogue<float>& epilogue;
    const float *padded, *w;
    int64_t image, h0, h1, m0, m1;
  };
  void task(const Task& t, float* product, int64_t ldc) const {
    const ConvShape& s = p_.shape;
    const int64_t group = t.image % s.groups, n = t.image / s.groups;
    const float* x = t.padded + (n * s.c + group * s.group_channels()) * plane_;
    const float* w = t.w + group * packed_;
    const int64_t rows = t.h1 - t.h0, length = run_length(rows);
    for (int64_t k0 = 0; k0 < depth_; k0 += kDepth) {
      const int64_t depth = std::min(kDepth, depth_ - k0);
      for (int64_t r = 0; r < n_runs(rows); ++r)
        for (int64_t j = 0; j < length; j += 2 * loops_.lanes)
          for (int64_t m = t.m0; m < t.m1; m += loops_.rows)
            loops_.offset(std::min(loops_.rows, t.m1 - m))(
                w + m * depth_ + k0 * loops_.rows, x + (t.h0 + r) * height().stride * line_ + j,
                offsets_.data() + k0, product + (m - t.m0) * ldc + r * pitch(rows) + j, ldc, depth,
                k0 > 0);
    }
    finish(t, product, ldc, n * s.m + group * rows_);
  }
  // Results without the dropped positions, row by row, through the epilogue.
  void finish(const Task& t, const float* product, int64_t ldc, int64_t first_channel) const {
    const int64_t out = width().out, plane = p_.shape.window.out();
    const int64_t step = is_run_ ? line_ : pitch(t.h1 - t.h0);
    float* y = p_.y.out<float>(t.call);
    for (int64_t m = t.m0; m < t.m1; ++m) {
      const int64_t channel = first_channel + m;
      const int64_t at = channel * plane + t.h0 * out;
      finish_rows(t.epilogue, y + at, product + (m - t.m0) * ldc, t.h1 - t.h0, out, step,
                  channel % p_.shape.m, t.epilogue.residual ? t.epilogue.residual + at : nullptr);
    }
  }

  const Isa* isa_;
  const GemmLoops<float>& loops_;
  ConvParts p_;
  PaddedRow row_;
  int64_t line_, plane_, depth_, rows_, packed_, padded_;
  int scratch_;
  bool is_run_;
  std::vector<int64_t> offsets_;
};

}  // namespace

bool fits_direct(const Isa& isa, const ConvShape& s) {
  const WindowAxis &d = s.window.axis[0], &h = s.window.axis[1], &w = s.window.axis[2];
  const bool flat = d.kernel == 1 && d.in == 1 && d.out == 1;
  if (!flat || !is_compact(s.window) || s.window.taps() == 1 || s.group_results() < 4 ||
      s.n * s.c * s.window.out() == 0)
    return false;
  if (h.stride == 1 && w.stride == 1) return true;
  // Rows of their own must fill most of their last tile.
  const int64_t tile = 2 * isa.gemm_f32.lanes, used = (w.out + tile - 1) / tile * tile;
  return std::max(h.stride, w.stride) <= 4 && 4 * w.out >= 3 * used;
}
KernelPtr make_direct_conv(const Context& context, ConvParts parts) {
  return std::make_unique<DirectConv>(context, std::move(parts));
}

}  // namespace cpu
