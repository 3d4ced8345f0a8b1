// Which device each item runs on, so that work and transfers together take least. Numbers only: it
// knows no graph.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ferrule {

// What a device asks for values that come and go. Between the host and a device that shares the
// host's memory nothing moves; from one device to another a round trip is always paid.
//   units   picoseconds
struct Lane {
  bool host_memory = false;
  int64_t round_trip_ps = 0, to_device_ps_per_kib = 0, from_device_ps_per_kib = 0;
};

constexpr int32_t kHost = -1;

// A value that is read. It leaves its device once and enters each other device once, however many
// items read it there.
struct Traffic {
  int32_t maker = kHost;          // item
  std::vector<uint32_t> readers;  // items; one may stand here twice
  bool host_reads = false;        // an output, or an operand of control flow
  int64_t size_bytes = 0;
};

constexpr int64_t kNever = -1;  // the item cannot run there

struct Problem {
  std::vector<Lane> lanes;                   // by device, in the order that decides between equals
  std::vector<std::vector<int64_t>> run_ps;  // by item (each after those it reads), then device
  std::vector<Traffic> traffic;

  // Each price is cut off where the sum of all could leave 64 bits.
  int64_t most_ps() const;
  int64_t price_ps(uint32_t item, int32_t device) const;
  bool may_run(uint32_t item, int32_t device) const {
    return run_ps[item][size_t(device)] != kNever;
  }
  int64_t leave_ps(const Traffic& traffic, int32_t device) const;
  int64_t enter_ps(const Traffic& traffic, int32_t device) const;
};

using Devices = std::vector<int32_t>;  // by item

// What an assignment takes, in all.
int64_t total_ps(const Problem& problem, const Devices& devices);

// Items on `a` or `b` that may run on both go to whichever of the two makes the total least, all at
// once and exactly: a minimum cut. Of several such assignments the one with most items on `a`.
// True if anything moved.
bool cut_between(const Problem& problem, int32_t a, int32_t b, Devices& devices);

// Each item where it alone takes least, then cuts between pairs of devices until no cut moves
// anything. Exact where items can choose between two devices only. Each item may run somewhere.
Devices assign(const Problem& problem);

}  // namespace ferrule
