// What each node takes on a device once that device has fused what it can.
#pragma once

#include "core/place/place.h"

namespace ferrule {

// Runs fuse() on a copy of the graph in which every node that the target supports lies on it, and
// spreads each region's time over its members by what they take alone. Sets time_ps of option
// `number` in every placed node.
//   errors  those of fuse(), with the target's id
Status price_fused(const Graph& graph, const Target& target, size_t number,
                   const FuseOptions& options, std::span<PlacedNode> placed);

}  // namespace ferrule
