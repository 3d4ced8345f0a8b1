// Queues: a ring of jobs and a thread that works through it in order.
//
// The thread is as fast as the machine it runs on; what a job takes on the simulated machine is
// added up in picoseconds, step by step, and never waited for.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <system_error>
#include <thread>

#include "plugins/tpu-sim/recording.h"

namespace tpu_sim {
namespace {

constexpr uint64_t kRing = 16;

struct Job {
  Recording* recording = nullptr;
  std::vector<frl_binding> late;
  std::vector<frl_copy> copies;
  std::vector<frl_point> waits;
  uint64_t signal = 0;
  const uint32_t* cancel = nullptr;
  uint64_t* step_ns = nullptr;
};

class Queue final : public frl_queue {
 public:
  explicit Queue(Device* device) : frl_queue{{sizeof(frl_queue), FRL_TAG_QUEUE}}, device_(device) {
    worker_ = std::thread([this] { work(); });
  }
  // Pending jobs are done first.
  ~Queue() {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
    }
    moved_.notify_all();
    worker_.join();
  }

  Device* device() const { return device_; }
  void submit(const frl_submit& request);
  int32_t wait(uint64_t value, uint64_t timeout_ns, frl_error* error) const;
  bool has_submitted(uint64_t value) const {
    const std::lock_guard lock(mutex_);
    return submitted_ >= value || failed_.code;
  }

 private:
  void work();
  void run(Job& job, int32_t* step);
  void run_waits(const Job& job) const;
  uint64_t run_copies(const Job& job) const;

