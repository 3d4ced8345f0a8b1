// One run of the properties over many graphs: what the short test and the long check share.
#pragma once

#include "tests/property/shrink.h"

namespace ferrule::property {

struct Run {
  uint64_t seed = 1;
  size_t graphs = 100;
  bool devices = false;      // on the cpu and tpu-sim plugins of the build too
  size_t most_failures = 5;  // after which it stops
  Passes passes = real_passes;
};

struct Report {
  Tally tally;
  std::vector<std::string> failures;  // shrunken cases
};
Report run_properties(const Run& run);

// Passes that no graph of the run let change anything.
std::vector<std::string> idle_passes(const Tally& tally);

}  // namespace ferrule::property
