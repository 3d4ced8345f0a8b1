// A graph with its inputs, and changed copies of it: what shrinking and varying a case are made of.
#pragma once

#include <cmath>
#include <map>
#include <set>

#include "core/graph/graph.h"

namespace ferrule::property {

struct Sample {
  Graph graph;
  std::vector<Tensor> inputs;  // in the order of graph.inputs()
};

// What a copy has otherwise.
struct Change {
  std::set<size_t> dropped;             // outputs, by number
  std::map<size_t, ValueId> moved;      // outputs, by number: another value instead
  std::map<ValueId, Tensor> cut;        // computed values that become inputs holding this
  std::map<ValueId, ValueId> bypassed;  // computed values that another of the type stands for
  // Extents of leaves, and what repeats them in attributes.
  int64_t extent = -1, extent_now = -1;
  bool multiples = false;                         // those that are multiples of it too
  Type type = Type::none, type_now = Type::none;  // of elements, in leaves and casts
  // Elements of leaves: larger ones become this, infinities and NaN too if `finite`.
  double most = INFINITY;
  bool finite = false;
};

// The sample with the change and without what no output needs any more.
//   errors  those of the shape rules: the change does not fit; unsupported for leaves with symbols
Result<Sample> rebuild(const Sample& sample, const Change& change);

// The values of all computed values, by id.
//   errors  those of evaluate()
Result<std::map<ValueId, Tensor>> inner_values(const Sample& sample);

}  // namespace ferrule::property
