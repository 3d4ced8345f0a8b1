// Shape rules of ops that read or write at places that an operand gives.
#include "core/base/text.h"
#include "core/op/refuse.h"
#include "core/op/rules.h"

namespace ferrule {
namespace {

void append(Dims& dims, const Shape& shape, size_t first, size_t last) {
  for (size_t i = first; i < last; ++i) dims.push_back(shape.dim(i));
}

// Operand 1 has the rank of operand 0 and reaches past it on no axis but `axis`.
Status want_elements_inside(const OpCall& call, size_t axis) {
  const Shape& x = shape_of(call, 0);
  const Shape& indices = shape_of(call, 1);
  bool inside = x.rank() == indices.rank();
  for (size_t i = 0; inside && i < x.rank(); ++i)
    inside = i == axis || fits(indices.dim(i), x.dim(i));
  return inside ? Status()
                : refuse(call, cat("indices no larger than operand 0 but on axis ", axis));
}

// What both *_nd rules start from: indices [.., k], where k axes of x are addressed.
Result<size_t> addressed_axes(const OpCall& call, size_t batch_axes) {
  FRL_TRY(want_indices(call, 1));
  FRL_TRY(want_min_rank(call, 1, 1 + batch_axes));
  const Shape& indices = shape_of(call, 1);
  FRL_TRY(want_exact(call, 1, indices.rank() - 1));
  const int64_t n = indices.back();
  if (n < 1 || n > int64_t(shape_of(call, 0).rank() - batch_axes))
    return refuse(call,
                  "indices whose last axis has 1 place for each of the first axes of operand 0");
  return size_t(n);
}

}  // namespace

Types infer_gather(const OpCall& call) {
  const Shape& x = shape_of(call, 0);
  FRL_LET(const size_t axis, axis_of(call, call.attributes.i(FRL_AT_gather_axis), x.rank()));
  FRL_TRY(want_indices(call, 1));
  Dims dims;
  append(dims, x, 0, axis);
  append(dims, shape_of(call, 1), 0, shape_of(call, 1).rank());
  append(dims, x, axis + 1, x.rank());
  return one_result(call, type_of(call, 0), dims);
}

Types infer_gather_elements(const OpCall& call) {
  const int64_t attribute = call.attributes.i(FRL_AT_gather_elements_axis);
  FRL_LET(const size_t axis, axis_of(call, attribute, shape_of(call, 0).rank()));
  FRL_TRY(want_indices(call, 1));
  FRL_TRY(want_elements_inside(call, axis));
  return one_result(call, type_of(call, 0), dims_of(shape_of(call, 1)));
}

Types infer_gather_nd(const OpCall& call) {
  const Shape& x = shape_of(call, 0);
  const Shape& indices = shape_of(call, 1);
  const int64_t batch = call.attributes.i(FRL_AT_gather_nd_batch_axes);
  if (batch < 0 || batch >= int64_t(x.rank()) || batch >= int64_t(indices.rank()))
    return refuse(call, "fewer batch axes than either operand has", std::to_string(batch));
  for (size_t i = 0; i < size_t(batch); ++i)
    if (x.dim(i) != indices.dim(i)) return refuse(call, cat(batch, " equal leading axes"));
  FRL_LET(const size_t n, addressed_axes(call, size_t(batch)));
  Dims dims;
  append(dims, indices, 0, indices.rank() - 1);
  append(dims, x, size_t(batch) + n, x.rank());
  return one_result(call, type_of(call, 0), dims);
}

Types infer_scatter_elements(const OpCall& call) {
  const Shape& x = shape_of(call, 0);
  const int64_t attribute = call.attributes.i(FRL_AT_scatter_elements_axis);
  FRL_LET(const size_t axis, axis_of(call, attribute, x.rank()));
  FRL_TRY(want_indices(call, 1));
  FRL_TRY(want_elements_inside(call, axis));
  FRL_TRY(want_operand(call, 2, type_of(call, 0), dims_of(shape_of(call, 1))));
  if (call.attributes.i(FRL_AT_scatter_elements_by) && type_of(call, 0) == Type::boolean)
    return refuse(call, "numbers to combine");
  return one_result(call, type_of(call, 0), dims_of(x));
}

Types infer_scatter_nd(const OpCall& call) {
  const Shape& x = shape_of(call, 0);
  const Shape& indices = shape_of(call, 1);
  FRL_LET(const size_t n, addressed_axes(call, 0));
  Dims updates;
  append(updates, indices, 0, indices.rank() - 1);
  append(updates, x, n, x.rank());
  FRL_TRY(want_operand(call, 2, type_of(call, 0), updates));
  if (call.attributes.i(FRL_AT_scatter_nd_by) && type_of(call, 0) == Type::boolean)
    return refuse(call, "numbers to combine");
  return one_result(call, type_of(call, 0), dims_of(x));
}

}  // namespace ferrule
