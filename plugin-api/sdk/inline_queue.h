// Recordings and queues of a device that works on the calling thread, in host memory.
//
// A recording is a flat list of (kernel, arguments). Fixed bindings are addresses already when it
// is made; a submit patches the late ones and calls one kernel after the other: no allocation, no
// lock, one indirect call a step.
#pragma once

#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>

#include "plugin-api/sdk/kernel.h"
#include "plugin-api/sdk/rows.h"

namespace frl {

struct KernelHandle final : frl_kernel {
  std::unique_ptr<Kernel> kernel;
  uint32_t n_args = 0;     // of a step that runs it
  uint32_t n_extents = 0;  // given symbols of its region
  uint64_t region_hash = 0;
};

struct BufferHandle final : frl_buffer {
  class InlineDevice* device = nullptr;
  bool owned = false;
};

// The host address of a binding.
inline std::byte* address_of(const frl_binding& binding) {
  const uint64_t start = binding.buffer ? reinterpret_cast<uintptr_t>(binding.buffer->host) : 0;
  return reinterpret_cast<std::byte*>(static_cast<uintptr_t>(start + binding.offset));
}
inline void check_binding(const frl_binding& binding, uint64_t bytes, const char* what) {
  if (!binding.buffer) return;
  if (binding.buffer->head.tag != FRL_TAG_BUFFER)
    throw Failure(FRL_INVALID, std::string(what) + ": want a buffer of this plugin");
  if (binding.offset > binding.buffer->bytes || bytes > binding.buffer->bytes - binding.offset)
    throw Failure(FRL_INVALID, std::string(what) + ": want offsets within the buffer's " +
                                   std::to_string(binding.buffer->bytes) + " bytes");
}

// Stands for a pack step: arguments source, then target.
class PackStep final : public Kernel {
 public:
  PackStep(const Kernel* kernel, uint32_t input) : kernel_(kernel), input_(input) {}
  void run(const Call& call) const override {
    kernel_->pack(input_, call.args[0], call.args[1], call.host);
  }

 private:
  const Kernel* kernel_;
  uint32_t input_;
};

class Recording final : public frl_recording {
 public:
  // errors  FRL_INVALID with the step at fault
  Recording(const frl_queue* queue, const frl_host* host, const frl_segment& segment);

  const frl_queue* queue() const { return queue_; }
  uint32_t n_steps() const { return static_cast<uint32_t>(steps_.size()); }

  // Takes the addresses and extents of one submit.
  void patch(const frl_submit& request);

  // Runs all steps. *at is the step in progress, for whoever catches what it throws.
  //   returns  false if *cancel was seen
  bool run(const uint32_t* cancel, uint64_t* step_ns, uint32_t* at) const;

 private:
  struct Step {
    const Kernel* kernel;
    Call call;
  };
  struct Late {
    uint32_t arg, binding;
    uint64_t offset;
  };
  void add_step(const frl_segment& segment, uint32_t i, const frl_host* host);

