#include "conformance/cases/layout.h"

#include <cstring>

#include "core/claim/match.h"
#include "core/op/walk.h"

namespace ferrule::conformance {
namespace {

// Strides of the axes laid out one in the other from the last of `order` outwards; each stride is
// widened by `gap` elements.
Lay in_order(const Shape& shape, bool reversed, int64_t gap) {
  Lay out;
  out.strides.resize(shape.rank());
  int64_t stride = 1;
  for (size_t i = 0; i < shape.rank(); ++i) {
    const size_t axis = reversed ? i : shape.rank() - 1 - i;
    out.strides[axis] = stride;
    stride = stride * std::max<int64_t>(shape[axis], 1) + gap;
  }
  return out;
}

Lay ordered(const Shape& shape) { return in_order(shape, true, 0); }
Lay inner(const Shape& shape) { return in_order(shape, false, 3); }
Lay gaps(const Shape& shape) {
  Lay out = in_order(shape, false, 1);
  for (int64_t& stride : out.strides) stride *= 2;
  return out;
}
Lay gaps_in_order(const Shape& shape) { return in_order(shape, true, 5); }
Lay backwards(const Shape& shape) {
  Lay out = in_order(shape, false, 0);
  for (int64_t& stride : out.strides) stride = -stride;
  return out;
}
Lay last_backwards(const Shape& shape) {
  Lay out = in_order(shape, false, 2);
  if (!out.strides.empty()) out.strides.back() = -out.strides.back();
  return out;
}
Lay repeated(const Shape& shape) {
  Lay out = in_order(shape, false, 0);
  if (const auto axis = repeated_axis(shape)) out.strides[*axis] = 0;
  return out;
}
Lay offset_one(const Shape&) { return {.offset_elements = 1}; }
Lay offset_seven(const Shape&) { return {.offset_elements = 7}; }
Lay offset_gaps(const Shape& shape) {
  Lay out = gaps(shape);
  out.offset_elements = 3;
  return out;
}

constexpr LayoutRow kRows[] = {
    {"ordered", FRL_LAYOUT_ORDERED, false, ordered},
    {"inner", FRL_LAYOUT_INNER, false, inner},
    {"gaps", FRL_LAYOUT_STRIDED, false, gaps},
    {"gaps_in_order", FRL_LAYOUT_STRIDED, false, gaps_in_order},
    {"backwards", FRL_LAYOUT_STRIDED, false, backwards},
    {"last_backwards", FRL_LAYOUT_STRIDED, false, last_backwards},
    {"repeated", FRL_LAYOUT_STRIDED, true, repeated},
    {"offset_1", FRL_LAYOUT_UNALIGNED, false, offset_one},
    {"offset_7", FRL_LAYOUT_UNALIGNED, false, offset_seven},
    {"offset_gaps", FRL_LAYOUT_UNALIGNED | FRL_LAYOUT_STRIDED, false, offset_gaps},
};

}  // namespace

std::span<const LayoutRow> layout_rows() { return kRows; }

const frl_operand* operand_row(const Claim& claim, size_t i, bool result) {
  const frl_operand* last = nullptr;
  for (const frl_operand& row : claim.operands) {
    if (bool(row.flags & FRL_OPERAND_RESULT) != result) continue;
    if (i-- == 0) return &row;
    last = &row;
  }
  return last && last->flags & FRL_OPERAND_REPEAT ? last : nullptr;
}

const Claim* claim_of(const DeviceRow& device, const Graph& one_node, uint32_t compute) {
  return match_claims(device, one_node, one_node.node(NodeId(0)), compute).claim;
}

std::optional<size_t> repeated_axis(const Shape& shape) {
  for (size_t axis = 0; axis < shape.rank(); ++axis)
    if (shape[axis] > 1) return axis;
  return std::nullopt;
}

Tensor constant_along(const Tensor& tensor, size_t axis) {
  Tensor out(tensor.type());
  const Strides strides = row_major(tensor.shape());
  Strides first = strides;
  first[axis] = 0;
  const int64_t width = size_bytes(tensor.element());
  for (Odometer at(tensor.shape()); at.more(); at.next())
    std::memcpy(out.mutable_data() + at.offset(strides) * width,
                tensor.bytes().data() + at.offset(first) * width, size_t(width));
  return out;
}

}  // namespace ferrule::conformance
