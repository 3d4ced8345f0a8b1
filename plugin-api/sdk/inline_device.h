// A device that works in host memory on the calling thread: all of the ABI but the kernels.
//
// Derive from InlineDevice, give it rows() and compile(), name it in FRL_PLUGIN (plugin.h).
#pragma once

#include <mutex>

#include "plugin-api/sdk/inline_queue.h"
#include "plugin-api/sdk/region.h"

#if defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
#endif
#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace frl {

class InlineDevice {
 public:
  InlineDevice(const frl_host* host, const frl_device_row* row) : host_(host), row_(row) {}
  InlineDevice(const InlineDevice&) = delete;
  InlineDevice& operator=(const InlineDevice&) = delete;
  virtual ~InlineDevice() = default;

  // The kernel of a region within the claims.
  //   errors  throws Failure(FRL_NOT_CLAIMED, ...) or a refusal
  //   thread  any number at once
  virtual std::unique_ptr<Kernel> compile(const Region& region) = 0;

  // A kernel from what Kernel::save gave for this region; null to compile anew. The bytes are whole
  // and of this version of the plugin.
  virtual std::unique_ptr<Kernel> restore(const Region& region, std::span<const std::byte> saved) {
    (void)region, (void)saved;
    return nullptr;
  }

  const frl_host* host() const { return host_; }
  const frl_device_row* row() const { return row_; }

  // ---- bookkeeping of the SDK ----
  struct Counters {
    std::atomic<uint64_t> live_bytes{0}, peak_bytes{0}, compiled{0}, restored{0};
  } counters;
  void add_queue(InlineQueue* queue) {
    const std::lock_guard lock(mutex_);
    queues_.push_back(queue);
  }
  void remove_queue(InlineQueue* queue) {
    const std::lock_guard lock(mutex_);
    std::erase(queues_, queue);
    closed_submits_ += queue->n_submits(), closed_steps_ += queue->n_steps();
  }
  void count_bytes(int64_t change) {
    const uint64_t live = counters.live_bytes += static_cast<uint64_t>(change);
    uint64_t peak = counters.peak_bytes;
    while (live > peak && change > 0 && !counters.peak_bytes.compare_exchange_weak(peak, live)) {
    }
  }
  void fill(frl_telemetry* out) const {
    const std::lock_guard lock(mutex_);
    out->submits = closed_submits_, out->steps = closed_steps_;
    for (const InlineQueue* q : queues_) out->submits += q->n_submits(), out->steps += q->n_steps();
    out->live_bytes = counters.live_bytes, out->peak_bytes = counters.peak_bytes;
    out->compiled = counters.compiled, out->restored = counters.restored;
  }

 private:
  const frl_host* host_;
  const frl_device_row* row_;
  mutable std::mutex mutex_;
  std::vector<InlineQueue*> queues_;
  uint64_t closed_submits_ = 0, closed_steps_ = 0;
};

// Host memory as a space: any address may be bound. For device rows; made on demand because the
// size is the machine's.
inline const frl_space* host_space() {
  static const frl_space space = [] {
    uint64_t bytes = uint64_t{16} << 30;
#if defined(_SC_PHYS_PAGES)
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (pages > 0 && page > 0) bytes = static_cast<uint64_t>(pages) * static_cast<uint64_t>(page);
#endif
    return frl_space{
        FRL_SPACE_HOST_VISIBLE | FRL_SPACE_DEVICE | FRL_SPACE_UNIFIED | FRL_SPACE_ADDRESS, 64,
        bytes, bytes, bytes};
  }();
  return &space;
}

// Large buffers lie on large pages where the system has them: weights are read once a run, and a
// walk through small pages costs more than the reading.
constexpr uint64_t kLargePageBytes = uint64_t{2} << 20;
constexpr uint64_t buffer_alignment(uint64_t bytes) {
  return bytes >= kLargePageBytes ? kLargePageBytes : 64;
}
inline void prefer_large_pages([[maybe_unused]] void* p, [[maybe_unused]] uint64_t bytes) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  if (bytes >= kLargePageBytes)
    madvise(p, bytes / kLargePageBytes * kLargePageBytes, MADV_HUGEPAGE);
#endif
}

#if defined(__x86_64__) || defined(_M_X64)
#define FRL_HOST_ISA "x86-64"
#elif defined(__aarch64__) || defined(_M_ARM64)
#define FRL_HOST_ISA "armv8-a"
#else
#define FRL_HOST_ISA "generic"
#endif

// A present device in host memory. Text, claims and cost outlive the row.
//   fingerprint  changes whenever saved kernels become useless
inline frl_device_row host_device_row(std::string_view name, frl_rows claims, const frl_cost* cost,
                                      uint64_t fingerprint = 1,
                                      std::string_view architecture = FRL_HOST_ISA) {
  frl_device_row row{};
  row.name = str(name), row.architecture = str(architecture);
  row.state = FRL_DEVICE_PRESENT, row.flags = FRL_DEVICE_INLINE;
  row.max_queues = 1u << 16;
  row.dlpack_type = 1;  // kDLCPU
  row.fingerprint = fingerprint;
  row.claims = claims, row.cost = cost;
  row.spaces = {host_space(), 1, sizeof(frl_space)};
  return row;
}

// FNV-1a; for keys, never for trust.
inline uint64_t hash_bytes(std::span<const std::byte> bytes,
                           uint64_t seed = 1469598103934665603ull) {
  for (std::byte b : bytes) seed = (seed ^ static_cast<uint64_t>(b)) * 1099511628211ull;
  return seed;
}

}  // namespace frl
