// A segment on one queue: programs, where their arguments are, and the VMEM that they work in.
#pragma once

#include "plugins/tpu-sim/device.h"

namespace tpu_sim {

// The memory behind a binding.
//   errors  throws FRL_INVALID if `bytes` from there on are not the buffer's
std::byte* address_of(const frl_binding& binding, uint64_t bytes, const char* what);

class Recording final : public frl_recording {
 public:
  //   errors  throws FRL_INVALID with the step at fault, FRL_NO_MEMORY
  Recording(const frl_queue* queue, Device* device, const frl_segment& segment);
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  ~Recording();

  const frl_queue* queue() const { return queue_; }
  uint32_t n_steps() const { return static_cast<uint32_t>(steps_.size()); }
  uint32_t n_late() const { return n_late_; }

  // Takes the late bindings of a submit. On the queue's thread, like run_step.
  //   errors  throws FRL_INVALID
  void bind(const std::vector<frl_binding>& late);
  // Where they may point; the same errors.
  void check(const std::vector<frl_binding>& late) const;
  // Executes a step and says what it takes on the simulated clock.
  uint64_t run_step(uint32_t i);

 private:
  struct Step {
    const Program* program;
    uint32_t first_arg;
  };
  struct Late {
    uint32_t arg, binding;
    uint64_t offset;
  };
  void add_step(const frl_segment& segment, uint32_t i);

  const frl_queue* queue_;
  Device* device_;
  std::vector<Step> steps_;
  std::vector<std::byte*> args_;
  std::vector<Late> lates_;
  uint32_t n_late_;
  uint64_t vmem_bytes_ = 0;
  float* vmem_ = nullptr;
};

}  // namespace tpu_sim
