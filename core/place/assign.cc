#include "core/place/assign.h"

#include <algorithm>

namespace ferrule {
namespace {

constexpr int kMostRounds = 64;  // a handful is usual

int64_t priced(int64_t round_trip_ps, int64_t ps_per_kib, int64_t size_bytes, int64_t most_ps) {
  const double ps = double(round_trip_ps) + double(size_bytes) / 1024 * double(ps_per_kib);
  return ps >= double(most_ps) ? most_ps : int64_t(ps);
}

}  // namespace

int64_t Problem::most_ps() const {
  return INT64_MAX / 8 / int64_t(run_ps.size() + (traffic.size() + 1) * (lanes.size() + 1));
}

int64_t Problem::price_ps(uint32_t item, int32_t device) const {
  return std::min(run_ps[item][size_t(device)], most_ps());
}

int64_t Problem::leave_ps(const Traffic& t, int32_t device) const {
  const Lane& lane = lanes[size_t(device)];
  return priced(lane.round_trip_ps, lane.host_memory ? 0 : lane.from_device_ps_per_kib,
                t.size_bytes, most_ps());
}

int64_t Problem::enter_ps(const Traffic& t, int32_t device) const {
  const Lane& lane = lanes[size_t(device)];
  return priced(lane.round_trip_ps, lane.host_memory ? 0 : lane.to_device_ps_per_kib, t.size_bytes,
                most_ps());
}

int64_t total_ps(const Problem& problem, const Devices& devices) {
  int64_t ps = 0;
  for (uint32_t item = 0; item < devices.size(); ++item)
    ps += problem.price_ps(item, devices[item]);
  std::vector<int32_t> readers;
  for (const Traffic& t : problem.traffic) {
    const int32_t home = t.maker == kHost ? kHost : devices[size_t(t.maker)];
    readers.clear();
    for (uint32_t reader : t.readers)
      if (devices[reader] != home) readers.push_back(devices[reader]);
    std::sort(readers.begin(), readers.end());
    readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
    const bool to_host = t.host_reads && home != kHost && !problem.lanes[size_t(home)].host_memory;
    if (home != kHost && (to_host || !readers.empty())) ps += problem.leave_ps(t, home);
    for (int32_t device : readers)
      if (home != kHost || !problem.lanes[size_t(device)].host_memory)
        ps += problem.enter_ps(t, device);
  }
  return ps;
}

Devices assign(const Problem& problem) {
  const auto n = int32_t(problem.lanes.size());
  Devices devices;
  for (uint32_t item = 0; item < problem.run_ps.size(); ++item) {
    int32_t best = 0;
    for (int32_t device = 1; device < n; ++device)
      if (problem.may_run(item, device) &&
          (!problem.may_run(item, best) ||
           problem.price_ps(item, device) < problem.price_ps(item, best)))
        best = device;
    devices.push_back(best);
  }
  // Each cut lowers the total, or keeps it and moves items towards the front of the order.
  bool moved = true;
  for (int round = 0; moved && round < kMostRounds; ++round) {
    moved = false;
    for (int32_t a = 0; a < n; ++a)
      for (int32_t b = a + 1; b < n; ++b) moved |= cut_between(problem, a, b, devices);
    if (n <= 2) break;
  }
  return devices;
}

}  // namespace ferrule
