// dft and det.
#include <algorithm>
#include <complex>
#include <numbers>

#include "plugins/cpu/kernels.h"

namespace cpu {
namespace {

using Complex = std::complex<double>;

// A transform of n points in f64: mixed radix, and the plain sum where a prime factor is large.
class Transform {
 public:
  Transform(int64_t n, bool inverse) : n_(n) {
    for (int64_t i = 0; i < n; ++i)
      turns_.push_back(std::polar(1.0, (inverse ? 2 : -2) * std::numbers::pi *
                                           static_cast<double>(i) / static_cast<double>(n)));
  }
  // y[k] = sum of x[i * step] turns^(i k); `work` holds n more.
  void run(const Complex* x, Complex* y, Complex* work) const { pass(x, 1, y, n_, work); }

 private:
  static int64_t factor_of(int64_t n) {
    for (int64_t f = 2; f * f <= n; ++f)
      if (n % f == 0) return f;
    return n;
  }
  // Of n points `step` apart; the turns of this length are every (n_ / n)-th.
  void pass(const Complex* x, int64_t step, Complex* y, int64_t n, Complex* work) const {
    if (n == 1) return void(y[0] = x[0]);
    const int64_t radix = factor_of(n), m = n / radix, stride = n_ / n;
    for (int64_t r = 0; r < radix; ++r)
      pass(x + r * step, step * radix, y + r * m, m, work + r * m);
    std::copy_n(y, n, work);
    for (int64_t k = 0; k < n; ++k) {
      Complex sum = work[k % m];
      for (int64_t r = 1; r < radix; ++r)
        sum += work[r * m + k % m] * turns_[static_cast<size_t>(r * k % n * stride)];
      y[k] = sum;
    }
  }
  int64_t n_;
  std::vector<Complex> turns_;
};

struct Dft {
  Transform transform;
  int64_t n, in_n, out_n, parts, result_parts;
  bool inverse, onesided;

  // Points of one line, which lie `step` elements apart.
  template <class T>
  Complex point(const T* x, int64_t i, int64_t step) const {
    const bool both = inverse && onesided;
    // Going back from one side, the other side's bins are conjugates.
    const bool mirrored = both && i > n / 2;
    const int64_t at = mirrored ? n - i : i;
    if (at >= in_n || (both && at > n / 2)) return 0;
    const double re = static_cast<double>(x[at * step]);
    const double im = parts == 2 ? static_cast<double>(x[at * step + 1]) : 0;
    if (both && (at == 0 || 2 * at == n)) return re;
    return {re, mirrored ? -im : im};
  }
};

// Gaussian elimination with row pivots; overwrites a.
double determinant(double* a, int64_t n) {
  double out = 1;
  for (int64_t c = 0; c < n; ++c) {
    int64_t pivot = c;
    for (int64_t r = c + 1; r < n; ++r)
      if (std::fabs(a[r * n + c]) > std::fabs(a[pivot * n + c])) pivot = r;
    if (pivot != c) std::swap_ranges(a + pivot * n, a + pivot * n + n, a + c * n), out = -out;
    const double head = a[c * n + c];
    out *= head;
    if (head == 0) return out;
    for (int64_t r = c + 1; r < n; ++r) {
      const double f = a[r * n + c] / head;
      for (int64_t i = c; i < n; ++i) a[r * n + i] -= f * a[c * n + i];
    }
  }
  return out;
}

}  // namespace

KernelPtr make_dft(const Context&, const Request& request) {
  const frl::Operand x = request.operand(0), y = request.result(0);
  const size_t axis = axis_index(x.value, request.attribute_i(FRL_AT_dft_axis));
  const bool inverse = request.attribute_i(FRL_AT_dft_inverse) != 0,
             onesided = request.attribute_i(FRL_AT_dft_onesided) != 0;
  const int64_t length = request.attribute_i(FRL_AT_dft_length), in_n = x.value.extents[axis],
                out_n = y.value.extents[axis];
  const int64_t n = length ? length : inverse && onesided ? out_n : in_n;
  const Dft dft{Transform(n, inverse), n,       in_n,    out_n, x.value.extent(-1),
                y.value.extent(-1),    inverse, onesided};
  const Split from = split_at(x.value, axis), to = split_at(y.value, axis);
  return with_float(y.value.type, [&]<class T>(T) {
    return make_kernel([=, in = Place(x), out = Place(y)](const frl::Call& call) {
      const int64_t pairs = dft.result_parts ? to.inner / dft.result_parts : 0;
      const double ns = static_cast<double>(dft.n) * 40;
      frl::for_slices(
          call.host, to.outer * pairs, ns, static_cast<uint64_t>(3 * dft.n + 3) * sizeof(Complex),
          [&](int64_t begin, int64_t end, void* scratch) {
            Complex* points = static_cast<Complex*>(scratch);
            Complex *bins = points + dft.n, *work = bins + dft.n;
            for (int64_t line = begin; line < end; ++line) {
              const int64_t o = line / pairs, i = line % pairs;
              const T* src = in.in<T>(call) + o * from.n * from.inner + i * dft.parts;
              T* dst = out.out<T>(call) + o * to.n * to.inner + i * dft.result_parts;
              for (int64_t k = 0; k < dft.n; ++k) points[k] = dft.point(src, k, from.inner);
              if (dft.n > 0) dft.transform.run(points, bins, work);
              for (int64_t k = 0; k < dft.out_n; ++k) {
                const Complex bin = dft.inverse ? bins[k] / static_cast<double>(dft.n) : bins[k];
                dst[k * to.inner] = static_cast<T>(bin.real());
                if (dft.result_parts == 2) dst[k * to.inner + 1] = static_cast<T>(bin.imag());
              }
            }
          });
    });
  });
}

KernelPtr make_det(const Context&, const Request& request) {
  const frl::Operand x = request.operand(0), y = request.result(0);
  const int64_t n = x.value.extent(-1);
  return with_float(y.value.type, [&]<class T>(T) {
    return make_kernel(
        [=, count = y.value.n_elements(), from = Place(x), to = Place(y)](const frl::Call& call) {
          frl::for_slices(call.host, count, static_cast<double>(n * n * n) + 10,
                          static_cast<uint64_t>(n * n + 1) * sizeof(double),
                          [&](int64_t begin, int64_t end, void* scratch) {
                            double* a = static_cast<double*>(scratch);
                            for (int64_t i = begin; i < end; ++i) {
                              const T* in = from.in<T>(call) + i * n * n;
                              for (int64_t k = 0; k < n * n; ++k) a[k] = static_cast<double>(in[k]);
                              to.out<T>(call)[i] = static_cast<T>(determinant(a, n));
                            }
                          });
        });
  });
}

}  // namespace cpu
