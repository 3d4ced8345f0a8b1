#include "tools/ferrule/compare.h"

#include <cmath>

#include "core/base/text.h"

namespace ferrule::cli {
namespace {

std::string place_text(const Shape& shape, int64_t i) {
  std::string at;
  for (size_t axis = shape.rank(); axis-- > 0;) {
    at = cat(i % shape[axis], at.empty() ? "" : ",", at);
    i /= shape[axis];
  }
  return cat("[", at, "]");
}

}  // namespace

Comparison compare(const Tensor& got, const Tensor& want, double rtol, double atol) {
  if (got.type() != want.type())
    return {false, cat("want ", to_string(want.type()), ", got ", to_string(got.type())), INFINITY};
  Comparison out{true, "equal", 0};
  int64_t worst_at = -1;
  const bool is_real = is_float(want.element());
  for (int64_t i = 0; i < want.n_elements(); ++i) {
    const double g = got.at_f64(i), w = want.at_f64(i);
    double excess = 0;
    if (!is_real)
      excess = got.at_i64(i) == want.at_i64(i) ? 0 : INFINITY;
    else if (std::isnan(g) || std::isnan(w))
      excess = std::isnan(g) && std::isnan(w) ? 0 : INFINITY;
    else if (std::isinf(g) || std::isinf(w))
      excess = g == w ? 0 : INFINITY;
    else if (g != w)
      excess = atol + rtol * std::fabs(w) > 0 ? std::fabs(g - w) / (atol + rtol * std::fabs(w))
                                              : INFINITY;
    if (excess > out.worst || (worst_at < 0 && excess > 0)) out.worst = excess, worst_at = i;
  }
  out.equal = out.worst <= 1;
  if (worst_at >= 0) {
    char numbers[128];
    std::snprintf(numbers, sizeof numbers, "want %.9g, got %.9g (%.2g of what is allowed)",
                  want.at_f64(worst_at), got.at_f64(worst_at), out.worst);
    out.text = cat("worst at ", place_text(want.shape(), worst_at), ": ", numbers);
  }
  return out;
}

}  // namespace ferrule::cli