  const frl_queue* queue_;
  std::vector<Step> steps_;
  std::vector<std::byte*> args_;
  std::vector<Late> lates_;
  std::vector<int64_t> extents_;
  std::vector<uint32_t> extent_places_;
  std::vector<std::unique_ptr<PackStep>> pack_steps_;
  uint32_t n_late_, n_submit_extents_;
};

inline Recording::Recording(const frl_queue* queue, const frl_host* host,
                            const frl_segment& segment)
    : frl_recording{{sizeof(frl_recording), FRL_TAG_RECORDING}},
      queue_(queue),
      n_late_(segment.n_late),
      n_submit_extents_(segment.n_submit_extents) {
  args_.resize(segment.args.n);
  for (uint32_t i = 0; i < segment.args.n; ++i) {
    const auto arg = row<frl_arg>(segment.args, i);
    if (arg.binding < n_late_) {
      lates_.push_back({i, arg.binding, arg.offset});
      continue;
    }
    if (arg.binding - n_late_ >= segment.fixed.n)
      throw Failure(FRL_INVALID, "argument: want one of " + std::to_string(n_late_) + " late and " +
                                     std::to_string(segment.fixed.n) + " fixed bindings, got " +
                                     std::to_string(arg.binding));
    const auto binding = row<frl_binding>(segment.fixed, arg.binding - n_late_);
    check_binding(binding, arg.offset, "argument");
    args_[i] = address_of(binding) + arg.offset;
  }
  extents_.resize(segment.extents.n), extent_places_.resize(segment.extents.n);
  for (uint32_t i = 0; i < segment.extents.n; ++i) {
    extent_places_[i] = row<uint32_t>(segment.extents, i);
    if (extent_places_[i] >= n_submit_extents_)
      throw Failure(FRL_INVALID, "extent: want a place below " + std::to_string(n_submit_extents_));
  }
  steps_.reserve(segment.steps.n);
  for (uint32_t i = 0; i < segment.steps.n; ++i) add_step(segment, i, host);
}

inline void Recording::add_step(const frl_segment& segment, uint32_t i, const frl_host* host) {
  const auto step = row<frl_step>(segment.steps, i);
  const int32_t subject = static_cast<int32_t>(i);
  if (!step.kernel || step.kernel->head.tag != FRL_TAG_KERNEL)
    throw Failure(FRL_INVALID, "step: want a kernel of this plugin", subject);
  const auto& handle = *static_cast<const KernelHandle*>(step.kernel);
  const uint32_t n_args = step.pack ? 2 : handle.n_args;
  if (step.n_args != n_args || step.first_arg > args_.size() ||
      n_args > args_.size() - step.first_arg)
    throw Failure(
        FRL_INVALID,
        "step: want " + std::to_string(n_args) + " arguments, got " + std::to_string(step.n_args),
        subject);
  const uint32_t n_extents = step.pack ? 0 : handle.n_extents;
  if (step.n_extents < n_extents || step.first_extent > extents_.size() ||
      step.n_extents > extents_.size() - step.first_extent)
    throw Failure(FRL_INVALID,
                  "step: want " + std::to_string(n_extents) + " extents, got " +
                      std::to_string(step.n_extents),
                  subject);
  const Kernel* kernel = handle.kernel.get();
  if (step.pack) {
    pack_steps_.push_back(std::make_unique<PackStep>(kernel, step.pack - 1));
    kernel = pack_steps_.back().get();
  }
  steps_.push_back(
      {kernel, {args_.data() + step.first_arg, extents_.data() + step.first_extent, host}});
}

inline void Recording::patch(const frl_submit& request) {
  if (request.late.n != n_late_)
    throw Failure(FRL_INVALID, "submit: want " + std::to_string(n_late_) + " late bindings, got " +
                                   std::to_string(request.late.n));
  if (n_submit_extents_ > 0 && !request.extents)
    throw Failure(FRL_INVALID, "submit: want " + std::to_string(n_submit_extents_) + " extents");
  for (const Late& late : lates_) {
    const auto binding = row<frl_binding>(request.late, late.binding);
    check_binding(binding, late.offset, "submit");
    args_[late.arg] = address_of(binding) + late.offset;
  }
  for (size_t i = 0; i < extents_.size(); ++i) extents_[i] = request.extents[extent_places_[i]];
}

inline bool Recording::run(const uint32_t* cancel, uint64_t* step_ns, uint32_t* at) const {
  constexpr uint32_t kCancelEvery = 8;  // reading the flag before each kernel costs 1 ns of 20
  const uint32_t n = n_steps();
  const Step* steps = steps_.data();
  const auto now = [] { return std::chrono::steady_clock::now(); };
  auto before = step_ns ? now() : std::chrono::steady_clock::time_point{};
  for (uint32_t i = 0; i < n;) {
    if (cancel && __atomic_load_n(cancel, __ATOMIC_RELAXED)) return *at = i, false;
    const uint32_t end = !cancel && !step_ns ? n : std::min(n, i + (step_ns ? 1 : kCancelEvery));
    for (; i < end; ++i) {
      *at = i;
      steps[i].kernel->run(steps[i].call);
    }
    if (!step_ns) continue;
    const auto after = now();
    step_ns[i - 1] = static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(after - before).count());
    before = after;
  }
  return true;
}

// The queue is its own timeline: `reached` rises, or `failed` keeps the first cause.
class InlineQueue final : public frl_queue {
 public:
  InlineQueue(class InlineDevice* device, const frl_host* host)
      : frl_queue{{sizeof(frl_queue), FRL_TAG_QUEUE}}, device_(device), host_(host) {}

  InlineDevice* device() const { return device_; }
  const frl_host* host() const { return host_; }
  uint64_t n_submits() const { return submits_.load(std::memory_order_relaxed); }
  uint64_t n_steps() const { return steps_.load(std::memory_order_relaxed); }

  int32_t submit(const frl_submit& request, frl_error* error) noexcept;
  int32_t wait(uint64_t value, uint64_t timeout_ns, frl_error* error) const noexcept;

 private:
  int32_t first_cause(frl_error* error) const {
    if (error) *error = failed_;
    return failed_.code;
  }
  int32_t poison(frl_error* error) {
    state_.store(kFailed, std::memory_order_release);
    return first_cause(error);
  }
  int32_t wait_for_points(const frl_submit& request, frl_error* error);
  static void copy(const frl_copy& copy);

  enum : uint32_t { kRunning, kFailed };
  InlineDevice* device_;
  const frl_host* host_;
  std::atomic<uint64_t> submitted_{0}, reached_{0};
  std::atomic<uint32_t> state_{kRunning};
  frl_error failed_{};                           // written once, before state_ says so
  std::atomic<uint64_t> submits_{0}, steps_{0};  // written by the queue's thread alone
};

