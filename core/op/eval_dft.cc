// Reference evaluation of dft: the sum as it is defined.
#include <algorithm>
#include <cmath>

#include "core/op/rules.h"
#include "core/op/walk.h"
#include "core/op/wide.h"

namespace ferrule {
namespace {

struct Complex {
  double re, im;
};

// A transform of n points; the powers of the root of unity come from a table.
struct Transform {
  int64_t n;
  bool inverse, onesided;
  std::vector<Complex> turns;

  Transform(int64_t n_points, bool is_inverse, bool is_onesided)
      : n(n_points), inverse(is_inverse), onesided(is_onesided) {
    for (int64_t i = 0; i < n; ++i) {
      const double angle = (inverse ? 2 : -2) * M_PI * double(i) / double(n);
      turns.push_back({std::cos(angle), std::sin(angle)});
    }
  }

  // How often point i of the operand counts, and how much of its imaginary part: going back from
  // one side, the bins of the other side are its conjugates, so all but the first and the middle
  // one count twice and the sum is real.
  double weight(int64_t i) const { return inverse && onesided && i != 0 && 2 * i != n ? 2 : 1; }

  // Point k of the result. `used` points of the operand lie `step` apart; the rest are zero.
  Complex at(int64_t k, const double* in, int64_t used, int64_t step, int64_t parts) const {
    Complex out{0, 0};
    for (int64_t i = 0, turn = 0; i < used; ++i, turn = (turn + k) % n) {
      const bool is_real = parts == 1 || (inverse && onesided && weight(i) == 1);
      const double a = weight(i) * in[i * step], b = is_real ? 0 : weight(i) * in[i * step + 1];
      const Complex t = turns[size_t(turn)];
      out.re += a * t.re - b * t.im;
      out.im += a * t.im + b * t.re;
    }
    return inverse ? Complex{out.re / double(n), out.im / double(n)} : out;
  }
};

}  // namespace

Status eval_dft(const OpCall& call, Operands operands, Results results) {
  const Shape& x = operands[0]->shape();
  const Shape& y = results[0].shape();
  const size_t axis = from_end(x, call.attributes.i(FRL_AT_dft_axis));
  const bool inverse = call.attributes.i(FRL_AT_dft_inverse) != 0;
  const bool onesided = call.attributes.i(FRL_AT_dft_onesided) != 0;
  const int64_t length = call.attributes.i(FRL_AT_dft_length);
  if (y.n_elements() == 0) return {};
  const Transform transform(length                ? length
                            : inverse && onesided ? y[axis]
                                                  : x[axis],
                            inverse, onesided);
  const int64_t most = inverse && onesided ? transform.n / 2 + 1 : transform.n;
  const std::vector<double> in = load<double>(*operands[0]);
  std::vector<double> out;
  const Lanes from(x, axis), to(y, axis);
  const int64_t parts = x.back(), pairs = from.inner / parts;
  for (int64_t o = 0; o < to.outer; ++o)
    for (int64_t k = 0; k < to.n; ++k)
      for (int64_t i = 0; i < pairs; ++i) {
        const double* first = in.data() + o * from.n * from.inner + i * parts;
        const Complex value = transform.at(k, first, std::min(most, from.n), from.inner, parts);
        out.push_back(value.re);
        if (y.back() == 2) out.push_back(value.im);
      }
  store(out, results[0]);
  return {};
}

}  // namespace ferrule
