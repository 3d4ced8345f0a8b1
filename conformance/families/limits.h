// Cases of family E at the limits of a claim row, and one past them.
#pragma once

#include "conformance/cases/check.h"
#include "core/base/text.h"

namespace ferrule::conformance {

// One claim row, judged without its neighbours: a device that has this row of the op alone.
struct RowAtHand {
  const Claim& claim;
  size_t number;  // among all rows
  std::shared_ptr<DeviceRow> alone;
  std::string name() const { return cat("E/", claim.name, "/row_", number, "/"); }
};

bool admits(const RowAtHand& row, const Graph& graph);

// Claimed, so refuse() may say no; a yes binds: it compiles, runs and is right.
Outcome check_claimed(const Target& target, const Graph& graph, std::span<const Tensor> inputs,
                      const RunOptions& options);

// Nodes, inputs and results of the pointwise kind; extents and elements of the other rows.
void list_counts(const Target& target, std::vector<Case>& cases, const RowAtHand& row);
void list_extents(const Target& target, std::vector<Case>& cases, const RowAtHand& row);

}  // namespace ferrule::conformance
