// The batch kind: one body over `slices` slices. `axes` has, for each operand and then each result,
// the axis along which slices lie side by side, counted from the end; 0: an operand that all share.
#pragma once

#include "core/graph/graph.h"

namespace ferrule {

int64_t batch_slices(const Node& node);

// Result types of a batch node; `operands` are those of the whole tensors.
//   errors  invalid_argument where operands, axes and body do not fit
Result<std::vector<TensorType>> batch_types(const Attributes& attributes, const Graph& body,
                                            std::span<const TensorType> operands);

// What a batch node means: slices, the body for each, and their results joined.
Result<Graph> unroll_batch(const Node& node, std::span<const TensorType> operands);

}  // namespace ferrule
