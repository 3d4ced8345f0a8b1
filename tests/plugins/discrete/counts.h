// How often each slot of the two tables was called.
#pragma once

#include <atomic>

#include "plugin-api/frl_plugin.h"

namespace discrete {

#define DISCRETE_PLUGIN_SLOTS(X)                                                                \
  X(devices)                                                                                    \
  X(refuse) X(estimate) X(open) X(close) X(compile) X(drop_kernel) X(serialise) X(make_buffer)  \
      X(drop_buffer) X(open_queue) X(close_queue) X(record) X(drop_recording) X(submit) X(wait) \
          X(telemetry) X(quiesce)
// What the slots were asked for; `paths` are no slots but must be walked as well.
#define DISCRETE_HOST_SLOTS(X) X(alloc) X(release) X(log) X(team) X(barrier)
#define DISCRETE_PATHS(X) \
  X(copies) X(waits) X(cancel) X(step_ns) X(packs) X(extents) X(import) X(restore)

enum Slot {
#define X(name) kPlugin_##name,
  DISCRETE_PLUGIN_SLOTS(X)
#undef X
#define X(name) kHost_##name,
      DISCRETE_HOST_SLOTS(X)
#undef X
#define X(name) kPath_##name,
          DISCRETE_PATHS(X)
#undef X
              kSlots
};

extern std::atomic<uint64_t> calls[kSlots];
inline void count(Slot slot) { calls[slot].fetch_add(1, std::memory_order_relaxed); }

// The host's services, counted.
inline void* host_alloc(const frl_host* h, uint64_t bytes, uint64_t align) {
  count(kHost_alloc);
  return h->alloc(h->self, bytes, align);
}
inline void host_release(const frl_host* h, void* p, uint64_t bytes, uint64_t align) {
  count(kHost_release);
  h->release(h->self, p, bytes, align);
}
inline void host_log(const frl_host* h, uint32_t level, const char* text, uint64_t n) {
  count(kHost_log);
  h->log(h->self, level, text, n);
}
inline int32_t host_team(const frl_host* h, uint32_t wanted, uint64_t scratch,
                         void (*fn)(void*, const frl_worker*), void* arg) {
  count(kHost_team);
  return h->team(h->self, wanted, scratch, fn, arg);
}
inline void host_barrier(const frl_host* h, const frl_worker* worker) {
  count(kHost_barrier);
  h->barrier(h->self, worker);
}

}  // namespace discrete
