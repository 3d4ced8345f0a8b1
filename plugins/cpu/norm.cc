// softmax, log_softmax, layer_norm, rms_norm, and the norms of a sum.
#include <algorithm>

#include "plugins/cpu/kernels.h"

namespace cpu {
namespace {

// One line of n elements that lie `step` apart, in f64.
template <class T>
void softmax_line(T* y, const T* x, int64_t n, int64_t step, bool wants_log) {
  double most = -INFINITY, sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double v = static_cast<double>(load(x[i * step]));
    most = most > v || most != most ? most : v;
  }
  for (int64_t i = 0; i < n; ++i) sum += std::exp(static_cast<double>(load(x[i * step])) - most);
  const double shift = wants_log ? std::log(sum) : 0;
  for (int64_t i = 0; i < n; ++i) {
    const double d = static_cast<double>(load(x[i * step])) - most;
    y[i * step] = store<T>(wants_log ? d - shift : std::exp(d) / sum);
  }
}

KernelPtr make_softmax_of(const Context& context, const Request& region, bool wants_log) {
  const frl::Operand x = region.operand(0), y = region.result(0);
  const Split s = split_at(x.value, axis_index(x.value, region.attribute_i(FRL_AT_softmax_axis)));
  const Isa* isa = context.isa;
  return with_float(x.value.type, [&]<class T>(T) {
    const bool rows = std::is_same_v<T, float> && s.inner == 1;
    KernelPtr kernel = make_kernel([=, from = Place(x), to = Place(y)](const frl::Call& call) {
      if (s.n == 0) return;
      frl::for_slices(call.host, s.outer * s.inner, static_cast<double>(s.n) * (rows ? 0.6 : 12), 0,
                      [&](int64_t begin, int64_t end, void*) {
                        for (int64_t k = begin; k < end; ++k) {
                          const int64_t at = k / s.inner * s.n * s.inner + k % s.inner;
                          if constexpr (std::is_same_v<T, float>) {
                            if (rows) {
                              (wants_log ? isa->log_softmax : isa->softmax)(
                                  to.out<T>(call) + at, from.in<T>(call) + at, s.n);
                              continue;
                            }
                          }
                          softmax_line(to.out<T>(call) + at, from.in<T>(call) + at, s.n, s.inner,
                                       wants_log);
                        }
                      });
    });
    if (x.argument == 0) kernel->aliases = {{0, 0}};
    return kernel;
  });
}

// (x - mean) / sqrt(variance + epsilon), scaled and shifted; rms: without the mean.
template <class T>
void norm_row(T* y, const T* x, const T* scale, const T* shift, int64_t n, double epsilon,
              bool centred) {
  const auto at = [&](int64_t i) { return static_cast<double>(load(x[i])); };
  double mean = 0, squares = 0;
  for (int64_t i = 0; centred && i < n; ++i) mean += at(i);
  mean /= static_cast<double>(n);
  for (int64_t i = 0; i < n; ++i) squares += (at(i) - mean) * (at(i) - mean);
  const double factor = 1 / std::sqrt(squares / static_cast<double>(n) + epsilon);
  for (int64_t i = 0; i < n; ++i) {
    const double a = scale ? static_cast<double>(load(scale[i])) : 1;
    const double b =
        shift ? static_cast<double>(load(shift[i])) : -0.0;  // which leaves even -0 as it is
    y[i] = store<T>((at(i) - mean) * factor * a + b);
  }
}

// How a norm is computed: over how many trailing axes, with the mean or without it.
struct NormForm {
  int64_t axes_n;
  double epsilon;
  bool centred;
};
// Operands: x, perhaps what is added to it first, scale, shift. Results: the norm, perhaps the sum.
struct NormPlaces {
  Place x, residual, scale, shift, y, sum;
};

template <class T>
void normalise_rows(const Isa& isa, const NormPlaces& p, const NormForm& form, int64_t n,
                    const frl::Call& call, int64_t begin, int64_t end) {
  const TileFn add = isa.binary(FRL_OP_add, std::is_same_v<T, float> ? kWorkF32 : kWorkF64);
  const T *scale = p.scale.in<T>(call), *shift = p.shift.in<T>(call);
  for (int64_t row = begin; row < end; ++row) {
    const T* x = p.x.in<T>(call) + row * n;
    T* y = p.y.out<T>(call) + row * n;
    if (p.residual.present()) {
      T* sum = p.sum.present() ? p.sum.out<T>(call) + row * n : y;
      add(sum, x, p.residual.in<T>(call) + row * n, nullptr, n, nullptr);
      x = sum;
    }
    if constexpr (!std::is_same_v<T, float>)
      norm_row(y, x, scale, shift, n, form.epsilon, form.centred);
    else if (form.centred)
      isa.layer_norm(y, x, scale, shift, n, form.epsilon);
    else
      isa.rms_norm(y, x, scale, n, form.epsilon);
  }
}

KernelPtr make_norm(const Context& context, const frl::Value& x, NormPlaces places,
                    const NormForm& form) {
  int64_t n = 1;
  for (int64_t k = 1; k <= form.axes_n; ++k) n *= x.extent(-k);
  const int64_t rows = n ? x.n_elements() / n : 0;
  return with_float(x.type, [&]<class T>(T) {
    const double ns = static_cast<double>(n) * (std::is_same_v<T, float> ? 0.25 : 3);
    return make_kernel([=, isa = context.isa, p = std::move(places)](const frl::Call& call) {
      frl::for_slices(call.host, rows, ns, 0, [&](int64_t begin, int64_t end, void*) {
        normalise_rows<T>(*isa, p, form, n, call, begin, end);
      });
    });
  });
}

// Their attributes stand in the same slots.
NormForm form_of(const Request& region, bool centred) {
  static_assert(FRL_AT_layer_norm_axes_n == FRL_AT_rms_norm_axes_n &&
                FRL_AT_layer_norm_axes_n == FRL_AT_residual_layer_norm_axes_n &&
                FRL_AT_layer_norm_axes_n == FRL_AT_residual_rms_norm_axes_n);
  static_assert(FRL_AT_layer_norm_epsilon == FRL_AT_rms_norm_epsilon &&
                FRL_AT_layer_norm_epsilon == FRL_AT_residual_layer_norm_epsilon &&
                FRL_AT_layer_norm_epsilon == FRL_AT_residual_rms_norm_epsilon);
  return {region.attribute_i(FRL_AT_layer_norm_axes_n),
          region.attribute_f(FRL_AT_layer_norm_epsilon), centred};
}

KernelPtr make_plain_norm(const Context& context, const Request& region, bool centred) {
  const frl::Operand x = region.operand(0);
  KernelPtr kernel = make_norm(context, x.value,
                               {Place(x),
                                {},
                                Place(region.operand(1)),
                                Place(region.operand(2)),
                                Place(region.result(0)),
                                {}},
                               form_of(region, centred));
  if (x.argument == 0) kernel->aliases = {{0, 0}};
  return kernel;
}

// Sums of 16-bit floats are rounded before the norm: part by part.
KernelPtr make_residual_norm(const Context& context, const Request& region, bool centred) {
  const frl::Operand x = region.operand(0);
  if (x.value.type != FRL_F32 && x.value.type != FRL_F64) return make_sequence(context, region);
  return make_norm(context, x.value,
                   {Place(x), Place(region.operand(1)), Place(region.operand(2)),
                    Place(region.operand(3)), Place(region.result(0)), Place(region.result(1))},
                   form_of(region, centred));
}

}  // namespace

KernelPtr make_softmax(const Context& context, const Request& region) {
  return make_softmax_of(context, region, false);
}
KernelPtr make_log_softmax(const Context& context, const Request& region) {
  return make_softmax_of(context, region, true);
}
KernelPtr make_layer_norm(const Context& context, const Request& region) {
  return make_plain_norm(context, region, true);
}
KernelPtr make_rms_norm(const Context& context, const Request& region) {
  return make_plain_norm(context, region, false);
}
KernelPtr make_residual_layer_norm(const Context& context, const Request& region) {
  return make_residual_norm(context, region, true);
}
KernelPtr make_residual_rms_norm(const Context& context, const Request& region) {
  return make_residual_norm(context, region, false);
}

}  // namespace cpu
