// Random graphs: ops called as the recipes of the conformance suite call them, patterns as the text
// cases of the passes write them, pointwise chains and shape ops, all grown onto each other.
#pragma once

#include <string>
#include <vector>

#include "tests/property/chance.h"
#include "tests/property/rebuild.h"

namespace ferrule::property {

// The graph that a text case of a pass begins with, and what its device claims.
struct Plant {
  std::string name;  // "fuse_norm/a sum in front of the norm"
  std::string pass;
  std::vector<std::string> claims;
  Graph graph;
};
const std::vector<Plant>& plants();

struct Grown {
  Sample sample;
  std::vector<std::string> claims;  // of a planted case; empty if none was planted
  std::vector<OpId> ops;            // all that it holds
};

// A graph whose outputs are what nothing uses and, by chance, inner values; some are droppable.
// Its evaluation may fail where one op's numbers are another's places.
Grown grow(uint64_t seed);

}  // namespace ferrule::property
