// Shape rules of linear algebra: products, determinants, Fourier transforms.
#include "core/base/text.h"
#include "core/op/refuse.h"
#include "core/op/rules.h"

namespace ferrule {
namespace {

Shape leading(const Shape& shape, size_t n) {
  Shape out;
  for (size_t i = 0; i < n; ++i) out.push_back(shape.dim(i));
  return out;
}

}  // namespace

Types infer_matmul(const OpCall& call) {
  FRL_TRY(want_one_type(call));
  FRL_TRY(want_min_rank(call, 0, 2));
  FRL_TRY(want_min_rank(call, 1, 2));
  const Shape& a = shape_of(call, 0);
  const Shape& b = shape_of(call, 1);
  const auto batch = broadcast(leading(a, a.rank() - 2), leading(b, b.rank() - 2));
  if (!batch.ok() || a.dim(a.rank() - 1) != b.dim(b.rank() - 2))
    return refuse(call, "[..,m,k] x [..,k,n]");
  Dims dims = dims_of(*batch);
  dims.push_back(a.dim(a.rank() - 2));
  dims.push_back(b.dim(b.rank() - 1));
  return one_result(call, type_of(call, 0), dims);
}

Types infer_det(const OpCall& call) {
  FRL_TRY(want_min_rank(call, 0, 2));
  const Shape& x = shape_of(call, 0);
  const size_t n = x.rank() - 2;
  FRL_TRY(want_exact(call, 0, n));
  if (x.dim(n) != x.dim(n + 1)) return refuse(call, "square matrices");
  return one_result(call, type_of(call, 0), dims_of(leading(x, n)));
}

Types infer_dft(const OpCall& call) {
  FRL_TRY(want_min_rank(call, 0, 2));
  const Shape& x = shape_of(call, 0);
  const size_t rank = x.rank();
  FRL_TRY(want_exact(call, 0, rank - 1));
  FRL_LET(const size_t axis, axis_of(call, call.attributes.i(FRL_AT_dft_axis), rank));
  if ((x.back() != 1 && x.back() != 2) || axis == rank - 1)
    return refuse(call, "1 or 2 elements on the last axis, and another axis to transform");
  const bool onesided = call.attributes.i(FRL_AT_dft_onesided);
  const bool inverse = call.attributes.i(FRL_AT_dft_inverse);
  if (onesided && !inverse && x.back() != 1) return refuse(call, "real values when onesided");
  const int64_t length = call.attributes.i(FRL_AT_dft_length);
  if (length < 0) return refuse(call, "a length of 0 or more", std::to_string(length));
  if (onesided && !length) FRL_TRY(want_exact(call, 0, axis));
  if (onesided && inverse && !length && x[axis] == 0)
    return refuse(call, cat("an element on axis ", axis));
  Dims dims = dims_of(x);
  if (length)
    dims[axis] = {length, 0};
  else if (onesided && inverse)
    dims[axis].extent = 2 * (x[axis] - 1);
  if (onesided && !inverse && dims[axis].extent) dims[axis].extent = dims[axis].extent / 2 + 1;
  dims[rank - 1] = {onesided && inverse ? 1 : 2, 0};
  return one_result(call, type_of(call, 0), dims);
}

}  // namespace ferrule
