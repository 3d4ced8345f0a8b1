// Shape rules of ops that work along axes.
#include "core/base/text.h"
#include "core/op/refuse.h"
#include "core/op/rules.h"

namespace ferrule {
namespace {

Dims without(const Shape& x, const std::vector<size_t>& axes, bool keep) {
  uint32_t reduced = 0;
  for (const size_t axis : axes) reduced |= 1u << axis;
  Dims dims;
  for (size_t i = 0; i < x.rank(); ++i)
    if (!(reduced >> i & 1))
      dims.push_back(x.dim(i));
    else if (keep)
      dims.push_back({1, 0});
  return dims;
}

}  // namespace

Types infer_reduce(const OpCall& call) {
  const Shape& x = shape_of(call, 0);
  const int64_t by = call.attributes.i(FRL_AT_reduce_by);
  if (type_of(call, 0) == Type::boolean && by != FRL_OP_max && by != FRL_OP_min)
    return refuse(call, "numbers, or max or min of bool");
  FRL_LET(const auto axes, axes_of(call, call.attributes.list(FRL_AT_reduce_axes), x.rank()));
  return one_result(call, type_of(call, 0),
                    without(x, axes, call.attributes.i(FRL_AT_reduce_keep)));
}

Types infer_arg_reduce(const OpCall& call) {
  const Shape& x = shape_of(call, 0);
  FRL_LET(const size_t axis, axis_of(call, call.attributes.i(FRL_AT_arg_reduce_axis), x.rank()));
  if (x[axis] == 0) return refuse(call, cat("an element on axis ", axis));
  return one_result(call, Type::i64, without(x, {axis}, call.attributes.i(FRL_AT_arg_reduce_keep)));
}

Types infer_cumulative(const OpCall& call) {
  const Shape& x = shape_of(call, 0);
  FRL_TRY(axis_of(call, call.attributes.i(FRL_AT_cumulative_axis), x.rank()));
  return one_result(call, type_of(call, 0), dims_of(x));
}

Types infer_softmax(const OpCall& call) {
  static_assert(int(FRL_AT_softmax_axis) == int(FRL_AT_log_softmax_axis));
  const Shape& x = shape_of(call, 0);
  FRL_TRY(axis_of(call, call.attributes.i(FRL_AT_softmax_axis), x.rank()));
  return one_result(call, type_of(call, 0), dims_of(x));
}

Types infer_topk(const OpCall& call) {
  const Shape& x = shape_of(call, 0);
  FRL_LET(const size_t axis, axis_of(call, call.attributes.i(FRL_AT_topk_axis), x.rank()));
  FRL_TRY(want_exact(call, 0, axis));
  const int64_t k = call.attributes.i(FRL_AT_topk_k);
  if (k < 0 || k > x[axis]) return refuse(call, cat("k in 0 .. ", x[axis]), std::to_string(k));
  Dims dims = dims_of(x);
  dims[axis] = {k, 0};
  FRL_LET(const TensorType values, make_type(call, type_of(call, 0), dims));
  return std::vector<TensorType>{values, {Type::i64, values.shape}};
}

}  // namespace ferrule
