// Small graphs that a device claims, with inputs and what must come out: work for the families that
// are about the protocol and not about numbers.
#pragma once

#include "conformance/raw/session.h"
#include "core/graph/graph.h"

namespace ferrule::conformance::raw {

struct Specimen {
  std::string name;  // "pointwise_add/f32"
  Graph graph;       // one node
  std::vector<Tensor> inputs, want;
  bool exact = false;  // small integers: every correct backend gives the same values
};

// Those of a fixed list that the device claims and does not refuse, the simplest first. `rows`
// scales the leading extent.
std::vector<Specimen> specimens(const Session& session, int64_t rows = 6);
// The first one, which is the one that most cases use; not_claimed if the device claims none.
//   evaluated  false: `want` stays empty, for work that is only timed
Result<Specimen> specimen(const Session& session, int64_t rows = 6, bool evaluated = true);

// The same graph with other inputs.
Result<Specimen> with_inputs(const Specimen& specimen, int seed);

// Small integers, of both signs where the type has them.
Tensor ramp(const TensorType& type, int seed);
// True if the device claims the node and does not refuse it.
bool admits(const Session& session, const Graph& graph, NodeId id);

// The region of node `id`, all of it dense and aligned as the device's first space aligns.
Result<Block> block_of(const Graph& graph, NodeId id, const DeviceRow& row);

// "" or the first element that differs: from `want` by more than a device's rounding could explain.
std::string differs(const Specimen& specimen, std::span<const Tensor> got);

}  // namespace ferrule::conformance::raw
