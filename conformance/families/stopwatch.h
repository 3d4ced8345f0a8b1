// How long work takes, in picoseconds: by the wall clock, and by the device's own where it fills
// step_ns. The fastest of many short trials counts: whatever else runs on the machine only adds.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

#include "conformance/raw/job.h"
#include "conformance/suite/case.h"

namespace ferrule::conformance {

constexpr int kLeastTrials = 9, kMostTrials = 400;
constexpr double kTrialsSeconds = 5, kBusySeconds = 20;  // the latter where the machine is busy
constexpr double kBusy = 0.2;  // of the time, spent waiting for a processor

struct Measured {
  double wall_ps = 0;
  double own_ps = 0;  // 0: not known
};

using Trial = std::function<Result<Measured>()>;

// The fastest trial of each, until `enough` says so (after kLeastTrials) or the time is up.
struct Fastest {
  std::vector<Measured> best;  // as many as there are kinds of trial
  int trials = 0;
  double waited = 0;  // share of the time that this process's threads stood in line, all together
  bool is_busy() const { return waited > kBusy; }
};
Result<Fastest> fastest(const std::vector<Trial>& kinds,
                        const std::function<bool(const std::vector<Measured>&)>& enough);

// What one more unit takes, given the time of few and of many.
inline Measured slope(const Measured& few, const Measured& many, double units) {
  return {std::max(0.0, many.wall_ps - few.wall_ps) / units,
          std::max(0.0, many.own_ps - few.own_ps) / units};
}

// Puts small integers into all inputs.
Status upload_ramps(raw::Job& job, const Graph& graph);
// One trial each: a call; one run of a job, as the mean of `inner`; an empty submit and its wait.
Trial time_call(std::function<Status()> call);
Trial time_job(raw::Queue& queue, raw::Job& job, int inner);
Trial time_round_trip(raw::Session& session, raw::Queue& queue);

// fused.cc: each region kind against the same nodes one by one.
void list_fused(std::vector<Case>& cases);

}  // namespace ferrule::conformance
