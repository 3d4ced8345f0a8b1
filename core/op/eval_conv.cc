// Reference evaluation of convolutions: one kernel tap at a time, along rows of the last axis.
#include <algorithm>

#include "core/op/rules.h"
#include "core/op/walk.h"
#include "core/op/wide.h"
#include "core/op/window.h"

namespace ferrule {
namespace {

// What both convolutions walk over: `small` is the side that strides step over (the result of conv,
// the operand of conv_transpose), `large` the other one. Both without batch and channels.
//   large = small * stride + tap * dilation - begin
struct Taps {
  Shape kernel, small, large;
  Window window;
  Strides large_strides;

  // fn(tap number, offset in small, offset in large, step in large, n) for each tap and row of
  // small: the elements that the tap joins.
  template <class Fn>
  void each(Fn&& fn) const {
    const size_t last = small.rank() - 1;
    const WindowAxis& inner = window[last];
    int64_t tap = 0;
    for (Odometer k(kernel); k.more(); k.next(), ++tap) {
      const int64_t shift = k[last] * inner.dilation - inner.begin;
      // First and one past the last position of a row whose partner lies inside.
      const int64_t lo = shift < 0 ? (-shift + inner.stride - 1) / inner.stride : 0;
      const int64_t room = large[last] - 1 - shift;
      const int64_t hi = room < 0 ? 0 : std::min(small[last], room / inner.stride + 1);
      if (lo >= hi) continue;
      int64_t row = 0;
      for (Odometer at(sub_shape(small, 0, last)); at.more(); at.next(), row += small[last]) {
        int64_t from = lo * inner.stride + shift;
        bool inside = true;
        for (size_t i = 0; i < last && inside; ++i) {
          const int64_t place =
              at[i] * window[i].stride + k[i] * window[i].dilation - window[i].begin;
          inside = place >= 0 && place < large[i];
          from += place * large_strides[i];
        }
        if (inside) fn(tap, row + lo, from, inner.stride, hi - lo);
      }
    }
  }
};

Taps make_taps(const Shape& w, const Shape& small, const Shape& large, Window window) {
  Taps out{sub_shape(w, 2, w.rank()),
           sub_shape(small, 2, small.rank()),
           sub_shape(large, 2, large.rank()),
           std::move(window),
           {}};
  out.large_strides = row_major(out.large);
  return out;
}

Result<Window> window_of(const OpCall& call, const Shape& w) {
  std::vector<int64_t> kernel;
  for (size_t i = 2; i < w.rank(); ++i) kernel.push_back(w[i]);
  static_assert(int(FRL_AT_conv_strides) == int(FRL_AT_conv_transpose_strides));
  return read_window(call, kernel, FRL_AT_conv_strides);
}

// Every channel of the result starts at its bias.
template <class W>
std::vector<W> biased(Operands operands, const Shape& y) {
  std::vector<W> out(static_cast<size_t>(y.n_elements()));
  if (operands.size() < 3 || !operands[2] || out.empty()) return out;
  const std::vector<W> bias = load<W>(*operands[2]);
  const size_t area = out.size() / size_t(y[0] * y[1]);
  for (size_t i = 0; i < out.size(); ++i) out[i] = bias[i / area % size_t(y[1])];
  return out;
}

// The filter is [channels of the small side, channels of a group of the large side, taps] for both.
template <bool kTransposed>
Status eval(const OpCall& call, Operands operands, Results results) {
  const Shape& w = operands[1]->shape();
  const Shape& y = results[0].shape();
  const Shape& small = kTransposed ? operands[0]->shape() : y;
  const Shape& large = kTransposed ? y : operands[0]->shape();
  if (y.n_elements() == 0) return {};
  FRL_LET(Window window, window_of(call, w));
  const Taps taps = make_taps(w, small, large, std::move(window));
  static_assert(int(FRL_AT_conv_groups) == int(FRL_AT_conv_transpose_groups));
  const int64_t groups = call.attributes.i(FRL_AT_conv_groups), per_group = small[1] / groups;
  const int64_t small_area = taps.small.n_elements(), large_area = taps.large.n_elements(),
                n_taps = taps.kernel.n_elements();
  with_wide(results[0].element(), [&]<class W>(W) {
    const std::vector<W> in = load<W>(*operands[0]), weight = load<W>(*operands[1]);
    std::vector<W> out = biased<W>(operands, y);
    if (weight.empty()) return store(out, results[0]);
    for (int64_t ng = 0; ng < y[0] * groups; ++ng) {
      const int64_t n = ng / groups, first = ng % groups * per_group,
                    first_large = ng % groups * w[1];
      taps.each([&](int64_t tap, int64_t at_small, int64_t at_large, int64_t step, int64_t count) {
        for (int64_t s = first; s < first + per_group; ++s)
          for (int64_t l = 0; l < w[1]; ++l) {
            const W by = weight[size_t((s * w[1] + l) * n_taps + tap)];
            const int64_t a = (n * small[1] + s) * small_area + at_small,
                          b = (n * large[1] + first_large + l) * large_area + at_large;
            const W* from = in.data() + (kTransposed ? a : b);
            W* to = out.data() + (kTransposed ? b : a);
            for (int64_t i = 0; i < count; ++i) {
              W& sum = to[kTransposed ? i * step : i];
              sum = wide_add(sum, wide_mul(by, from[kTransposed ? i : i * step]));
            }
          }
      });
    }
    store(out, results[0]);
  });
  return {};
}

}  // namespace

Status eval_conv(const OpCall& call, Operands operands, Results results) {
  return eval<false>(call, operands, results);
}

Status eval_conv_transpose(const OpCall& call, Operands operands, Results results) {
  return eval<true>(call, operands, results);
}

}  // namespace ferrule
