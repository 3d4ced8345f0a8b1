// Shape rules of ops whose result extents depend on element values.
#include <algorithm>

#include "core/base/text.h"
#include "core/op/refuse.h"
#include "core/op/rules.h"

namespace ferrule {

Types infer_nonzero(const OpCall& call) {
  const Shape& x = shape_of(call, 0);
  return one_result(call, Type::i64,
                    {Dim{int64_t(x.rank()), 0}, Dim{x.n_elements(), kWrittenSymbol}});
}

Types infer_unique(const OpCall& call) {
  const Shape& x = shape_of(call, 0);
  const int64_t attribute = call.attributes.i(FRL_AT_unique_axis);
  Dims dims = {Dim{x.n_elements(), kWrittenSymbol}};
  Dim inverse{x.n_elements(), 0};
  size_t axis = 0;
  if (attribute) {
    FRL_LET(axis, axis_of(call, attribute, x.rank()));
    inverse = x.dim(axis);
    dims = dims_of(x);
    dims[axis] = {x[axis], kWrittenSymbol};
  } else if (!x.is_exact()) {
    if (x.rank() != 1) return refuse(call, "exact extents, or one axis");
    inverse = x.dim(0);
  }
  const Dims count = {dims[axis]};
  FRL_LET(const TensorType values, make_type(call, type_of(call, 0), dims));
  FRL_LET(const TensorType counts, make_type(call, Type::i64, count));
  FRL_LET(const TensorType places, make_type(call, Type::i64, {inverse}));
  return std::vector<TensorType>{values, counts, places, counts};
}

Types infer_non_max_suppression(const OpCall& call) {
  const Shape& boxes = shape_of(call, 0);
  const Shape& scores = shape_of(call, 1);
  FRL_TRY(want_one_type(call));
  if (boxes.rank() != 3 || scores.rank() != 3 || boxes.dim(2) != Dim{4, 0} ||
      boxes.dim(0) != scores.dim(0) || boxes.dim(1) != scores.dim(2))
    return refuse(call, "boxes [n,b,4] and scores [n,classes,b]");
  const double iou = call.attributes.f(FRL_AT_non_max_suppression_iou_threshold);
  if (!(iou >= 0 && iou <= 1)) return refuse(call, "an iou_threshold in 0 .. 1", number_text(iou));
  const int64_t most =
      std::min(boxes[1], call.attributes.i(FRL_AT_non_max_suppression_max_per_class));
  // At most as many as there are scores, so this cannot overflow.
  const int64_t bound = scores[0] * scores[1] * most;
  return one_result(call, Type::i64, {Dim{bound, kWrittenSymbol}, Dim{3, 0}});
}

}  // namespace ferrule
