// Whether what a process holds stays the same over many rounds.
#pragma once

#include "conformance/suite/case.h"

namespace ferrule::conformance {

struct Held {
  int64_t host_bytes = 0, host_blocks = 0, descriptors = 0, threads = 0, maps = 0, heap_bytes = 0,
          device_bytes = 0;
};

// Runs first some rounds, then windows of them, each twice as long as the one before. An
// allocator's caches and lazy tables fill up some time; a leak grows in each window.
//   run  so many rounds; what it fails by is the outcome
Outcome stays_flat(int64_t n, const std::function<Outcome(int64_t)>& run,
                   const std::function<Held()>& see);

}  // namespace ferrule::conformance
