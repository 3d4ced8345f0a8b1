// How long work takes, in picoseconds: medians by the wall clock, and by the device's own where it
// fills step_ns.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

#include "conformance/raw/job.h"
#include "conformance/suite/case.h"

namespace ferrule::conformance {

constexpr int kTrials = 9;

struct Measured {
  double wall_ps = 0;
  double own_ps = 0;  // 0: not known
};

// What one more unit takes, given the time of few and of many.
inline Measured slope(const Measured& few, const Measured& many, double units) {
  return {std::max(0.0, many.wall_ps - few.wall_ps) / units,
          std::max(0.0, many.own_ps - few.own_ps) / units};
}

// Puts small integers into all inputs.
Status upload_ramps(raw::Job& job, const Graph& graph);
// The median of kTrials calls, after two that do not count.
Result<Measured> time_call(const std::function<Status()>& call);
// The median time of one run of the job, each trial `inner` runs.
Result<Measured> time_job(raw::Queue& queue, raw::Job& job, int inner);
// An empty submit and its wait.
Result<Measured> time_round_trip(raw::Session& session, raw::Queue& queue);

// fused.cc: each region kind against the same nodes one by one.
void list_fused(std::vector<Case>& cases);

}  // namespace ferrule::conformance
