// conv and conv_bias_act: per image and group one product of weights [m, c * taps] and the windows
// of x, which are written as panels while the product needs them.
#include "plugins/cpu/conv.h"

#include <algorithm>
#include <cstring>

namespace cpu {
namespace {

// The windows of one image and group as side B: element (k, p) is tap k of the window at position
// p.
template <class T>
struct WindowSide {
  const Window* window;
  const T* x;

  // Positions of a panel that lie on one row of the result.
  struct Run {
    int64_t d, h, w, n, at;
  };

  static void fill(const void* source, T* panels, int64_t k0, int64_t k, int64_t first, int64_t n,
                   int64_t width) {
    const auto& s = *static_cast<const WindowSide*>(source);
    for (int64_t c = 0; c < n; c += width)
      s.panel(panels + c * k, k0, k, first + c, std::min(width, n - c), width);
  }
  Side<T> side() const { return {nullptr, fill, this}; }

 private:
  void panel(T* to, int64_t k0, int64_t k, int64_t first, int64_t n, int64_t width) const {
    const WindowAxis &D = window->axis[0], &H = window->axis[1], &W = window->axis[2];
    Run runs[64];
    int n_runs = 0;
    for (int64_t at = 0; at < n;) {
      const int64_t p = first + at, w = p % W.out;
      const int64_t length = std::min(n - at, W.out - w);
      runs[n_runs++] = {p / (W.out * H.out), p / W.out % H.out, w, length, at};
      at += length;
    }
    const int64_t taps = window->taps(), plane = window->in();
    for (int64_t i = 0; i < k; ++i, to += width) {
      const int64_t tap = (k0 + i) % taps;
      const T* channel = x + (k0 + i) / taps * plane;
      const int64_t kw = tap % W.kernel, kh = tap / W.kernel % H.kernel,
                    kd = tap / (W.kernel * H.kernel);
      for (int r = 0; r < n_runs; ++r) {
        const Run& run = runs[r];
        const int64_t d = D.source(run.d, kd), h = H.source(run.h, kh);
        if (d < 0 || d >= D.in || h < 0 || h >= H.in) {
          std::fill_n(to + run.at, run.n, T{0});
          continue;
        }
        row(to + run.at, channel + (d * H.in + h) * W.in, W.source(run.w, kw), run.n);
      }
      if (n < width) std::fill(to + n, to + width, T{0});
    }
  }
  void row(T* to, const T* line, int64_t first, int64_t n) const {
    const WindowAxis& W = window->axis[2];
    if (W.stride == 1) {
      const int64_t left = std::clamp<int64_t>(-first, 0, n),
                    right = std::clamp<int64_t>(W.in - first, left, n);
      std::fill_n(to, left, T{0});
      for (int64_t i = left; i < right; ++i) to[i] = line[first + i];
      std::fill(to + right, to + n, T{0});
      return;
    }
    // Elements [left, right) lie on the row.
    const int64_t left = std::clamp<int64_t>((-first + W.stride - 1) / W.stride, 0, n);
    const int64_t right = std::clamp<int64_t>((W.in - first + W.stride - 1) / W.stride, left, n);
    std::fill_n(to, left, T{0});
    for (int64_t i = left; i < right; ++i) to[i] = line[first + i * W.stride];
    std::fill(to + right, to + n, T{0});
  }
};

template <class T>
class Conv final : public frl::Kernel {
 public:
  Conv(const Context& context, ConvParts parts) : isa_(context.isa), p_(std::move(parts)) {
    depth_ = p_.shape.group_channels() * p_.shape.window.taps();
    rows_ = p_.shape.group_results();
    positions_ = p_.shape.window.out();
    const int64_t bytes = p_.shape.groups * packed_a() * static_cast<int64_t>(sizeof(T));
    if (p_.w_is_parameter && bytes > 0)
      packs = {{p_.w_input, 0,
                pack_key("rows", {depth_, rows_, p_.shape.groups, isa_->gemm<T>().rows, sizeof(T)}),
                static_cast<uint64_t>(bytes)}};
  }

  void pack(uint32_t, const std::byte* source, std::byte* target, const frl_host*) const override {
    const T* w = reinterpret_cast<const T*>(source);
    for (int64_t g = 0; g < p_.shape.groups; ++g) {
      const StridedSide<T> side{isa_, w + g * rows_ * depth_, 1, depth_};
      const int64_t width = isa_->gemm<T>().rows;
      // One panel at a time: fill() keeps panels of one call side by side for all of k.
      for (int64_t m = 0; m < rows_; m += width)
        side.fill(&side, reinterpret_cast<T*>(target) + g * packed_a() + m * depth_, 0, depth_, m,
                  std::min(width, rows_ - m), width);
    }
  }

  void run(const frl::Call& call) const override {
    const ConvShape& s = p_.shape;
    const int64_t plane = s.window.in();
    const Epilogue<T> all = epilogue_of<T>(*isa_, p_, call);
    run_gemms<T>(call.host, s.n * s.groups, [&](int64_t i, auto&& use) {
      const int64_t image = i / s.groups, group = i % s.groups, first = group * rows_;
      const T* x = p_.x.in<T>(call) + (image * s.c + group * s.group_channels()) * plane;
      const T* w = p_.w.in<T>(call);
      const int64_t at = (image * s.m + first) * positions_;
      const WindowSide<T> windows{&s.window, x};
      const StridedSide<T> flat{isa_, x, positions_, 1};
      const StridedSide<T> weights{isa_, w + first * depth_, 1, depth_};
      Epilogue<T> e = all;
      if (e.row_bias) e.row_bias += first;
      if (e.residual) e.residual += at;
      Gemm<T> g{isa_,
                rows_,
                positions_,
                depth_,
                weights.side(),
                is_flat() ? flat.side_for(rows_, depth_) : windows.side(),
                panel_width<T>(*isa_, positions_),
                p_.y.out<T>(call) + at,
                positions_,
                e};
      if (!packs.empty()) g.a = {.packed = w + group * packed_a()};
      use(g);
    });
  }

