// Queues that run one step at a time on the wrapped plugin, so that a fault can look at each.
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "tests/conformance/mutants/mutant.h"

namespace mutant {
namespace {

struct Step {
  const frl_kernel* kernel;
  std::vector<frl_arg> args;
  uint32_t pack;
};
struct Queue;
struct Recording : frl_recording {
  Queue* queue;
  std::vector<Step> steps;
  std::vector<frl_binding> fixed;
  uint32_t n_late;
};
struct Queue : frl_queue {
  frl_queue* inner = nullptr;
  uint64_t inner_signal = 0;
  mutable std::mutex mutex;
  uint64_t submitted = 0, reached = 0, steps_run = 0;
  frl_error failed{};
  std::function<void()> pending;  // of a queue that signals early
  void settle() {
    if (pending) std::exchange(pending, nullptr)();
  }
};

std::byte* address_of(const frl_binding& b) {
  const uint64_t start = b.buffer ? reinterpret_cast<uintptr_t>(b.buffer->host) : 0;
  return reinterpret_cast<std::byte*>(start + b.offset);
}

int32_t FRL_CALL open_queue(frl_device* device, frl_queue** out, frl_error* error) {
  auto queue = std::make_unique<Queue>();
  queue->head = {sizeof(frl_queue), FRL_TAG_QUEUE};
  if (const int32_t code = real->open_queue(device, &queue->inner, error)) return code;
  *out = queue.release();
  return FRL_OK;
}
void FRL_CALL close_queue(frl_queue* q) {
  auto* queue = static_cast<Queue*>(q);
  queue->settle();
  real->close_queue(queue->inner);
  delete queue;
}

int32_t FRL_CALL record(frl_queue* queue, const frl_segment* s, frl_recording** out, frl_error*) {
  auto recording = std::make_unique<Recording>();
  recording->head = {sizeof(frl_recording), FRL_TAG_RECORDING};
  recording->queue = static_cast<Queue*>(queue), recording->n_late = s->n_late;
  for (uint32_t i = 0; i < s->fixed.n; ++i)
    recording->fixed.push_back(frl::row<frl_binding>(s->fixed, i));
  for (uint32_t i = 0; i < s->steps.n; ++i) {
    const auto step = frl::row<frl_step>(s->steps, i);
    Step mine{step.kernel, {}, step.pack};
    for (uint32_t k = 0; k < step.n_args; ++k)
      mine.args.push_back(frl::row<frl_arg>(s->args, step.first_arg + k));
    recording->steps.push_back(std::move(mine));
  }
  *out = recording.release();
  return FRL_OK;
}
void FRL_CALL drop_recording(frl_recording* r) {
  auto* recording = static_cast<Recording*>(r);
  recording->queue->settle();
  delete recording;
}

// The step by itself on the wrapped plugin, its arguments plain addresses.
int32_t run_alone(Queue& q, const frl_kernel* kernel, const std::vector<std::byte*>& args,
                  uint32_t pack, frl_error* error) {
  std::vector<frl_binding> late;
  std::vector<frl_arg> places;
  for (std::byte* p : args) {
    places.push_back({uint32_t(late.size()), 0, 0});
    late.push_back({nullptr, reinterpret_cast<uintptr_t>(p)});
  }
  const std::vector<frl_step> steps = {{kernel, 0, uint32_t(args.size()), 0, 0, pack, 0}};
  const frl_segment segment{{sizeof segment, FRL_TAG_SEGMENT},
                            frl::rows(steps),
                            frl::rows(places),
                            {},
                            {},
                            uint32_t(late.size()),
                            0};
  frl_recording* recording = nullptr;
  if (const int32_t code = real->record(q.inner, &segment, &recording, error)) return code;
  frl_submit request{};
  request.head = {sizeof request, FRL_TAG_SUBMIT};
  request.recording = recording, request.late = frl::rows(late), request.signal = ++q.inner_signal;
  const int32_t code = real->submit(q.inner, &request, error);
  real->drop_recording(recording);
  return code;
}

int32_t run_step(Queue& q, const Step& step, const std::vector<std::byte*>& addresses,
                 frl_error* error) {
  const std::vector<uint64_t> words = region_of(step.kernel);
  if (step.pack || words.empty()) return run_alone(q, step.kernel, addresses, step.pack, error);
  const frl::Region region(reinterpret_cast<const frl_region*>(words.data()));
  Run run{region, addresses, region.n_present_inputs(), region.n_outputs(), q.steps_run++, {}};
  if (hooks.before) hooks.before(run);
  if (const int32_t code = run_alone(q, step.kernel, run.args, 0, error)) return code;
  if (hooks.after) hooks.after(run);
  return FRL_OK;
}

std::vector<std::vector<std::byte*>> addresses_of(const Recording& r, const frl_submit& s) {
  std::vector<std::vector<std::byte*>> out;
  for (const Step& step : r.steps) {
    auto& args = out.emplace_back();
    for (const frl_arg& arg : step.args)
      args.push_back(address_of(arg.binding < r.n_late ? frl::row<frl_binding>(s.late, arg.binding)
                                                       : r.fixed[arg.binding - r.n_late]) +
                     arg.offset);
  }
  return out;
}

void copy(const frl_copy& c) {
  for (uint64_t i = 0; i < c.rows; ++i)
    std::memcpy(address_of(c.target) + int64_t(i) * c.target_pitch_bytes,
                address_of(c.source) + int64_t(i) * c.source_pitch_bytes, c.row_bytes);
}

// Ends the queue with its first cause.
int32_t end(Queue& q, int32_t code, const char* text, int32_t subject, frl_error* error) {
  fail(error, code, text, subject);
  const std::lock_guard lock(q.mutex);
  if (!hooks.forgets_failure) q.failed = *error;
  return code;
}

int32_t check_waits(const frl_submit& s, frl_error* error) {
  for (uint32_t i = 0; i < s.waits.n; ++i) {
    const auto point = frl::row<frl_point>(s.waits, i);
    const auto& other = *static_cast<const Queue*>(point.queue);
    const std::lock_guard lock(other.mutex);
    if (point.value <= other.reached || hooks.takes_any_wait) continue;
    if (point.value > other.submitted)
      return fail(error, FRL_INVALID, "wait: want a value that was submitted", int32_t(i));
    if (other.failed.code && !hooks.forgets_waits_of_failed)
      return *error = other.failed, error->code;
  }
  return FRL_OK;
}

int32_t first_cause(const Queue& q, frl_error* error) {
  if (hooks.loses_cause) return fail(error, FRL_INVALID, "queue: it has failed already");
  *error = q.failed;
  return q.failed.code;
}

int32_t run_recording(Queue& q, const frl_submit& s, const Recording& r, frl_error* error) {
  const auto addresses = addresses_of(r, s);
  for (size_t i = 0; i < r.steps.size(); ++i) {
    if (s.cancel && !hooks.ignores_cancel && __atomic_load_n(s.cancel, __ATOMIC_RELAXED))
      return end(q, FRL_CANCELLED, "submit: cancelled by the caller", int32_t(i), error);
    const auto start = std::chrono::steady_clock::now();
    if (const int32_t code = run_step(q, r.steps[i], addresses[i], error)) {
      const std::string text(error->text, error->text_n);
      return end(q, code, text.c_str(), int32_t(i), error);
    }
    if (s.step_ns && !hooks.leaves_step_ns)
      s.step_ns[i] =
          uint64_t(std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count()) + 1;
  }
  return FRL_OK;
}

int32_t FRL_CALL submit(frl_queue* qp, const frl_submit* s, frl_error* error) {
  auto& q = *static_cast<Queue*>(qp);
  q.settle();
  {
    const std::lock_guard lock(q.mutex);
    if (q.failed.code) return first_cause(q, error);
    if (s->signal <= q.submitted)
      return fail(error, FRL_INVALID, "signal: want one above the last");
  }
  if (const int32_t code = check_waits(*s, error)) return code;
  const auto* recording = static_cast<const Recording*>(s->recording);
  const auto reach = [&q, value = s->signal] {
    const std::lock_guard lock(q.mutex);
    q.reached = value;
  };
  {
    const std::lock_guard lock(q.mutex);
    q.submitted = s->signal;
  }
  if (hooks.signals_early && recording && s->copies.n == 0 && !s->cancel) {
    q.pending = [&q, addresses = addresses_of(*recording, *s), recording] {
      frl_error ignored;
      for (size_t i = 0; i < recording->steps.size(); ++i)
        run_step(q, recording->steps[i], addresses[i], &ignored);
    };
    return reach(), FRL_OK;
  }
  for (uint32_t i = 0; i < s->copies.n; ++i) copy(frl::row<frl_copy>(s->copies, i));
  if (recording)
    if (const int32_t code = run_recording(q, *s, *recording, error)) return code;
  return reach(), FRL_OK;
}

int32_t FRL_CALL wait(const frl_queue* qp, uint64_t value, uint64_t timeout_ns, frl_error* error) {
  const auto& q = *static_cast<const Queue*>(qp);
  const auto start = std::chrono::steady_clock::now();
  for (;;) {
    {
      const std::lock_guard lock(q.mutex);
      if (q.reached >= value || hooks.ignores_timeout) return FRL_OK;
      if (q.failed.code) return first_cause(q, error);
    }
    if (uint64_t(std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count()) >=
        timeout_ns)
      return fail(error, FRL_TIMED_OUT, "wait: not reached");
    std::this_thread::yield();
  }
}

}  // namespace

void install_stepped(frl_plugin& table) {
  table.open_queue = open_queue, table.close_queue = close_queue;
  table.record = record, table.drop_recording = drop_recording;
  table.submit = submit, table.wait = wait;
}

}  // namespace mutant
