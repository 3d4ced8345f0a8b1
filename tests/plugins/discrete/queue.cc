// Queues: a ring of jobs and a thread that works through it.
#include <chrono>
#include <new>

#include "tests/plugins/discrete/device.h"

namespace discrete {
namespace {

constexpr uint64_t kRing = 16;
std::atomic<uint32_t> threads{0};

struct Step {
  frl_step step;
  std::vector<frl_arg> args;
  std::vector<uint32_t> extents;
};
struct Recording : frl_recording {
  std::vector<Step> steps;
  std::vector<frl_binding> fixed;
  uint32_t n_late, n_extents;
};
struct Job {
  const Recording* recording;
  std::vector<frl_binding> late;
  std::vector<int64_t> extents;
  std::vector<frl_copy> copies;
  std::vector<frl_point> waits;
  uint64_t signal;
  const uint32_t* cancel;
  uint64_t* step_ns;
};
struct Queue : frl_queue {
  Device* device;
  mutable std::mutex mutex;
  mutable std::condition_variable moved;
  Job ring[kRing];
  uint64_t pushed = 0, popped = 0, reached = 0, last_signal = 0;
  frl_error failed{};
  bool closing = false;
  std::thread worker;
};

char* at(const frl_binding& b) {
  return b.buffer ? static_cast<const Buffer*>(b.buffer)->memory + b.offset
                  : reinterpret_cast<char*>(b.offset);
}

int32_t run_waits(const Job& job, frl_error* error) {
  for (const frl_point& w : job.waits) {
    count(kPath_waits);
    const auto& other = *static_cast<const Queue*>(w.queue);
    std::unique_lock lock(other.mutex);
    other.moved.wait(lock, [&] { return other.reached >= w.value || other.failed.code; });
    if (other.reached < w.value) return *error = other.failed, error->code;
  }
  return FRL_OK;
}

void run_copies(Device& device, const Job& job) {
  for (const frl_copy& c : job.copies) {
    count(kPath_copies);
    for (uint64_t i = 0; i < c.rows; ++i)
      std::memcpy(at(c.target) + int64_t(i) * c.target_pitch_bytes,
                  at(c.source) + int64_t(i) * c.source_pitch_bytes, c.row_bytes);
    const std::lock_guard lock(device.mutex);
    if (!c.source.buffer) device.counts.to_device_bytes += c.row_bytes * c.rows;
    if (!c.target.buffer) device.counts.from_device_bytes += c.row_bytes * c.rows;
  }
}

void run_step(const Job& job, const Step& s) {
  char* args[kMostArgs + 2];
  int64_t given[8] = {};
  for (size_t i = 0; i < s.args.size(); ++i) {
    const uint32_t b = s.args[i].binding;
    args[i] = at(b < job.late.size() ? job.late[b] : job.recording->fixed[b - job.late.size()]) +
              s.args[i].offset;
  }
  for (size_t i = 0; i < s.extents.size(); ++i)
    given[i] = job.extents[s.extents[i]], count(kPath_extents);
  const auto& kernel = *static_cast<const Kernel*>(s.step.kernel);
  if (s.step.pack) {
    count(kPath_packs);
    run_pack(kernel, args[0], args[1]);
  } else {
    run_kernel(kernel, args, s.extents.empty() ? nullptr : given);
  }
}

int32_t run_job(Queue& q, const Job& job, frl_error* error) {
  using Clock = std::chrono::steady_clock;
  if (const int32_t code = run_waits(job, error)) return code;
  run_copies(*q.device, job);
  if (!job.recording) return FRL_OK;
  for (size_t i = 0; i < job.recording->steps.size(); ++i) {
    if (job.cancel && __atomic_load_n(job.cancel, __ATOMIC_RELAXED)) {
      count(kPath_cancel);
      return fail(error, FRL_CANCELLED, "submit: cancelled", int32_t(i));
    }
    const auto start = Clock::now();
    run_step(job, job.recording->steps[i]);
    if (!job.step_ns) continue;
    count(kPath_step_ns);
    job.step_ns[i] = uint64_t(std::chrono::nanoseconds(Clock::now() - start).count()) + 1;
  }
  const std::lock_guard lock(q.device->mutex);
  q.device->counts.steps += job.recording->steps.size();
  return FRL_OK;
}

void work(Queue* q) {
  std::unique_lock lock(q->mutex);
  for (;;) {
    q->moved.wait(lock, [&] { return q->popped < q->pushed || q->closing; });
    if (q->popped == q->pushed) return;
    const Job& job = q->ring[q->popped % kRing];
    frl_error error{};
    int32_t code = q->failed.code;
    if (!code) {
      lock.unlock();
      code = run_job(*q, job, &error);
      lock.lock();
      if (code)
        q->failed = error;
      else
        q->reached = job.signal;
    }
    ++q->popped;
    q->moved.notify_all();
  }
}

template <class T>
void take(std::vector<T>& target, const frl_rows& rows) {
  target.clear();
  for (uint32_t i = 0; i < rows.n; ++i) target.push_back(row<T>(rows, i));
}

}  // namespace

uint32_t live_threads() { return threads; }

int32_t open_queue(frl_device* d, frl_queue** out, frl_error* error) {
  auto* q = new (std::nothrow) Queue{};
  if (!q) return fail(error, FRL_NO_MEMORY, "queue: no memory");
  q->head = {sizeof(frl_queue), FRL_TAG_QUEUE};
  q->device = static_cast<Device*>(d);
  q->worker = std::thread(work, q);
  ++threads;
  return *out = q, FRL_OK;
}

void close_queue(frl_queue* p) {
  auto* q = static_cast<Queue*>(p);
  {
    const std::lock_guard lock(q->mutex);
    q->closing = true;
    q->moved.notify_all();
  }
  q->worker.join();
  --threads;
  delete q;
}

int32_t record(frl_queue*, const frl_segment* s, frl_recording** out, frl_error* error) {
  auto* r = new (std::nothrow) Recording{};
  if (!r) return fail(error, FRL_NO_MEMORY, "recording: no memory");
  r->head = {sizeof(frl_recording), FRL_TAG_RECORDING};
  r->n_late = s->n_late, r->n_extents = s->n_submit_extents;
  take(r->fixed, s->fixed);
  for (uint32_t i = 0; i < s->steps.n; ++i) {
    Step t{row<frl_step>(s->steps, i), {}, {}};
    if (t.step.n_args > kMostArgs + 2)
      return delete r, fail(error, FRL_INVALID, "step: too many arguments", int32_t(i));
    for (uint32_t j = 0; j < t.step.n_args; ++j)
      t.args.push_back(row<frl_arg>(s->args, t.step.first_arg + j));
    for (uint32_t j = 0; j < t.step.n_extents; ++j)
      t.extents.push_back(row<uint32_t>(s->extents, t.step.first_extent + j));
    r->steps.push_back(std::move(t));
  }
  return *out = r, FRL_OK;
}

void drop_recording(frl_recording* r) { delete static_cast<Recording*>(r); }

int32_t submit(frl_queue* qp, const frl_submit* s, frl_error* error) {
  auto* q = static_cast<Queue*>(qp);
  for (uint32_t i = 0; i < s->waits.n; ++i) {
    const auto w = row<frl_point>(s->waits, i);
    const auto* other = static_cast<const Queue*>(w.queue);
    const std::lock_guard lock(other->mutex);
    if (other->last_signal < w.value)
      return fail(error, FRL_INVALID, "wait: want a value that was submitted", int32_t(i));
  }
  {
    const std::lock_guard lock(q->device->mutex);
    ++q->device->counts.submits;
  }
  const std::lock_guard lock(q->mutex);
  if (q->failed.code) return *error = q->failed, error->code;
  if (q->pushed - q->popped == kRing)
    return fail(error, FRL_BUSY, "submit: want at most 16 pending");
  if (s->signal <= q->last_signal)
    return fail(error, FRL_INVALID, "signal: want a greater one than the last");
  Job& job = q->ring[q->pushed % kRing];
  job.recording = static_cast<const Recording*>(s->recording);
  take(job.late, s->late), take(job.copies, s->copies), take(job.waits, s->waits);
  job.extents.clear();
  if (job.recording && job.recording->n_extents)
    job.extents.assign(s->extents, s->extents + job.recording->n_extents);
  job.signal = q->last_signal = s->signal, job.cancel = s->cancel, job.step_ns = s->step_ns;
  ++q->pushed;
  q->moved.notify_all();
  return FRL_OK;
}

int32_t wait(const frl_queue* qp, uint64_t value, uint64_t timeout_ns, frl_error* error) {
  const auto* q = static_cast<const Queue*>(qp);
  std::unique_lock lock(q->mutex);
  const auto done = [&] { return q->reached >= value || q->failed.code; };
  if (timeout_ns > uint64_t(INT64_MAX) / 2)
    q->moved.wait(lock, done);
  else
    q->moved.wait_for(lock, std::chrono::nanoseconds(timeout_ns), done);
  if (q->reached >= value) return FRL_OK;
  if (q->failed.code) return *error = q->failed, error->code;
  return fail(error, FRL_TIMED_OUT, "wait: not reached");
}

}  // namespace discrete
