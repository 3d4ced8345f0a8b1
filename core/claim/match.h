// Does a device claim a node? Data against data; the reason where not.
#pragma once

#include "core/driver/driver.h"
#include "core/graph/graph.h"

namespace ferrule {

struct Answer {
  const Claim* claim = nullptr;  // the row that admits the node; null: refused
  Refusal refusal;
  uint32_t compute = FRL_COMPUTE_IEEE;  // the mode to ask the kernel for
};

// The node as it stands: a plain op or closed kind by its own rows, an open kind by the kind's rows
// and its members'. compute: the FRL_COMPUTE_* that the config allows; a row
// without it runs the node as IEEE, which is never less accurate.
Answer match_claims(const DeviceRow& device, const Graph& graph, const Node& node,
                    uint32_t compute);

// First row of a kind or op; null if the device has none.
const Claim* find_claim(const DeviceRow& device, OpId op);

}  // namespace ferrule
