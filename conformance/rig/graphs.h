// Graphs of one node: the form in which a region reaches the rig.
#pragma once

#include "core/driver/rows.h"
#include "core/graph/graph.h"

namespace ferrule::conformance {

// What one operand of a lone node is.
struct Slot {
  TensorType type;  // none: missing
  Tensor known;     // a parameter or a literal, else empty
  bool parameter = false;
};

// One node of a PLAIN, POINTWISE or CLOSED op whose inputs are named "0", "1", ...
//   errors  those of the op's shape rule
Result<Graph> one_node(OpId op, const Attributes& attributes, std::span<const Slot> operands);

// The same around a body, for OPEN kinds: inputs as the body's.
Result<Graph> one_region(OpId kind, const Attributes& attributes, Body body);

// A node of a graph on its own: an input for each operand that is there and no literal, in order.
// Types are those of `operands`, as many as the node's.
Result<Graph> lone_node(const Graph& graph, const Node& node, std::span<const Tensor> operands);

// A POINTWISE node as the body of a one-node pointwise region; literals of one element stay inside.
Result<Graph> as_pointwise(const Graph& one_node);

// A lone node as the core asks for it: itself, or, if only that is claimed, as a region of one
// node.
//   errors  not_claimed with the reason of the last form that was tried
Result<Graph> claimed_form(const DeviceRow& device, Result<Graph> one_node,
                           uint32_t compute = FRL_COMPUTE_IEEE);

}  // namespace ferrule::conformance