 private:
  int64_t packed_a() const { return packed_size(depth_, rows_, isa_->gemm<T>().rows); }
  // The image is its own matrix of windows.
  bool is_flat() const {
    for (const WindowAxis& a : p_.shape.window.axis)
      if (a.kernel != 1 || a.stride != 1 || a.begin != 0 || a.out != a.in) return false;
    return true;
  }

  const Isa* isa_;
  ConvParts p_;
  int64_t depth_, rows_, positions_;
};

// Integers wrap: plain loops, in unsigned arithmetic.
template <class T>
KernelPtr make_integer_conv(ConvParts p) {
  using W = std::conditional_t<(sizeof(T) < 4), uint32_t, std::make_unsigned_t<T>>;
  return make_kernel([p = std::move(p)](const frl::Call& call) {
    const ConvShape& s = p.shape;
    const WindowAxis &D = s.window.axis[0], &H = s.window.axis[1], &V = s.window.axis[2];
    const int64_t positions = s.window.out(), plane = s.window.in(), taps = s.window.taps(),
                  cg = s.group_channels();
    frl::for_slices(
        call.host, s.n * s.m, static_cast<double>(positions * taps * cg), 0,
        [&](int64_t begin, int64_t end, void*) {
          for (int64_t row = begin; row < end; ++row) {
            const int64_t image = row / s.m, m = row % s.m, group = m / s.group_results();
            const T* x = p.x.in<T>(call) + (image * s.c + group * cg) * plane;
            const T* w = p.w.in<T>(call) + m * cg * taps;
            for (int64_t at = 0; at < positions; ++at) {
              W sum = p.bias.present() ? static_cast<W>(p.bias.in<T>(call)[m]) : W{0};
              for (int64_t k = 0; k < cg * taps; ++k) {
                const int64_t tap = k % taps;
                const int64_t d = D.source(at / (V.out * H.out), tap / (V.kernel * H.kernel));
                const int64_t h = H.source(at / V.out % H.out, tap / V.kernel % H.kernel);
                const int64_t v = V.source(at % V.out, tap % V.kernel);
                if (d < 0 || d >= D.in || h < 0 || h >= H.in || v < 0 || v >= V.in) continue;
                sum += static_cast<W>(w[k]) *
                       static_cast<W>(x[k / taps * plane + (d * H.in + h) * V.in + v]);
              }
              p.y.out<T>(call)[row * positions + at] = static_cast<T>(sum);
            }
          }
        });
  });
}

ConvParts read_parts(const Request& request) {
  const frl::Operand x = request.operand(0), w = request.operand(1), y = request.result(0);
  const std::span<const int64_t> kernel = w.value.shape().subspan(2);
  const int64_t groups = request.attribute_i(FRL_AT_conv_groups);
  ConvParts p{{x.value.extents[0], x.value.extents[1], w.value.extents[0], groups,
               read_window(request, x.value, y.value, kernel, FRL_AT_conv_strides)},
              Place(x),
              Place(w),
              Place(request.operand(2)),
              Place(),
              Place(y),
              request.input_of(w),
              w.value.is_parameter() && w.argument >= 0,
              {}};
  return p;
}

KernelPtr make_conv_of(const Context& context, const Request& request, ConvParts p) {
  const uint32_t type = request.result(0).value.type;
  const ConvShape& s = p.shape;
  if (type == FRL_F32 && s.group_channels() == 1 && s.groups > 1 && s.window.axis[0].kernel == 1 &&
      s.window.axis[0].in == 1 && is_compact(s.window))
    return make_depthwise(context, std::move(p));
  if (type == FRL_F32 && fits_direct(*context.isa, s))
    return make_direct_conv(context, std::move(p));
  return with_type(type, [&]<class T>(T) -> KernelPtr {
    if constexpr (std::is_integral_v<T>)
      return make_integer_conv<T>(std::move(p));
    else if constexpr (std::is_floating_point_v<T>)
      return std::make_unique<Conv<T>>(context, std::move(p));
    else
      throw frl::Failure(FRL_NO_TYPE, "conv: want a number");
  });
}

}  // namespace

KernelPtr make_conv(const Context& context, const Request& request) {
  return make_conv_of(context, request, read_parts(request));
}

KernelPtr make_conv_bias_act(const Context& context, const Request& request) {
  ConvParts p = read_parts(request);
  const bool is_f64 = request.result(0).value.type == FRL_F64;
  p.residual = Place(request.operand(3));
  p.activation = find_activation(*context.isa, request.attribute_i(FRL_AT_conv_bias_act_activation),
                                 is_f64 ? kWorkF64 : kWorkF32);
  p.low = request.attribute_f(FRL_AT_conv_bias_act_low),
  p.high = request.attribute_f(FRL_AT_conv_bias_act_high);
  return make_conv_of(context, request, std::move(p));
}

}  // namespace cpu
