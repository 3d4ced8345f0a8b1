// What a rotary embedding is written with: parts of the last axis, and tables of angles.
#pragma once

#include <set>
#include <string>

#include "core/graph/graph.h"

namespace ferrule {

// What goes together in a last axis: element i with i + n / 2, or 2i with 2i + 1.
enum class Twos { halves, pairs };

// True if `part`, a slice or a gather by a literal, takes the first (number 0) or the second of
// each two of x's last axis, one after the other.
//   in_pairs  it takes them out of a reshape of x to [.., n / 2, 2]
bool is_part(const Graph& graph, const Node& part, const Shape& x, Twos twos, bool in_pairs,
             int64_t number);

// True if both of each two in the last axis of `id` are equal, as its makers or its known elements
// show. A parameter that is looked at is named in `read_parameters` (may be null).
bool holds_twice(const Graph& graph, ValueId id, Twos twos, std::set<std::string>* read_parameters);

// The elements once.
Result<ValueId> taken_once(Graph& graph, ValueId id, Twos twos);

}  // namespace ferrule
