// max_pool and avg_pool over one to three spatial axes.
#include <algorithm>

#include "plugins/cpu/window.h"

namespace cpu {
namespace {

// The taps of one axis that lie on the operand: places first, first + dilation, .. `n` of them.
struct Taps {
  int64_t first, n, counted;  // counted: those on the operand or its pads
};
Taps taps_of(const WindowAxis& a, int64_t at) {
  const int64_t start = a.source(at, 0);
  // How many taps lie before place p.
  const auto before = [&](int64_t p) {
    return p <= start ? int64_t{0} : std::min(a.kernel, (p - start - 1) / a.dilation + 1);
  };
  const int64_t skipped = before(0);
  return {start + skipped * a.dilation, before(a.in) - skipped, before(a.in + a.end)};
}

// fn(offset) for each tap on the operand, in row-major order.
template <class Fn>
void each_tap(const Window& w, const Taps& d, const Taps& h, const Taps& v, Fn&& fn) {
  for (int64_t i = 0; i < d.n; ++i)
    for (int64_t k = 0; k < h.n; ++k) {
      const int64_t row =
          ((d.first + i * w.axis[0].dilation) * w.axis[1].in + h.first + k * w.axis[1].dilation) *
          w.axis[2].in;
      for (int64_t l = 0; l < v.n; ++l) fn(row + v.first + l * w.axis[2].dilation);
    }
}

template <class T>
void max_plane(const Window& w, const T* x, T* y, int64_t* places, int64_t first) {
  int64_t to = 0;
  for (int64_t d = 0; d < w.axis[0].out; ++d)
    for (int64_t h = 0; h < w.axis[1].out; ++h) {
      const Taps td = taps_of(w.axis[0], d), th = taps_of(w.axis[1], h);
      for (int64_t v = 0; v < w.axis[2].out; ++v, ++to) {
        using C = Compute<T>;
        C best = 0;
        if constexpr (kIsFloat<T>)
          best = -INFINITY;
        else
          best = std::numeric_limits<T>::lowest();
        int64_t place = -1;
        each_tap(w, td, th, taps_of(w.axis[2], v), [&](int64_t at) {
          const C value = load(x[at]);
          if (place >= 0 && !(value > best) && !(value != value && best == best)) return;
          best = value, place = at;
        });
        if (y) y[to] = store<T>(best);
        if (places) places[to] = place < 0 ? -1 : first + place;
      }
    }
}

// Elements [begin, end) of a row whose windows lie on the operand: all taps row by row, vectorised.
void max_row(float* y, const Window& w, const float* x, const Taps& d, const Taps& h, int64_t begin,
             int64_t end) {
  const WindowAxis& a = w.axis[2];
  std::fill(y + begin, y + end, -INFINITY);
  for (int64_t i = 0; i < d.n; ++i)
    for (int64_t k = 0; k < h.n; ++k)
      for (int64_t t = 0; t < a.kernel; ++t) {
        const float* from =
            x +
            ((d.first + i * w.axis[0].dilation) * w.axis[1].in + h.first + k * w.axis[1].dilation) *
                a.in +
            a.source(begin, t);
        for (int64_t v = begin; v < end; ++v) {
          const float value = from[(v - begin) * a.stride];
          y[v] = value <= y[v] ? y[v] : (y[v] != y[v] ? y[v] : value);
        }
      }
}
// Without places, f32: the inside of each row by max_row, its ends tap by tap.
void max_plane_values(const Window& w, const float* x, float* y) {
  const WindowAxis& a = w.axis[2];
  const int64_t span = (a.kernel - 1) * a.dilation;
  const int64_t begin = std::clamp<int64_t>((a.begin + a.stride - 1) / a.stride, 0, a.out);
  const int64_t last =
      a.in - 1 - span + a.begin;  // start of the last window inside, as a padded place
  const int64_t end = std::clamp<int64_t>(last < 0 ? 0 : last / a.stride + 1, begin, a.out);
  for (int64_t d = 0; d < w.axis[0].out; ++d)
    for (int64_t h = 0; h < w.axis[1].out; ++h, y += a.out) {
      const Taps td = taps_of(w.axis[0], d), th = taps_of(w.axis[1], h);
      if (begin < end) max_row(y, w, x, td, th, begin, end);
      for (int64_t v = 0; v < a.out; ++v) {
        if (v == begin) v = end;
        if (v >= a.out) break;
        float best = -INFINITY;
        each_tap(w, td, th, taps_of(a, v),
                 [&](int64_t at) { best = x[at] <= best ? best : (best != best ? best : x[at]); });
        y[v] = best;
      }
    }
}

}  // namespace

KernelPtr make_max_pool(const Context&, const Request& request) {
  const frl::Operand x = request.operand(0), y = request.result(0), places = request.result(1);
  const frl::Value& shape = y.present() ? y.value : places.value;
  const Window w =
      read_window(request, x.value, shape, request.attribute_list(FRL_AT_max_pool_kernel),
                  FRL_AT_max_pool_strides);
  const int64_t planes = x.value.extents[0] * x.value.extents[1];
  return with_type(x.value.type, [&]<class T>(T) {
    return make_kernel(
        [=, from = Place(x), to = Place(y), at = Place(places)](const frl::Call& call) {
          frl::for_slices(call.host, planes, static_cast<double>(w.out() * w.taps()), 0,
                          [&](int64_t begin, int64_t end, void*) {
                            for (int64_t p = begin; p < end; ++p) {
                              const T* in = from.in<T>(call) + p * w.in();
                              T* out = to.present() ? to.out<T>(call) + p * w.out() : nullptr;
                              int64_t* place =
                                  at.present() ? at.out<int64_t>(call) + p * w.out() : nullptr;
                              if constexpr (std::is_same_v<T, float>)
                                if (out && !place) {
                                  max_plane_values(w, in, out);
                                  continue;
                                }
                              max_plane(w, in, out, place, p * w.in());
                            }
                          });
        });
  });
}

KernelPtr make_avg_pool(const Context&, const Request& request) {
  const frl::Operand x = request.operand(0), y = request.result(0);
  const Window w =
      read_window(request, x.value, y.value, request.attribute_list(FRL_AT_avg_pool_kernel),
                  FRL_AT_avg_pool_strides);
  const bool count_pads = request.attribute_i(FRL_AT_avg_pool_count_pads) != 0;
  const int64_t planes = x.value.extents[0] * x.value.extents[1];
  return with_float(x.value.type, [&]<class T>(T) {
    return make_kernel([=, from = Place(x), to = Place(y)](const frl::Call& call) {
      frl::for_slices(call.host, planes, static_cast<double>(w.out() * w.taps()), 0,
                      [&](int64_t begin, int64_t end, void*) {
                        for (int64_t p = begin; p < end; ++p) {
                          const T* in = from.in<T>(call) + p * w.in();
                          T* out = to.out<T>(call) + p * w.out();
                          for (int64_t d = 0; d < w.axis[0].out; ++d)
                            for (int64_t h = 0; h < w.axis[1].out; ++h) {
                              const Taps td = taps_of(w.axis[0], d), th = taps_of(w.axis[1], h);
                              for (int64_t v = 0; v < w.axis[2].out; ++v) {
                                const Taps tv = taps_of(w.axis[2], v);
                                double sum = 0;
                                each_tap(w, td, th, tv,
                                         [&](int64_t at) { sum += static_cast<double>(in[at]); });
                                const int64_t n = count_pads ? td.counted * th.counted * tv.counted
                                                             : td.n * th.n * tv.n;
                                *out++ = n ? static_cast<T>(sum / static_cast<double>(n)) : T{0};
                              }
                            }
                        }
                      });
    });
  });
}

}  // namespace cpu
