// Steps that put ops onto what is there.
#include <algorithm>

#include "tests/property/grower.h"

namespace ferrule::property {

ValueId Grower::pointwise(ValueId x) {
  OpId op = chance_.of(kTame);
  if (chance_.with(0.35)) op = OpId(chance_.between(1, FRL_OP_reshape - 1));
  const OpRow& row = op_row(op);
  const Type type = graph_.type(x).type;
  if (row.form != Form::pointwise) return kNoValue;
  Attributes attributes(op);
  if (op == FRL_OP_cast) attributes.set_i(FRL_AT_cast_to, int64_t(chance_.of(kTypes)));
  for (const AttributeRow& attribute : attribute_rows(op))
    if (attribute.kind == AttributeKind::real && chance_.with(0.3))
      attributes.set_f(attribute.slot, double(chance_.between(1, 8)) / 4);
  if (op == FRL_OP_select) {
    const ValueId other = beside(graph_.type(x));
    const ValueId condition = beside({Type::boolean, graph_.shape(x)});
    return emitted(op, attributes, {condition, x, other});
  }
  if (!(row.types & FRL_BIT(uint64_t(type)))) return kNoValue;
  std::vector<ValueId> operands = {x};
  while (operands.size() < row.min_operands) operands.push_back(beside(graph_.type(x)));
  if (chance_.with(0.4)) std::reverse(operands.begin(), operands.end());
  return emitted(op, attributes, operands);
}

ValueId Grower::beside(const TensorType& type) {
  if (chance_.with(0.2)) return literal(type.type);
  if (chance_.with(0.6))
    if (const ValueId id = pooled([&](const TensorType& t) {
          return t.type == type.type && broadcast(t.shape, type.shape).ok();
        });
        id != kNoValue)
      return id;
  TensorType part = {type.type, {}};
  const size_t rank = type.shape.rank(), first = size_t(chance_.below(int64_t(rank) + 1));
  for (size_t axis = chance_.with(0.5) ? 0 : first; axis < rank; ++axis)
    part.shape.push_back(chance_.with(0.25) ? 1 : type.shape[axis]);
  return leaf(numbers(part));
}

ValueId Grower::reshaped(ValueId x) {
  const Shape& shape = graph_.shape(x);
  std::vector<int64_t> axes, extents;
  for (size_t axis = 0; axis < shape.rank(); ++axis)
    axes.push_back(int64_t(axis) - int64_t(shape.rank())), extents.push_back(shape[axis]);
  switch (chance_.below(4)) {
    case 0: {
      for (size_t i = axes.size(); i > 1; --i)
        std::swap(axes[i - 1], axes[size_t(chance_.below(int64_t(i)))]);
      return emitted(FRL_OP_transpose,
                     Attributes(FRL_OP_transpose).set_list(FRL_AT_transpose_order, axes), {x});
    }
    case 1:
      extents.insert(extents.begin() + chance_.below(int64_t(extents.size()) + 1), 1);
      break;
    case 2:
      extents = {shape.n_elements()};
      break;
    default: {
      extents.insert(extents.begin(), chance_.between(1, 3));
      return emitted(FRL_OP_broadcast,
                     Attributes(FRL_OP_broadcast).set_list(FRL_AT_broadcast_shape, extents), {x});
    }
  }
  return emitted(FRL_OP_reshape, Attributes(FRL_OP_reshape).set_list(FRL_AT_reshape_shape, extents),
                 {x});
}

// Parts of one axis side by side, each through the same ops, and joined again.
ValueId Grower::sliced(ValueId x) {
  const Shape shape = graph_.shape(x);
  const auto at = size_t(chance_.below(int64_t(shape.rank())));
  const int64_t parts = chance_.between(1, 3), extent = shape[at] / parts;
  if (extent == 0) return kNoValue;
  const OpId ops[] = {chance_.of(kTame), chance_.of(kTame)};
  std::vector<ValueId> results;
  for (int64_t part = 0; part < parts; ++part) {
    std::vector<int64_t> starts(shape.rank(), 0), sizes;
    for (size_t axis = 0; axis < shape.rank(); ++axis) sizes.push_back(shape[axis]);
    starts[at] = part * extent, sizes[at] = extent;
    Attributes cut(FRL_OP_slice);
    cut.set_list(FRL_AT_slice_starts, starts).set_list(FRL_AT_slice_sizes, sizes);
    ValueId y = emitted(FRL_OP_slice, cut, {x});
    for (OpId op : ops)
      if (y != kNoValue && op_row(op).types & FRL_BIT(uint64_t(graph_.type(y).type)))
        y = emitted(op, Attributes(op), std::vector<ValueId>(op_row(op).min_operands, y));
    results.push_back(y);
  }
  return emitted(
      FRL_OP_concat,
      Attributes(FRL_OP_concat).set_i(FRL_AT_concat_axis, int64_t(at) - int64_t(shape.rank())),
      results);
}

ValueId Grower::along(ValueId x) {
  const int64_t axis = -chance_.between(1, int64_t(graph_.shape(x).rank()));
  constexpr OpId kBy[] = {FRL_OP_add, FRL_OP_max, FRL_OP_min, FRL_OP_mul};
  switch (chance_.below(5)) {
    case 0:
      return emitted(FRL_OP_softmax, Attributes(FRL_OP_softmax).set_i(FRL_AT_softmax_axis, axis),
                     {x});
    case 1:
      return emitted(FRL_OP_cumulative,
                     Attributes(FRL_OP_cumulative).set_i(FRL_AT_cumulative_axis, axis), {x});
    case 2:
      return emitted(FRL_OP_layer_norm, Attributes(FRL_OP_layer_norm), {x});
    case 3:
      return emitted(FRL_OP_rms_norm, Attributes(FRL_OP_rms_norm), {x});
    default: {
      Attributes reduce(FRL_OP_reduce);
      reduce.set_i(FRL_AT_reduce_by, chance_.of(kBy)).set_list(FRL_AT_reduce_axes, {axis});
      reduce.set_i(FRL_AT_reduce_keep, chance_.below(2));
      return emitted(FRL_OP_reduce, reduce, {x});
    }
  }
}

// A product with weights, perhaps with a bias, another product of the same operand beside it.
ValueId Grower::product(ValueId x) {
  const TensorType type = graph_.type(x);
  if (type.shape.rank() < 2 || !is_float(type.type)) return kNoValue;
  ValueId y = kNoValue;
  for (int64_t i = chance_.between(1, 2); i > 0; --i) {
    const int64_t n = chance_.between(1, 6);
    y = emitted(FRL_OP_matmul, Attributes(FRL_OP_matmul),
                {x, parameter(numbers({type.type, {type.shape.back(), n}}))});
    if (y != kNoValue && chance_.with(0.5))
      y = emitted(FRL_OP_add, Attributes(FRL_OP_add), {y, parameter(numbers({type.type, {n}}))});
    if (y != kNoValue && chance_.with(0.5)) y = pointwise(y);
  }
  return y;
}

Status Grower::grow_shape() {
  const ValueId x = pooled([](const TensorType& t) {
    return t.shape.rank() > 0 && t.shape.n_elements() <= kMostElements;
  });
  if (x == kNoValue) return {};
  const double kind = chance_.unit();
  kind < 0.3 ? reshaped(x) : kind < 0.5 ? sliced(x) : kind < 0.75 ? along(x) : product(x);
  return {};
}

}  // namespace ferrule::property
