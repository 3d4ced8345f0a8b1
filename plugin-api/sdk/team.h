// The host's team with C++ callables: no exception crosses, work is split by what it is.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>

#include "plugin-api/sdk/error.h"

namespace frl {

// Runs fn(const frl_worker&) on up to `wanted` workers. The first exception of any worker is thrown
// again here, after all have ended; so a worker that throws must not leave others at a barrier.
template <class Fn>
void team(const frl_host* host, uint32_t wanted, uint64_t scratch_bytes, Fn&& fn) {
  struct Work {
    Fn& fn;
    std::atomic_flag failed = ATOMIC_FLAG_INIT;
    std::exception_ptr first;
  } work{fn, {}, {}};
  const auto member = [](void* arg, const frl_worker* worker) {
    Work& w = *static_cast<Work*>(arg);
    try {
      w.fn(*worker);
    } catch (...) {
      if (!w.failed.test_and_set()) w.first = std::current_exception();
    }
  };
  if (host->team(host->self, std::max(wanted, 1u), scratch_bytes, member, &work) != FRL_OK)
    throw Failure(FRL_NO_MEMORY, "team: no memory for its scratch", 0);
  if (work.first) std::rethrow_exception(work.first);
}

// How many workers are worth waking for `total` units of work, if less than `least` is not.
inline uint32_t workers_for(const frl_host* host, int64_t total, int64_t least) {
  const int64_t n = total / std::max<int64_t>(least, 1);
  return static_cast<uint32_t>(std::clamp<int64_t>(n, 1, host->max_workers));
}

// fn(0, n, scratch) with a scratch that lies on the stack.
constexpr uint64_t kStackScratchBytes = 64 * 1024;
template <class Fn>
__attribute__((noinline)) void run_on_stack(int64_t n, Fn&& fn) {
  alignas(64) std::byte scratch[kStackScratchBytes];
  fn(int64_t{0}, n, static_cast<void*>(scratch));
}

// Calls fn(begin, end, scratch) on slices that together are [0, n), one a worker. Slices depend on
// how many run, so an item's result must not depend on the slice it is in.
//   units  cost_ns of one item; slices under 16 us of work are not made
template <class Fn>
void for_slices(const frl_host* host, int64_t n, double cost_ns, uint64_t scratch_bytes, Fn&& fn) {
  constexpr double kWorthNs = 16000;
  if (n <= 0) return;
  const double share = static_cast<double>(n) * cost_ns / kWorthNs;
  const uint32_t wanted = static_cast<uint32_t>(
      std::clamp(share, 1.0, static_cast<double>(std::min<int64_t>(n, host->max_workers))));
  if (wanted == 1 && scratch_bytes == 0) {
    fn(int64_t{0}, n, static_cast<void*>(nullptr));
    return;
  }
  if (wanted == 1 && scratch_bytes <= kStackScratchBytes) return run_on_stack(n, fn);
  team(host, wanted, scratch_bytes, [&](const frl_worker& w) {
    const int64_t begin = n * w.id / w.n, end = n * (w.id + 1) / w.n;
    if (begin < end) fn(begin, end, w.scratch);
  });
}

}  // namespace frl
