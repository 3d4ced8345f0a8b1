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

// A row of the operand with `pad` around it, so that every tap of a row of windows is one run of
// memory.
void pad_row(float* line, const float* source, const WindowAxis& v, float pad) {
  std::fill_n(line, v.padded(), pad);
  std::copy_n(source, std::min(v.in, v.padded() - v.begin), line + v.begin);
}

// Over two axes, with rows written out as above.
bool has_rows(const Window& w, const frl::Value& x) {
  const WindowAxis& depth = w.axis[0];
  return x.type == FRL_F32 && depth.kernel == 1 && depth.in == 1 && depth.out == 1 && is_compact(w);
}

// fn(plane, row of the result, scratch), shared over the team.
template <class Fn>
void each_row(const frl::Call& call, const Window& w, int64_t planes, double tap_ns, uint64_t bytes,
              Fn&& fn) {
  const WindowAxis &h = w.axis[1], &v = w.axis[2];
  frl::for_slices(call.host, planes * h.out,
                  static_cast<double>(v.out * h.kernel * v.kernel) * tap_ns + 50, bytes,
                  [&](int64_t begin, int64_t end, void* scratch) {
                    for (int64_t i = begin; i < end; ++i) fn(i / h.out, i % h.out, scratch);
                  });
}

class RowMaxPool final : public frl::Kernel {
 public:
  RowMaxPool(const Isa& isa, const Window& window, int64_t planes, Place x, Place y, Place places)
      : isa_(&isa), w_(window), planes_(planes), x_(x), y_(y), places_(places) {}

  void run(const frl::Call& call) const override {
    const WindowAxis& v = w_.axis[2];
    const int64_t line = v.padded();
    const uint64_t bytes = static_cast<uint64_t>(line + 2 * v.out) * sizeof(float);
    each_row(call, w_, planes_, 0.1, bytes, [&](int64_t plane, int64_t at, void* scratch) {
      row(call, plane, at, static_cast<float*>(scratch), line);
    });
  }

 private:
  void row(const frl::Call& call, int64_t plane, int64_t at, float* scratch, int64_t line) const {
    const WindowAxis &h = w_.axis[1], &v = w_.axis[2];
    const Taps rows = taps_of(h, at);
    float* best = scratch + line;
    int32_t* taps = reinterpret_cast<int32_t*>(best + v.out);
    const float* x = x_.in<float>(call) + plane * w_.in();
    if (rows.n == 0) std::fill_n(best, v.out, -INFINITY);
    for (int64_t r = 0; r < rows.n; ++r) {
      const float* source = x + (rows.first + r * h.dilation) * v.in;
      pad_row(scratch, source, v, -INFINITY);
      for (int64_t k = 0; k < v.kernel; ++k)
        isa_->max_tap(best, taps, scratch + k * v.dilation, v.out, v.stride,
                      static_cast<int32_t>(r * v.kernel + k));
    }
    const int64_t to = (plane * h.out + at) * v.out;
    if (y_.present()) std::copy_n(best, v.out, y_.out<float>(call) + to);
    if (!places_.present()) return;
    int64_t* places = places_.out<int64_t>(call) + to;
    for (int64_t i = 0; i < v.out; ++i)
      places[i] = place_of(rows, i, best[i], taps[i], plane * w_.in());
  }
  // Where -inf has won, a pad may have: then the first tap on the operand is meant.
  int64_t place_of(const Taps& rows, int64_t i, float best, int32_t tap, int64_t first) const {
    const WindowAxis &h = w_.axis[1], &v = w_.axis[2];
    if (best == -INFINITY) {
      const Taps columns = taps_of(v, i);
      return rows.n && columns.n ? first + rows.first * v.in + columns.first : -1;
    }
    const int64_t row = rows.first + tap / v.kernel * h.dilation;
    return first + row * v.in + v.source(i, tap % v.kernel);
  }

  const Isa* isa_;
  Window w_;
  int64_t planes_;
  Place x_, y_, places_;
};

class RowAvgPool final : public frl::Kernel {
 public:
  RowAvgPool(const Isa& isa, const Window& window, int64_t planes, bool count_pads, Place x,
             Place y)
      : isa_(&isa), w_(window), planes_(planes), count_pads_(count_pads), x_(x), y_(y) {
    for (int64_t i = 0; i < w_.axis[2].out; ++i)
      columns_.push_back(counted(taps_of(w_.axis[2], i)));
  }

