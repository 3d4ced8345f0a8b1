// Handles of the device, and the slots of the plugin's table that queues answer.
#pragma once

#include <mutex>

#include "plugin-api/sdk/error.h"
#include "plugins/tpu-sim/claims.h"
#include "plugins/tpu-sim/program.h"

namespace tpu_sim {

class Device : public frl_device {
 public:
  Device(const frl_host* host, const Row* row)
      : frl_device{{sizeof(frl_device), FRL_TAG_DEVICE}, row}, host_(host) {}

  const frl_host* host() const { return host_; }
  const Machine& machine() const { return static_cast<const Row*>(row)->machine; }

  // Changes the counters under their lock.
  template <class Fn>
  void count(Fn&& fn) {
    const std::lock_guard lock(mutex_);
    fn(counts_);
  }
  // HBM is as large as its row says.
  //   errors  throws FRL_NO_MEMORY
  void claim_bytes(uint64_t bytes);
  void fill(frl_telemetry* out) const;

 private:
  const frl_host* host_;
  mutable std::mutex mutex_;
  frl_telemetry counts_{};
};

struct Kernel : frl_kernel {
  Program program;
  uint32_t n_args = 0;
};

// HBM lives in memory of the host that the host is never told about.
struct Buffer : frl_buffer {
  Device* device = nullptr;
  std::byte* memory = nullptr;
};

// queue.cc
int32_t FRL_CALL open_queue(frl_device* device, frl_queue** queue, frl_error* error);
void FRL_CALL close_queue(frl_queue* queue);
int32_t FRL_CALL record(frl_queue* queue, const frl_segment* segment, frl_recording** recording,
                        frl_error* error);
void FRL_CALL drop_recording(frl_recording* recording);
int32_t FRL_CALL submit(frl_queue* queue, const frl_submit* request, frl_error* error);
int32_t FRL_CALL wait(const frl_queue* queue, uint64_t value, uint64_t timeout_ns,
                      frl_error* error);

// A struct from the other side: what is missing of it is zero.
template <class T>
T read(const T& given) {
  T out;
  frl_row(&out, sizeof out, &given, given.head.size, 0);
  return out;
}

}  // namespace tpu_sim
