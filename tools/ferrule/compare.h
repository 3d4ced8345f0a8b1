// Results against expected ones, element by element.
#pragma once

#include <string>

#include "core/op/tensor.h"

namespace ferrule::cli {

struct Comparison {
  bool equal = false;
  std::string text;  // what is wrong, or the worst difference
  double worst = 0;  // |got - want| / (atol + rtol * |want|); at most 1 passes
};

// |got - want| <= atol + rtol * |want| for each element; NaN only with NaN, infinities with their
// own sign; integers and bool exactly. A non-zero expectation met by nothing but zeros fails by
// itself.
Comparison compare(const Tensor& got, const Tensor& want, double rtol, double atol);

}  // namespace ferrule::cli