  void run(const frl::Call& call) const override {
    const WindowAxis& v = w_.axis[2];
    const uint64_t bytes = static_cast<uint64_t>(v.out) * sizeof(double) +
                           static_cast<uint64_t>(v.padded() + v.out) * sizeof(float);
    each_row(call, w_, planes_, 0.2, bytes, [&](int64_t plane, int64_t at, void* scratch) {
      row(call, plane, at, static_cast<double*>(scratch));
    });
  }

 private:
  int64_t counted(const Taps& taps) const { return count_pads_ ? taps.counted : taps.n; }

  void row(const frl::Call& call, int64_t plane, int64_t at, double* sums) const {
    const WindowAxis &h = w_.axis[1], &v = w_.axis[2];
    const Taps rows = taps_of(h, at);
    float* line = reinterpret_cast<float*>(sums + v.out);
    float* tap = line + v.padded();
    std::fill_n(sums, v.out, 0.0);
    const float* x = x_.in<float>(call) + plane * w_.in();
    for (int64_t r = 0; r < rows.n; ++r) {
      pad_row(line, x + (rows.first + r * h.dilation) * v.in, v, 0);
      for (int64_t k = 0; k < v.kernel; ++k) {
        const float* from = line + k * v.dilation;
        if (v.stride > 1) isa_->copy_step(tap, from, v.out, v.stride);
        isa_->add_to(sums, v.stride > 1 ? tap : from, v.out);
      }
    }
    float* y = y_.out<float>(call) + (plane * h.out + at) * v.out;
    const int64_t n_rows = counted(rows);
    for (int64_t i = 0; i < v.out; ++i) {
      const int64_t n = n_rows * columns_[static_cast<size_t>(i)];
      y[i] = n ? static_cast<float>(sums[i] / static_cast<double>(n)) : 0.0f;
    }
  }

  const Isa* isa_;
  Window w_;
  int64_t planes_;
  bool count_pads_;
  Place x_, y_;
  std::vector<int64_t> columns_;  // taps that count, by place of the result
};

}  // namespace

KernelPtr make_max_pool(const Context& context, const Request& request) {
  const frl::Operand x = request.operand(0), y = request.result(0), places = request.result(1);
  const frl::Value& shape = y.present() ? y.value : places.value;
  const Window w =
      read_window(request, x.value, shape, request.attribute_list(FRL_AT_max_pool_kernel),
                  FRL_AT_max_pool_strides);
  const int64_t planes = x.value.extents[0] * x.value.extents[1];
  if (has_rows(w, x.value))
    return std::make_unique<RowMaxPool>(*context.isa, w, planes, Place(x), Place(y), Place(places));
  return with_type(x.value.type, [&]<class T>(T) -> KernelPtr {
    return make_kernel(
        [=, from = Place(x), to = Place(y), at = Place(places)](const frl::Call& call) {
          frl::for_slices(call.host, planes, static_cast<double>(w.out() * w.taps()), 0,
                          [&](int64_t begin, int64_t end, void*) {
                            for (int64_t p = begin; p < end; ++p) {
                              const T* in = from.in<T>(call) + p * w.in();
                              T* out = to.present() ? to.out<T>(call) + p * w.out() : nullptr;
                              int64_t* place =
                                  at.present() ? at.out<int64_t>(call) + p * w.out() : nullptr;
                              max_plane(w, in, out, place, p * w.in());
                            }
                          });
        });
  });
}

KernelPtr make_avg_pool(const Context& context, const Request& request) {
  const frl::Operand x = request.operand(0), y = request.result(0);
  const Window w =
      read_window(request, x.value, y.value, request.attribute_list(FRL_AT_avg_pool_kernel),
                  FRL_AT_avg_pool_strides);
  const bool count_pads = request.attribute_i(FRL_AT_avg_pool_count_pads) != 0;
  const int64_t planes = x.value.extents[0] * x.value.extents[1];
  if (has_rows(w, x.value))
    return std::make_unique<RowAvgPool>(*context.isa, w, planes, count_pads, Place(x), Place(y));
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
