#include "core/place/assign.h"

#include <algorithm>

namespace ferrule {
namespace {

int64_t priced(int64_t round_trip_ps, int64_t ps_per_kib, int64_t size_bytes, int64_t most_ps) {
  const double ps = double(round_trip_ps) + double(size_bytes) / 1024 * double(ps_per_kib);
  return ps >= double(most_ps) ? most_ps : int64_t(ps);
}

// What is known of one value while the sweep goes on.
struct Seen {
  bool left = false;             // its maker's device
  std::vector<uint8_t> entered;  // by device
};

class Sweep {
 public:
  explicit Sweep(const Problem& problem)
      : problem_(problem),
        n_devices_(int32_t(problem.lanes.size())),
        devices_(problem.run_ps.size(), kUnknown),
        seen_(problem.traffic.size()),
        made_(problem.run_ps.size()),
        read_(problem.run_ps.size()) {
    for (size_t t = 0; t < problem.traffic.size(); ++t) {
      const Traffic& traffic = problem.traffic[t];
      seen_[t].entered.resize(size_t(n_devices_));
      if (traffic.maker != kHost) made_[size_t(traffic.maker)].push_back(t);
      for (uint32_t reader : traffic.readers) read_[reader].push_back(t);
    }
  }

  Devices run() {
    for (uint32_t item = 0; item < devices_.size(); ++item) {
      int32_t best = kUnknown;
      int64_t best_ps = 0;
      for (int32_t device = 0; device < n_devices_; ++device) {
        if (!problem_.may_run(item, device)) continue;
        const int64_t ps = extra_ps(item, device);
        if (best == kUnknown || ps < best_ps) best = device, best_ps = ps;
      }
      settle(item, best);
    }
    return std::move(devices_);
  }

 private:
  static constexpr int32_t kUnknown = -2;

  int32_t home(const Traffic& traffic) const {
    return traffic.maker == kHost ? kHost : devices_[size_t(traffic.maker)];
  }

  int64_t extra_ps(uint32_t item, int32_t device) const {
    int64_t ps = problem_.price_ps(item, device);
    for (size_t t : read_[item]) {
      const Traffic& traffic = problem_.traffic[t];
      const int32_t from = home(traffic);
      if (from == device || from == kUnknown || seen_[t].entered[size_t(device)]) continue;
      if (from != kHost && !seen_[t].left) ps += problem_.leave_ps(traffic, from);
      if (from != kHost || !problem_.lanes[size_t(device)].host_memory)
        ps += problem_.enter_ps(traffic, device);
    }
    for (size_t t : made_[item])
      if (problem_.traffic[t].host_reads && !problem_.lanes[size_t(device)].host_memory)
        ps += problem_.leave_ps(problem_.traffic[t], device);
    return ps;
  }

  void settle(uint32_t item, int32_t device) {
    devices_[item] = device;
    for (size_t t : read_[item]) {
      const int32_t from = home(problem_.traffic[t]);
      if (from == device || from == kUnknown) continue;
      seen_[t].left = true;
      seen_[t].entered[size_t(device)] = 1;
    }
    for (size_t t : made_[item])
      seen_[t].left = problem_.traffic[t].host_reads && !problem_.lanes[size_t(device)].host_memory;
  }

  const Problem& problem_;
  const int32_t n_devices_;
  Devices devices_;
  std::vector<Seen> seen_;                        // by traffic
  std::vector<std::vector<size_t>> made_, read_;  // traffic by item
};

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

Devices sweep(const Problem& problem) { return Sweep(problem).run(); }

Devices assign(const Problem& problem) {
  Devices devices = sweep(problem);
  const auto n = int32_t(problem.lanes.size());
  // Each cut lowers the total, or keeps it and moves items towards the front of the order.
  for (bool moved = true; moved;) {
    moved = false;
    for (int32_t a = 0; a < n; ++a)
      for (int32_t b = a + 1; b < n; ++b) moved |= cut_between(problem, a, b, devices);
    if (n <= 2) break;
  }
  return devices;
}

}  // namespace ferrule
