// J, its second half: failed and cancelled queues, and what submit itself does.
//
// That submit does not block is seen from the order of events, never from a clock.
#include "conformance/families/bench.h"
#include "core/base/text.h"

namespace ferrule::conformance {
namespace {

using raw::Job;
using raw::Session;
using raw::Specimen;

// ---- failed and cancelled queues ----
// Fails the queue by a submit whose cancel flag is up already; the answer of submit or of its wait.
Status cancel_now(Bench& b, const uint32_t* cancel) {
  raw::Request request = b.job->request();
  request.cancel = cancel;
  FRL_LET(const uint64_t signal, b.queue->submit(request));
  return b.queue->wait(signal);
}

Outcome cancelled(Session& session, const Specimen& specimen, Bench& b) {
  const uint32_t up = 1, down = 0;
  FRL_CHECK(cancel_now(b, &down));
  const Status status = cancel_now(b, &up);
  if (status.code() != Code::cancelled)
    return fail(cat("cancel: want cancelled from a submit whose flag was up before it, got ",
                    status.ok() ? "ok" : status.message()));
  FRL_HAVE(Bench anew, bench(session, specimen));
  FRL_CHECK(anew.queue->finish(anew.job->request()));
  return raw::outcome_of(check_results(anew, specimen), 3);
}

Outcome cancelled_too_late(Session&, const Specimen& specimen, Bench& b) {
  uint32_t flag = 0;
  FRL_CHECK(cancel_now(b, &flag));
  flag = 1;
  FRL_CHECK(b.queue->wait(b.queue->last_signal()));
  flag = 0;
  FRL_CHECK(cancel_now(b, &flag));
  return raw::outcome_of(check_results(b, specimen), 2);
}

Outcome keeps_first_cause(Session&, const Specimen&, Bench& b) {
  const uint64_t before = b.queue->last_signal();
  const uint32_t up = 1;
  const Status first = cancel_now(b, &up);
  if (first.code() != Code::cancelled)
    return {Verdict::not_claimed, "this device does not cancel; J/cancel/flag_up says so"};
  for (int i = 0; i < 3; ++i) {
    const auto later = b.queue->submit(b.job->request());
    const Status answer = later.ok() ? b.queue->wait(*later) : later.status();
    if (answer.ok())
      return fail("failed queue: want its first cause from every later submit, got ok");
    if (answer.code() != Code::cancelled)
      return fail(
          cat("failed queue: want its first cause, cancelled, from every later submit, got ",
              answer.message()));
  }
  const Status wait = b.queue->wait(b.queue->last_signal() + 1, 1000);
  if (wait.code() != Code::cancelled)
    return fail(cat("failed queue: want its first cause from wait, cancelled, got ",
                    wait.ok() ? "ok" : wait.message()));
  const Status old = b.queue->wait(before);
  return old.ok() ? pass(5)
                  : fail(cat("failed queue: want ok for a value reached before it failed, got ",
                             old.message()));
}

// Who waits for a failed queue fails as well, and does not hang.
Outcome failure_travels(Session& session, const Specimen& specimen, Bench& b) {
  if (session.row().max_queues < 2) return {Verdict::not_claimed, "max_queues: 1 is fewer than 2"};
  const uint32_t up = 1;
  raw::Request request = b.job->request();
  request.cancel = &up;
  const uint64_t value = b.queue->last_signal() + 1;
  const auto signal = b.queue->submit(request);
  const Status first = signal.ok() ? b.queue->wait(*signal) : signal.status();
  if (first.code() != Code::cancelled)
    return {Verdict::not_claimed, "this device does not cancel; J/cancel/flag_up says so"};
  FRL_HAVE(Bench other, bench(session, specimen));
  raw::Request after = other.job->request();
  after.waits = {{b.queue->handle(), value}};
  const auto waiting = other.queue->submit(after);
  const Status answer =
      waiting.ok() ? other.queue->wait(*waiting, 5'000'000'000) : waiting.status();
  if (answer.ok()) return fail("failed queue: want a submit that waits for it to fail, got ok");
  if (answer.code() == Code::timed_out)
    return fail("failed queue: want a submit that waits for it to fail, it hangs");
  return answer.code() == Code::cancelled || answer.code() == Code::invalid_argument
             ? pass(1)
             : fail(cat(
                   "failed queue: want its cause, cancelled, in a submit that waits for it, got ",
                   answer.message()));
}

// ---- submit ----
// Ever larger copies: at some size the queue is still at work when submit has returned.
Outcome submit_returns_first(Session& session, const Specimen&, Bench& b) {
  if (session.is_inline()) return {Verdict::not_claimed, "an inline device works within submit"};
  const uint64_t most =
      std::min<uint64_t>(session.row().spaces[0].max_alloc_bytes, uint64_t{128} << 20);
  for (uint64_t bytes = 1 << 20; bytes <= most; bytes *= 2) {
    FRL_HAVE(auto from, session.make_buffer(bytes));
    FRL_HAVE(auto to, session.make_buffer(bytes));
    FRL_HAVE(const uint64_t signal,
             b.queue->submit({.copies = {raw::copy_of(raw::whole(to), raw::whole(from), bytes)}}));
    const Status ask = b.queue->wait(signal, 0);
    FRL_CHECK(b.queue->wait(signal));
    if (ask.code() == Code::timed_out) return pass(bytes);
  }
  return fail(cat("submit: want it to return before its work is done, up to ", most,
                  " bytes of copying were always done"));
}

Outcome many_pending(Session&, const Specimen& specimen, Bench& b) {
  uint64_t oldest = b.queue->last_signal(), busy = 0;
  for (int i = 0; i < 2000; ++i) {
    const auto signal = b.queue->submit(b.job->request());
    if (signal.ok()) continue;
    if (signal.status().code() != Code::busy) return raw::outcome_of(signal.status());
    ++busy;
    if (oldest >= b.queue->last_signal())
      return fail("submit: want busy only while work is pending");
    FRL_CHECK(b.queue->wait(++oldest));
  }
  FRL_CHECK(b.queue->wait(b.queue->last_signal()));
  return raw::outcome_of(check_results(b, specimen), 2000 + busy);
}

Outcome step_times(Session& session, const Specimen& specimen, Bench& b) {
  std::vector<uint64_t> ns(b.job->n_steps() + 1, UINT64_MAX);
  raw::Request request = b.job->request();
  request.step_ns = ns.data();
  FRL_CHECK(b.queue->finish(request));
  for (size_t i = 0; i < b.job->n_steps(); ++i)
    if (ns[i] == UINT64_MAX)
      return fail(cat("step_ns: want each step's time, step ", i, " has none"));
  if (ns.back() != UINT64_MAX)
    return fail("step_ns: want a slot for each step, one more was written");
  FRL_HAVE(const Specimen large, raw::specimen(session, 20'000));
  FRL_HAVE(Bench big, bench(session, large));
  request = big.job->request();
  ns[0] = 0, request.step_ns = ns.data();
  FRL_CHECK(big.queue->finish(request));
  if (ns[0] == 0)
    return fail(cat("step_ns: want more than 0 ns for 100,000 elements of ", specimen.name));
  return raw::outcome_of(check_results(b, specimen), 2);
}

Outcome late_bindings(Session& session, const Specimen& specimen, Bench& b) {
  // The same recording over two sets of memory, in turn.
  FRL_HAVE(auto other, Job::make(session, *b.queue, specimen.graph));
  FRL_CHECK(other->upload(specimen.inputs));
  for (int i = 0; i < 50; ++i) {
    raw::Request request = other->request();
    request.recording = b.job->recording();
    FRL_CHECK(other->wipe());
    FRL_CHECK(b.queue->finish(i % 2 ? request : b.job->request()));
    if (i % 2 == 0) continue;
    FRL_HAVE(const auto got, other->download());
    if (const std::string wrong = raw::differs(specimen, got); !wrong.empty())
      return fail(cat("late bindings: ", wrong));
  }
  return raw::outcome_of(check_results(b, specimen), 50);
}

}  // namespace

void list_async_submit(std::vector<Case>& cases) {
  add(cases, "J/cancel/flag_up", cancelled);
  add(cases, "J/cancel/too_late", cancelled_too_late);
  add(cases, "J/failed/keeps_first_cause", keeps_first_cause);
  add(cases, "J/failed/travels", failure_travels);
  add(cases, "J/submit/returns_first", submit_returns_first);
  add(cases, "J/submit/many_pending", many_pending);
  add(cases, "J/submit/step_ns", step_times);
  add(cases, "J/submit/late_bindings", late_bindings);
}

}  // namespace ferrule::conformance
