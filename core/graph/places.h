// What integer inputs may be where their elements name places: rows of a table, ends of sequences.
#pragma once

#include <vector>

#include "core/graph/graph.h"

namespace ferrule {

constexpr int64_t kAnyPlace = INT64_MAX;

// By graph.inputs(): how many places the elements of that input choose among, counted from 0;
// kAnyPlace where they name none. Followed through ops that move or cast elements, and into bodies.
std::vector<int64_t> count_places(const Graph& graph);

}  // namespace ferrule
