// Does a device claim a node? Data against data; the reason where not.
#pragma once

#include "core/driver/driver.h"
#include "core/graph/graph.h"

namespace ferrule {

struct Answer {
  const Claim* claim = nullptr;  // the row that admits the node; null: refused
  Refusal refusal;
};

// The node as it stands: a plain op or closed kind by its own rows, an open kind by the kind's rows
// and its members'. compute: the one FRL_COMPUTE_* that the config asks for.
Answer match_claims(const DeviceRow& device, const Graph& graph, const Node& node,
                    uint32_t compute);

// First row of a kind or op; null if the device has none.
const Claim* find_claim(const DeviceRow& device, OpId op);

}  // namespace ferrule
