// Shape rules of POINTWISE ops: operands broadcast together.
#include "core/base/text.h"
#include "core/op/refuse.h"
#include "core/op/rules.h"

namespace ferrule {
namespace {

Types broadcast_all(const OpCall& call, Type type) {
  Shape shape = shape_of(call, 0);
  for (size_t i = 1; i < call.operands.size(); ++i) {
    const auto both = broadcast(shape, shape_of(call, i));
    if (!both.ok()) return refuse(call, "shapes that broadcast");
    shape = *both;
  }
  return one_result(call, type, dims_of(shape));
}

}  // namespace

Types infer_pointwise(const OpCall& call) {
  FRL_TRY(want_one_type(call));
  return broadcast_all(call, type_of(call, 0));
}

Types infer_compare(const OpCall& call) {
  FRL_TRY(want_one_type(call));
  return broadcast_all(call, Type::boolean);
}

Types infer_cast(const OpCall& call) {
  const int64_t to = call.attributes.i(FRL_AT_cast_to);
  if (to < FRL_F64 || to > FRL_BOOL)
    return refuse(call, "a known element type", std::to_string(to));
  return one_result(call, Type(to), dims_of(shape_of(call, 0)));
}

Types infer_select(const OpCall& call) {
  FRL_TRY(want_one_type(call, 1));
  return broadcast_all(call, type_of(call, 1));
}

}  // namespace ferrule
