// Shape rules of ops that read between elements.
#include "core/base/text.h"
#include "core/op/refuse.h"
#include "core/op/rules.h"

namespace ferrule {

Types infer_resize(const OpCall& call) {
  constexpr int64_t nearest = 0, tf_crop_and_resize = 4;
  const Shape& x = shape_of(call, 0);
  const int64_t rank = int64_t(x.rank());
  const std::vector<int64_t>& sizes = call.attributes.list(FRL_AT_resize_sizes);
  if (int64_t(sizes.size()) != rank)
    return refuse(call, cat(rank, " values of sizes"), list_text(sizes));
  FRL_TRY(want_operand(call, 1, Type::f64, {Dim{rank, 0}}));
  FRL_TRY(want_operand(call, 2, Type::f64, {Dim{2 * rank, 0}}));
  if (call.attributes.i(FRL_AT_resize_coordinate) == tf_crop_and_resize && !has(call, 2))
    return refuse(call, "a region as operand 2");
  if (call.attributes.i(FRL_AT_resize_mode) != nearest && !is_float(type_of(call, 0)))
    return refuse(call, "a float to interpolate");
  Dims dims;
  for (size_t i = 0; i < x.rank(); ++i) {
    if (sizes[i] != x[i]) FRL_TRY(want_exact(call, 0, i));
    if (x[i] == 0 && sizes[i] > 0) return refuse(call, cat("an element on axis ", i));
    dims.push_back({sizes[i], sizes[i] == x[i] ? x.dim(i).symbol : 0});
  }
  return one_result(call, type_of(call, 0), dims);
}

Types infer_grid_sample(const OpCall& call) {
  const Shape& x = shape_of(call, 0);
  const Shape& grid = shape_of(call, 1);
  FRL_TRY(want_one_type(call));
  if (x.rank() != 4 || grid.rank() != 4 || grid.dim(0) != x.dim(0) || grid.dim(3) != Dim{2, 0})
    return refuse(call, "[n,c,h,w] and a grid [n,oh,ow,2]");
  return one_result(call, type_of(call, 0), {x.dim(0), x.dim(1), grid.dim(1), grid.dim(2)});
}

Types infer_roi_align(const OpCall& call) {
  const Shape& x = shape_of(call, 0);
  const Shape& rois = shape_of(call, 1);
  if (x.rank() != 4 || rois.rank() != 2 || type_of(call, 1) != type_of(call, 0) ||
      rois.dim(1) != Dim{4, 0})
    return refuse(call, "[n,c,h,w] and rois [r,4] of one element type");
  FRL_TRY(want_operand(call, 2, Type::i64, {rois.dim(0)}));
  const Dim height{call.attributes.i(FRL_AT_roi_align_height), 0};
  const Dim width{call.attributes.i(FRL_AT_roi_align_width), 0};
  return one_result(call, type_of(call, 0), {rois.dim(0), x.dim(1), height, width});
}

}  // namespace ferrule
