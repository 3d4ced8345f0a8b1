// What the passes over open regions share.
#pragma once

#include <optional>

#include "core/pass/pass.h"

namespace ferrule {

// Empty for a device that claims some open kind: the passes that shape regions join its pipeline.
std::string unless_regions(const PassContext& context);

bool is_pointwise_node(const Graph& graph, const Node& node);  // a lone op or a region

// A slice of all of the operand's other axes: where it starts along its one axis.
struct Cut {
  ValueId parent = kNoValue;
  int64_t axis = 0;  // from the end; 0: the node is no such slice
  int64_t start = 0, extent = 0;
};
Cut cut_of(const Graph& graph, ValueId slice);
// Which half of its parent's last axis a slice is, 0 or 1; nothing: it is neither.
std::optional<int> half_of(const Graph& graph, ValueId slice);

// Replaces a node with a body by the body's nodes.
Status inline_node(Graph& graph, NodeId id);

}  // namespace ferrule