inline void InlineQueue::copy(const frl_copy& c) {
  if (c.rows == 0 || c.row_bytes == 0) return;
  const auto reach = [&](int64_t pitch) {
    return (c.rows - 1) * static_cast<uint64_t>(std::max<int64_t>(pitch, 0)) + c.row_bytes;
  };
  check_binding(c.target, reach(c.target_pitch_bytes), "copy target");
  check_binding(c.source, reach(c.source_pitch_bytes), "copy source");
  std::byte* target = address_of(c.target);
  const std::byte* source = address_of(c.source);
  for (uint64_t i = 0; i < c.rows; ++i) {
    const auto at = static_cast<int64_t>(i);
    std::memmove(target + at * c.target_pitch_bytes, source + at * c.source_pitch_bytes,
                 c.row_bytes);
  }
}

// Other inline queues: what was submitted there has run, or is running on its thread.
inline int32_t InlineQueue::wait_for_points(const frl_submit& request, frl_error* error) {
  for (uint32_t i = 0; i < request.waits.n; ++i) {
    const auto point = row<frl_point>(request.waits, i);
    const auto subject = static_cast<int32_t>(i);
    if (!point.queue || point.queue->head.tag != FRL_TAG_QUEUE)
      return fail(error, FRL_INVALID, kSiteSubmit, "wait: want a queue of this plugin", subject);
    const auto& other = *static_cast<const InlineQueue*>(point.queue);
    if (&other == this) continue;
    const bool failed = other.state_.load(std::memory_order_acquire) == kFailed;
    if (!failed && other.submitted_.load(std::memory_order_acquire) < point.value)
      return fail(error, FRL_INVALID, kSiteSubmit, "wait: want a value that was submitted",
                  subject);
    if (other.wait(point.value, UINT64_MAX, &failed_) == FRL_OK) continue;
    return poison(error);
  }
  return FRL_OK;
}

inline int32_t InlineQueue::submit(const frl_submit& request, frl_error* error) noexcept {
  if (state_.load(std::memory_order_relaxed) == kFailed) return first_cause(error);
  if (request.signal <= submitted_.load(std::memory_order_relaxed))
    return fail(error, FRL_INVALID, kSiteSubmit, "signal: want a number above the last");
  auto* recording = const_cast<Recording*>(static_cast<const Recording*>(request.recording));
  if (recording && (recording->head.tag != FRL_TAG_RECORDING || recording->queue() != this))
    return fail(error, FRL_INVALID, kSiteSubmit, "recording: want one of this queue");
  if (recording) {
    const int32_t code = guard(error, kSiteSubmit, [&] { recording->patch(request); });
    if (code != FRL_OK) return code;
  }
  if (request.waits.n > 0) {
    const int32_t code = wait_for_points(request, error);
    if (code != FRL_OK) return code;
  }
  submitted_.store(request.signal, std::memory_order_release);
  uint32_t at = UINT32_MAX;
  try {
    for (uint32_t i = 0; i < request.copies.n; ++i) copy(row<frl_copy>(request.copies, i));
    if (recording && !recording->run(request.cancel, request.step_ns, &at)) {
      fail(&failed_, FRL_CANCELLED, kSiteSubmit, "submit: cancelled by the caller",
           static_cast<int32_t>(at));
      return poison(error);
    }
  } catch (...) {
    fail_with_current(&failed_, kSiteSubmit, static_cast<int32_t>(at));
    failed_.subject = static_cast<int32_t>(at);
    return poison(error);
  }
  reached_.store(request.signal, std::memory_order_release);
  submits_.store(n_submits() + 1, std::memory_order_relaxed);
  if (recording) steps_.store(n_steps() + recording->n_steps(), std::memory_order_relaxed);
  return FRL_OK;
}

inline int32_t InlineQueue::wait(uint64_t value, uint64_t timeout_ns,
                                 frl_error* error) const noexcept {
  using Clock = std::chrono::steady_clock;
  if (reached_.load(std::memory_order_acquire) >= value) return FRL_OK;
  const auto start = timeout_ns ? Clock::now() : Clock::time_point{};
  // Only a submit in progress on another thread can still change the answer.
  for (;;) {
    if (state_.load(std::memory_order_acquire) == kFailed) {
      return reached_.load(std::memory_order_acquire) >= value ? FRL_OK : first_cause(error);
    }
    if (reached_.load(std::memory_order_acquire) >= value) return FRL_OK;
    const bool over =
        timeout_ns == 0 ||
        static_cast<uint64_t>(std::chrono::nanoseconds(Clock::now() - start).count()) >= timeout_ns;
    if (over) return fail(error, FRL_TIMED_OUT, kSiteWait, "wait: not reached in time");
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

}  // namespace frl
