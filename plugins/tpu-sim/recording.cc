#include "plugins/tpu-sim/recording.h"

#include <algorithm>

namespace tpu_sim {

std::byte* address_of(const frl_binding& binding, uint64_t bytes, const char* what) {
  if (!binding.buffer || binding.buffer->head.tag != FRL_TAG_BUFFER)
    throw frl::Failure(FRL_INVALID, std::string(what) + ": want a buffer of this plugin");
  const auto& buffer = *static_cast<const Buffer*>(binding.buffer);
  if (binding.offset > buffer.bytes || bytes > buffer.bytes - binding.offset)
    throw frl::Failure(FRL_INVALID, std::string(what) + ": want offsets within the buffer's " +
                                        std::to_string(buffer.bytes) + " bytes");
  return buffer.memory + binding.offset;
}

Recording::Recording(const frl_queue* queue, Device* device, const frl_segment& segment)
    : frl_recording{{sizeof(frl_recording), FRL_TAG_RECORDING}},
      queue_(queue),
      device_(device),
      n_late_(segment.n_late) {
  args_.resize(segment.args.n);
  for (uint32_t i = 0; i < segment.args.n; ++i) {
    const auto arg = frl::row<frl_arg>(segment.args, i);
    if (arg.binding < n_late_) {
      lates_.push_back({i, arg.binding, arg.offset});
      continue;
    }
    if (arg.binding - n_late_ >= segment.fixed.n)
      throw frl::Failure(FRL_INVALID, "argument: want one of " + std::to_string(n_late_) +
                                          " late and " + std::to_string(segment.fixed.n) +
                                          " fixed bindings, got " + std::to_string(arg.binding));
    const auto binding = frl::row<frl_binding>(segment.fixed, arg.binding - n_late_);
    args_[i] = address_of(binding, arg.offset, "argument") + arg.offset;
  }
  steps_.reserve(segment.steps.n);
  for (uint32_t i = 0; i < segment.steps.n; ++i) add_step(segment, i);
  for (const Step& step : steps_)
    vmem_bytes_ = std::max(vmem_bytes_, uint64_t(step.program->words) * sizeof(float));
  if (vmem_bytes_ == 0) return;
  const frl_host* host = device->host();
  vmem_ = static_cast<float*>(host->alloc(host->self, vmem_bytes_, 64));
  if (!vmem_) throw frl::Failure(FRL_NO_MEMORY, "recording: no memory for VMEM", 0);
}

Recording::~Recording() {
  const frl_host* host = device_->host();
  if (vmem_) host->release(host->self, vmem_, vmem_bytes_, 64);
}

void Recording::add_step(const frl_segment& segment, uint32_t i) {
  const auto step = frl::row<frl_step>(segment.steps, i);
  const auto subject = static_cast<int32_t>(i);
  if (!step.kernel || step.kernel->head.tag != FRL_TAG_KERNEL)
    throw frl::Failure(FRL_INVALID, "step: want a kernel of this plugin", subject);
  if (step.pack)
    throw frl::Failure(FRL_INVALID, "step: want no pack, for kernels asked for none", subject);
  const auto& kernel = *static_cast<const Kernel*>(step.kernel);
  if (step.n_args != kernel.n_args || step.first_arg > args_.size() ||
      step.n_args > args_.size() - step.first_arg)
    throw frl::Failure(FRL_INVALID,
                       "step: want " + std::to_string(kernel.n_args) + " arguments, got " +
                           std::to_string(step.n_args),
                       subject);
  steps_.push_back({&kernel.program, step.first_arg});
}

void Recording::check(const std::vector<frl_binding>& late) const {
  if (late.size() != n_late_)
    throw frl::Failure(FRL_INVALID, "submit: want " + std::to_string(n_late_) +
                                        " late bindings, got " + std::to_string(late.size()));
  for (const Late& l : lates_) address_of(late[l.binding], l.offset, "submit");
}

void Recording::bind(const std::vector<frl_binding>& late) {
  for (const Late& l : lates_)
    args_[l.arg] = address_of(late[l.binding], l.offset, "submit") + l.offset;
}

uint64_t Recording::run_step(uint32_t i) {
  const Step& step = steps_[i];
  execute(*step.program, args_.data() + step.first_arg, vmem_);
  return kDispatchPs + step.program->ps;
}

}  // namespace tpu_sim
