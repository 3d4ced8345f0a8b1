// One run of one region: its memory, its segment, and what came out.
#pragma once

#include "conformance/rig/rig.h"

namespace ferrule::conformance {

// What a region's block says of its tensors.
struct Placing {
  std::vector<Placed> operands, results;
};
Placing placing_of(const Graph& one_node, const RunOptions& options, uint32_t align_bytes);

// Compiles node 0, binds guarded memory, submits, and reads everything back. `result` is filled as
// far as the run came.
//   errors  the plugin's, and no_memory for buffers beyond what the space allows
Status run_region(Device& device, Queue& queue, const Graph& one_node,
                  std::span<const Tensor> inputs, const RunOptions& options, RunResult* result);

}  // namespace ferrule::conformance