  Device* device_;
  mutable std::mutex mutex_;
  mutable std::condition_variable moved_;
  Job ring_[kRing];
  uint64_t pushed_ = 0, popped_ = 0, reached_ = 0, submitted_ = 0;
  frl_error failed_{};
  bool closing_ = false;
  std::thread worker_;
};

[[noreturn]] void throw_again(const frl_error& error) {
  throw frl::Failure(error.code, std::string(error.text, error.text_n), error.subject);
}

template <class T>
void take(std::vector<T>& target, const frl_rows& rows) {
  target.clear();
  for (uint32_t i = 0; i < rows.n; ++i) target.push_back(frl::row<T>(rows, i));
}

// How far a copy reaches on one side.
uint64_t reach_of(const frl_copy& c, int64_t pitch) {
  return (c.rows - 1) * static_cast<uint64_t>(std::max<int64_t>(pitch, 0)) + c.row_bytes;
}
// The start of a copy's side: a buffer, or a plain address of the host.
std::byte* side_of(const frl_copy& c, const frl_binding& binding, int64_t pitch, const char* what) {
  if (!binding.buffer) return reinterpret_cast<std::byte*>(static_cast<uintptr_t>(binding.offset));
  return address_of(binding, reach_of(c, pitch), what);
}
bool is_empty(const frl_copy& c) { return c.rows == 0 || c.row_bytes == 0; }

void check_copy(const frl_copy& c) {
  if (is_empty(c)) return;
  side_of(c, c.target, c.target_pitch_bytes, "copy target");
  side_of(c, c.source, c.source_pitch_bytes, "copy source");
}

// Checks all of a request before any of it is taken.
void Queue::submit(const frl_submit& request) {
  auto* recording = const_cast<Recording*>(static_cast<const Recording*>(request.recording));
  if (recording && (recording->head.tag != FRL_TAG_RECORDING || recording->queue() != this))
    throw frl::Failure(FRL_INVALID, "recording: want one of this queue");
  for (uint32_t i = 0; i < request.waits.n; ++i) {
    const auto point = frl::row<frl_point>(request.waits, i);
    if (!point.queue || point.queue->head.tag != FRL_TAG_QUEUE)
      throw frl::Failure(FRL_INVALID, "wait: want a queue of this plugin", int32_t(i));
    if (!static_cast<const Queue*>(point.queue)->has_submitted(point.value))
      throw frl::Failure(FRL_INVALID, "wait: want a value that was submitted", int32_t(i));
  }
  const std::lock_guard lock(mutex_);
  if (failed_.code) throw_again(failed_);
  if (request.signal <= submitted_)
    throw frl::Failure(FRL_INVALID, "signal: want a number above the last");
  if (pushed_ - popped_ == kRing)
    throw frl::Failure(FRL_BUSY, "submit: want at most " + std::to_string(kRing) + " pending");
  Job& job = ring_[pushed_ % kRing];
  take(job.late, request.late), take(job.copies, request.copies), take(job.waits, request.waits);
  if (recording) recording->check(job.late);
  for (const frl_copy& copy : job.copies) check_copy(copy);
  job.recording = recording, job.signal = submitted_ = request.signal;
  job.cancel = request.cancel, job.step_ns = request.step_ns;
  ++pushed_;
  moved_.notify_all();
}

int32_t Queue::wait(uint64_t value, uint64_t timeout_ns, frl_error* error) const {
  std::unique_lock lock(mutex_);
  const auto is_over = [&] { return reached_ >= value || failed_.code; };
  if (timeout_ns > uint64_t{INT64_MAX} / 2)
    moved_.wait(lock, is_over);
  else if (timeout_ns > 0)
    moved_.wait_for(lock, std::chrono::nanoseconds(timeout_ns), is_over);
  if (reached_ >= value) return FRL_OK;
  if (!failed_.code)
    return frl::fail(error, FRL_TIMED_OUT, frl::kSiteWait, "wait: not reached in time");
  if (error) *error = failed_;
  return failed_.code;
}

void Queue::run_waits(const Job& job) const {
  for (const frl_point& point : job.waits) {
    const auto& other = *static_cast<const Queue*>(point.queue);
    frl_error error{};
    if (&other != this && other.wait(point.value, UINT64_MAX, &error) != FRL_OK) throw_again(error);
  }
}

// Picoseconds of the job's copies on the link to the host, or within HBM.
uint64_t Queue::run_copies(const Job& job) const {
  uint64_t ps = 0;
  for (const frl_copy& c : job.copies) {
    if (is_empty(c)) continue;
    std::byte* target = side_of(c, c.target, c.target_pitch_bytes, "copy target");
    const std::byte* source = side_of(c, c.source, c.source_pitch_bytes, "copy source");
    for (uint64_t i = 0; i < c.rows; ++i) {
      const auto at = static_cast<int64_t>(i);
      std::memmove(target + at * c.target_pitch_bytes, source + at * c.source_pitch_bytes,
                   c.row_bytes);
    }
    const uint64_t bytes = c.rows * c.row_bytes;
    const bool inside = c.target.buffer && c.source.buffer;
    ps += inside ? hbm_ps(device_->machine(), int64_t(2 * bytes))
                 : dma_ps(device_->machine(), int64_t(bytes));
    device_->count([&](frl_telemetry& counts) {
      if (!c.source.buffer) counts.to_device_bytes += bytes;
      if (!c.target.buffer) counts.from_device_bytes += bytes;
    });
  }
  return ps;
}

// *step: the one in progress, for whoever catches what it throws.
void Queue::run(Job& job, int32_t* step) {
  run_waits(job);
  uint64_t ps = run_copies(job);
  const uint32_t n_steps = job.recording ? job.recording->n_steps() : 0;
  if (job.recording) job.recording->bind(job.late);
  for (uint32_t i = 0; i < n_steps; ++i) {
    *step = static_cast<int32_t>(i);
    if (job.cancel && __atomic_load_n(job.cancel, __ATOMIC_RELAXED))
      throw frl::Failure(FRL_CANCELLED, "submit: cancelled by the caller");
    const uint64_t step_ps = job.recording->run_step(i);
    if (job.step_ns) job.step_ns[i] = (step_ps + 999) / 1000;
    ps += step_ps;
  }
  device_->count([&](frl_telemetry& counts) {
    ++counts.submits, counts.steps += n_steps, counts.busy_ns += ps / 1000;
  });
}

void Queue::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    moved_.wait(lock, [&] { return popped_ < pushed_ || closing_; });
    if (popped_ == pushed_) return;
    Job& job = ring_[popped_ % kRing];
    frl_error error{};
    if (!failed_.code) {
      lock.unlock();
      int32_t step = -1;
      try {
        run(job, &step);
      } catch (...) {
        frl::fail_with_current(&error, frl::kSiteSubmit, step);
        error.subject = step;
      }
      lock.lock();
      if (error.code)
        failed_ = error;
      else
        reached_ = job.signal;
    }
    ++popped_;
    moved_.notify_all();
  }
}

}  // namespace

int32_t FRL_CALL open_queue(frl_device* device, frl_queue** out, frl_error* error) {
  return frl::guard(error, frl::kSiteOpenQueue, [&] {
    try {
      *out = std::make_unique<Queue>(static_cast<Device*>(device)).release();
    } catch (const std::system_error&) {
      throw frl::Failure(FRL_NO_MEMORY, "queue: no room for its thread", 0);
    }
  });
}
void FRL_CALL close_queue(frl_queue* queue) { delete static_cast<Queue*>(queue); }

int32_t FRL_CALL record(frl_queue* q, const frl_segment* segment, frl_recording** out,
                        frl_error* error) {
  return frl::guard(error, frl::kSiteRecord, [&] {
    auto* queue = static_cast<Queue*>(q);
    *out = std::make_unique<Recording>(queue, queue->device(), read(*segment)).release();
  });
}
void FRL_CALL drop_recording(frl_recording* recording) {
  delete static_cast<Recording*>(recording);
}

int32_t FRL_CALL submit(frl_queue* queue, const frl_submit* request, frl_error* error) {
  return frl::guard(error, frl::kSiteSubmit,
                    [&] { static_cast<Queue*>(queue)->submit(read(*request)); });
}
int32_t FRL_CALL wait(const frl_queue* queue, uint64_t value, uint64_t timeout_ns,
                      frl_error* error) {
  return static_cast<const Queue*>(queue)->wait(value, timeout_ns, error);
}

}  // namespace tpu_sim
