// conv_transpose: per image and group one product w^T x, whose columns are then added to where
// their taps lie in the result.
#include <algorithm>

#include "plugins/cpu/conv.h"

namespace cpu {
namespace {

// Output `out` receives x[at] w[tap] where out = at * stride - begin + tap * dilation; the window's
// axes have in and out exchanged: `out` counts x, `in` the result.
template <class T>
class ConvTranspose final : public frl::Kernel {
 public:
  ConvTranspose(const Context& context, const ConvShape& shape, Place x, Place w, Place bias,
                Place y, int scratch_place)
      : isa_(context.isa),
        s_(shape),
        x_(std::move(x)),
        w_(std::move(w)),
        bias_(std::move(bias)),
        y_(std::move(y)),
        scratch_(scratch_place) {
    scratch_bytes =
        static_cast<uint64_t>(std::max<int64_t>(rows() * s_.window.out(), 1)) * sizeof(T);
  }

  void run(const frl::Call& call) const override {
    const int64_t positions = s_.window.out(), cg = s_.group_channels();
    T* columns = call.out<T>(scratch_);
    for (int64_t i = 0; i < s_.n * s_.groups; ++i) {
      const int64_t image = i / s_.groups, group = i % s_.groups;
      const StridedSide<T> a{isa_, w_.in<T>(call) + group * cg * rows(), rows(), 1};
      const StridedSide<T> b{isa_, x_.in<T>(call) + (image * s_.c + group * cg) * positions,
                             positions, 1};
      run_gemm(call.host, Gemm<T>{isa_,
                                  rows(),
                                  positions,
                                  cg,
                                  a.side(),
                                  b.side(),
                                  panel_width<T>(*isa_, positions),
                                  columns,
                                  positions,
                                  {}});
      const int64_t mg = s_.group_results();
      frl::for_slices(
          call.host, mg, static_cast<double>(s_.window.taps() * positions), 0,
          [&](int64_t begin, int64_t end, void*) {
            for (int64_t m = begin; m < end; ++m) {
              const T start = bias_.present() ? bias_.in<T>(call)[group * mg + m] : T{0};
              add_taps(y_.out<T>(call) + (image * s_.m + group * mg + m) * s_.window.in(),
                       columns + m * s_.window.taps() * positions, start);
            }
          });
    }
  }

 private:
  int64_t rows() const { return s_.group_results() * s_.window.taps(); }
  void add_taps(T* y, const T* columns, T start) const {
    const WindowAxis &D = s_.window.axis[0], &H = s_.window.axis[1], &W = s_.window.axis[2];
    std::fill_n(y, s_.window.in(), start);
    for (int64_t kd = 0; kd < D.kernel; ++kd)
      for (int64_t kh = 0; kh < H.kernel; ++kh)
        for (int64_t kw = 0; kw < W.kernel; ++kw, columns += s_.window.out())
          for (int64_t d = 0; d < D.out; ++d)
            for (int64_t h = 0; h < H.out; ++h) {
              const int64_t to_d = D.source(d, kd), to_h = H.source(h, kh);
              if (to_d < 0 || to_d >= D.in || to_h < 0 || to_h >= H.in) continue;
              T* row = y + (to_d * H.in + to_h) * W.in;
              const T* from = columns + (d * H.out + h) * W.out;
              for (int64_t w = 0; w < W.out; ++w) {
                const int64_t to = W.source(w, kw);
                if (to >= 0 && to < W.in) row[to] += from[w];
              }
            }
  }

  const Isa* isa_;
  ConvShape s_;
  Place x_, w_, bias_, y_;
  int scratch_;
};

}  // namespace

KernelPtr make_conv_transpose(const Context& context, const Request& request) {
  const frl::Operand x = request.operand(0), w = request.operand(1), y = request.result(0);
  const int64_t groups = request.attribute_i(FRL_AT_conv_transpose_groups);
  const ConvShape s{x.value.extents[0], x.value.extents[1], w.value.extents[1] * groups, groups,
                    read_window(request, y.value, x.value, w.value.shape().subspan(2),
                                FRL_AT_conv_transpose_strides)};
  return with_float(y.value.type, [&]<class T>(T) -> KernelPtr {
    return std::make_unique<ConvTranspose<T>>(context, s, Place(x), Place(w),
                                              Place(request.operand(2)), Place(y), y.argument + 1);
  });
}

}  // namespace cpu
