// Where tensors may lie in memory, by the layouts of a claim.
#pragma once

#include <optional>

#include "conformance/rig/rig.h"
#include "core/driver/rows.h"

namespace ferrule::conformance {

struct LayoutRow {
  const char* name;
  uint32_t needs;  // FRL_LAYOUT_* that the operand's row must hold, all of them
  bool repeats;    // several elements share their memory: operands only, and equal along that axis
  Lay (*make)(const Shape& shape);
};
std::span<const LayoutRow> layout_rows();

// The operand row of a claim for operand (or result) i; null if it has none.
const frl_operand* operand_row(const Claim& claim, size_t i, bool result);

// The claim that admits node 0; null if none does.
const Claim* claim_of(const DeviceRow& device, const Graph& one_node,
                      uint32_t compute = FRL_COMPUTE_IEEE);

// The tensor with the first index of its first long axis everywhere along that axis, as a repeated
// layout shows it.
Tensor constant_along(const Tensor& tensor, size_t axis);
// The axis that a repeated layout of the shape repeats; none for shapes without one.
std::optional<size_t> repeated_axis(const Shape& shape);

}  // namespace ferrule::conformance
