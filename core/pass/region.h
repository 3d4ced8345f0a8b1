// Making a region out of nodes.
#pragma once

#include "core/pass/pass.h"

namespace ferrule {

// Emits a region of an OPEN kind that holds copies of `members` (in topological order) and gives
// `outputs`. Literals of one element come along inside; everything else from outside is an operand,
// once. Sources are those of the members, the device theirs. The members stay; nothing is replaced.
Result<NodeId> emit_region(Graph& graph, OpId kind, std::span<const NodeId> members,
                           std::span<const ValueId> outputs);

// Operands that emit_region would give the region.
std::vector<ValueId> region_operands(const Graph& graph, std::span<const NodeId> members);

}  // namespace ferrule
