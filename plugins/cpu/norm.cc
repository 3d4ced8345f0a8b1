// softmax, log_softmax, layer_norm, rms_norm.
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

KernelPtr make_norm(const Context& context, const Request& region, int64_t axes_n, double epsilon,
                    bool centred) {
  const frl::Operand x = region.operand(0), scale = region.operand(1), shift = region.operand(2),
                     y = region.result(0);
  int64_t n = 1;
  for (int64_t k = 1; k <= axes_n; ++k) n *= x.value.extent(-k);
  const int64_t rows = n ? x.value.n_elements() / n : 0;
  const Isa* isa = context.isa;
  return with_float(x.value.type, [&]<class T>(T) {
    KernelPtr kernel = make_kernel([=, from = Place(x), to = Place(y), a = Place(scale),
                                    b = Place(shift)](const frl::Call& call) {
      frl::for_slices(call.host, rows,
                      static_cast<double>(n) * (std::is_same_v<T, float> ? 0.25 : 3), 0,
                      [&](int64_t begin, int64_t end, void*) {
                        for (int64_t row = begin; row < end; ++row) {
                          const T* in = from.in<T>(call) + row * n;
                          T* out = to.out<T>(call) + row * n;
                          if constexpr (std::is_same_v<T, float>) {
                            if (centred)
                              isa->layer_norm(out, in, a.in<T>(call), b.in<T>(call), n, epsilon);
                            else
                              isa->rms_norm(out, in, a.in<T>(call), n, epsilon);
                          } else {
                            norm_row(out, in, a.in<T>(call), b.in<T>(call), n, epsilon, centred);
                          }
                        }
                      });
    });
    if (x.argument == 0) kernel->aliases = {{0, 0}};
    return kernel;
  });
}

}  // namespace

KernelPtr make_softmax(const Context& context, const Request& region) {
  return make_softmax_of(context, region, false);
}
KernelPtr make_log_softmax(const Context& context, const Request& region) {
  return make_softmax_of(context, region, true);
}
KernelPtr make_layer_norm(const Context& context, const Request& region) {
  return make_norm(context, region, region.attribute_i(FRL_AT_layer_norm_axes_n),
                   region.attribute_f(FRL_AT_layer_norm_epsilon), true);
}
KernelPtr make_rms_norm(const Context& context, const Request& region) {
  return make_norm(context, region, region.attribute_i(FRL_AT_rms_norm_axes_n),
                   region.attribute_f(FRL_AT_rms_norm_epsilon), false);
}

}  // namespace cpu
