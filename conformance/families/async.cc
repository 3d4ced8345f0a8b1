// J: queues as timelines. Waits, and order within and across queues.
#include <atomic>
#include <thread>

#include "conformance/families/bench.h"
#include "conformance/suite/families.h"
#include "core/base/text.h"

namespace ferrule::conformance {
namespace {

using raw::Job;
using raw::Session;
using raw::Specimen;

// ---- waits ----
Outcome reached(Session&, const Specimen& specimen, Bench& b) {
  for (int i = 0; i < 20; ++i) {
    FRL_HAVE(const uint64_t signal, b.queue->submit(b.job->request()));
    FRL_CHECK(b.queue->wait(signal));
    // Reached once is reached for ever, and so is every smaller value.
    FRL_CHECK(b.queue->wait(signal, 0));
    FRL_CHECK(b.queue->wait(1, 0));
    FRL_CHECK(b.queue->wait(0, 0));
    if (const std::string wrong = check_results(b, specimen); !wrong.empty())
      return fail(cat("after a wait that said reached: ", wrong));
  }
  return pass(20);
}

// The result's memory is read through its own address, with no other submit that could help.
Outcome done_means_done(Session& session, const Specimen& specimen, Bench&) {
  const uint32_t flags = session.row().spaces[0].flags;
  if (!(flags & FRL_SPACE_HOST_VISIBLE))
    return {Verdict::not_claimed, "space 0 cannot be seen by the host"};
  FRL_HAVE(auto queue, session.open_queue());
  for (int i = 0; i < 20; ++i) {
    FRL_HAVE(auto in, session.make_buffer(4096));
    FRL_HAVE(auto out, session.make_buffer(4096));
    std::memset(in->host, i + 1, 4096);
    std::memset(out->host, 0, 4096);
    FRL_HAVE(const uint64_t signal,
             queue->submit({.copies = {raw::copy_of(raw::whole(out), raw::whole(in), 4096)}}));
    FRL_CHECK(queue->wait(signal));
    if (std::memcmp(in->host, out->host, 4096) != 0)
      return fail("wait: want the copy made when the queue has reached the value, it was not");
  }
  FRL_HAVE(auto job, Job::make(session, *queue, specimen.graph, {.late = false}));
  FRL_CHECK(job->upload(specimen.inputs));
  FRL_CHECK(job->wipe());
  FRL_HAVE(const uint64_t signal, queue->submit(job->request()));
  FRL_CHECK(queue->wait(signal));
  const std::string wrong = raw::differs(specimen, job->seen());
  return raw::outcome_of(
      wrong.empty()
          ? wrong
          : cat("wait: want the results written when the queue has reached the value: ", wrong),
      21);
}

Outcome unreached(Session&, const Specimen&, Bench& b) {
  for (uint64_t timeout_ns : {uint64_t{0}, uint64_t{1}, uint64_t{1'000'000}}) {
    const Status status = b.queue->wait(b.queue->last_signal() + 1, timeout_ns);
    if (status.ok()) return fail("wait: want timed_out for a value that was not submitted, got ok");
    if (status.code() != Code::timed_out && status.code() != Code::invalid_argument)
      return fail(
          cat("wait: want timed_out for a value that was not submitted, got ", status.message()));
  }
  FRL_HAVE(const uint64_t signal, b.queue->submit(b.job->request()));
  return raw::outcome_of(b.queue->wait(signal), 4);
}

Outcome never_submitted(Session& session, const Specimen& specimen, Bench& b) {
  FRL_HAVE(auto other, session.open_queue());
  for (uint64_t ahead : {uint64_t{1}, uint64_t{1000}, UINT64_MAX / 2}) {
    raw::Request request = b.job->request();
    request.waits = {{other->handle(), other->last_signal() + ahead}};
    const auto signal = b.queue->submit(request);
    if (signal.ok())
      return fail(cat("submit: want invalid for a wait that nothing can end, ", ahead,
                      " ahead of the other queue, got ok"));
    if (signal.status().code() != Code::invalid_argument)
      return fail(cat("submit: want invalid for a wait that nothing can end, got ",
                      signal.status().message()));
    b.job.reset();
    FRL_HAVE(b, bench(session, specimen));  // the refused submit may have failed the queue
  }
  FRL_CHECK(b.queue->finish(b.job->request()));
  return raw::outcome_of(check_results(b, specimen), 4);
}

Outcome waits_of_many_threads(Session&, const Specimen& specimen, Bench& b) {
  std::atomic<uint64_t> submitted{0}, failures{0};
  std::atomic<bool> over{false};
  std::vector<std::thread> waiters;
  for (int i = 0; i < 4; ++i)
    waiters.emplace_back([&] {
      while (!over) {
        const uint64_t value = submitted;
        if (value && !b.queue->wait(value).ok()) ++failures;
        if (const Status ask = b.queue->wait(value + 100'000, 0);
            ask.code() != Code::timed_out && ask.code() != Code::invalid_argument)
          ++failures;
      }
    });
  Status status;
  for (int i = 0; i < 200 && status.ok(); ++i) {
    const auto signal = b.queue->submit(b.job->request());
    if (signal.ok())
      submitted = *signal;
    else if (signal.status().code() == Code::busy)
      status = b.queue->wait(submitted);
    else
      status = signal.status();
  }
  if (status.ok()) status = b.queue->wait(submitted);
  over = true;
  for (std::thread& t : waiters) t.join();
  FRL_CHECK(status);
  if (failures)
    return fail(cat("wait beside submit: want ok or timed_out, ", failures.load(),
                    " of the threads' waits gave another answer"));
  return raw::outcome_of(check_results(b, specimen), 200);
}

// ---- order ----
constexpr uint64_t kWords = 1 << 15;

// Each submit reads what the one before wrote, and none is waited for but the last.
Outcome within_queue(Session& session, const Specimen& specimen, Bench& b) {
  std::vector<raw::Held<frl_buffer>> chain;
  for (int i = 0; i < 8; ++i) {
    FRL_HAVE(auto buffer, session.make_buffer(kWords * 8));
    chain.push_back(std::move(buffer));
  }
  std::vector<uint64_t> source(kWords), target(kWords);
  for (uint64_t round = 1; round <= 20; ++round) {
    for (uint64_t i = 0; i < kWords; ++i) source[i] = round << 32 | i;
    FRL_CHECK(b.queue->submit(
        {.copies = {raw::copy_of(raw::whole(chain[0]), raw::address(source.data()), kWords * 8)}}));
    for (size_t i = 1; i < chain.size(); ++i)
      FRL_CHECK(b.queue->submit(
          {.copies = {raw::copy_of(raw::whole(chain[i]), raw::whole(chain[i - 1]), kWords * 8)}}));
    FRL_CHECK(b.queue->finish({.copies = {raw::copy_of(raw::address(target.data()),
                                                       raw::whole(chain.back()), kWords * 8)}}));
    if (source != target)
      return fail(cat("order: want round ", round,
                      " of a chain of copies on one queue, other bytes came out"));
  }
  FRL_CHECK(b.queue->submit(b.job->request()));
  return raw::outcome_of(check_results(b, specimen), 20);
}

// Copies of a submit are made before its recording runs.
Outcome copies_first(Session&, const Specimen& specimen, Bench& b) {
  for (int i = 0; i < 20; ++i) {
    std::vector<Tensor> zeros;
    for (const Tensor& input : specimen.inputs) zeros.emplace_back(input.type());
    FRL_CHECK(b.job->upload(zeros));
    raw::Request request = b.job->request();
    request.copies = b.job->uploads(specimen.inputs);
    FRL_CHECK(b.queue->finish(request));
    if (const std::string wrong = check_results(b, specimen); !wrong.empty())
      return fail(cat("copies and recording in one submit: ", wrong));
  }
  return pass(20);
}

Outcome copies_with_pitch(Session& session, const Specimen&, Bench& b) {
  constexpr uint64_t kRows = 7, kRow = 12, kPitch = 32;
  std::vector<unsigned char> source(kRows * kPitch), target(kRows * kPitch, 0xEE);
  for (size_t i = 0; i < source.size(); ++i) source[i] = static_cast<unsigned char>(i);
  FRL_HAVE(auto buffer, session.make_buffer(kRows * kRow));
  const frl_copy up = {raw::whole(buffer), raw::address(source.data()), kRow, kRows, kRow, kPitch};
  // Back upside down: the pitch may be negative.
  const frl_copy down = {raw::address(target.data() + (kRows - 1) * kPitch),
                         raw::whole(buffer),
                         kRow,
                         kRows,
                         -int64_t(kPitch),
                         kRow};
  FRL_CHECK(b.queue->finish({.copies = {up}}));
  FRL_CHECK(b.queue->finish({.copies = {down}}));
  for (uint64_t r = 0; r < kRows; ++r)
    for (uint64_t c = 0; c < kPitch; ++c) {
      const unsigned char want = c < kRow ? source[(kRows - 1 - r) * kPitch + c] : 0xEE;
      if (target[r * kPitch + c] != want)
        return fail(cat("copy with pitches: row ", r, ", byte ", c, ": want ", int(want), ", got ",
                        int(target[r * kPitch + c])));
    }
  return pass(kRows * kPitch);
}

struct Lanes {
  std::vector<std::unique_ptr<raw::Queue>> queues;
  std::vector<raw::Held<frl_buffer>> buffers;
};
Result<Lanes> lanes(Session& session, size_t n_queues, size_t n_buffers) {
  if (session.row().max_queues < n_queues)
    return Status(Code::not_claimed,
                  cat("max_queues: ", session.row().max_queues, " are fewer than ", n_queues));
  Lanes out;
  for (size_t i = 0; i < n_queues; ++i) {
    FRL_LET(auto queue, session.open_queue());
    out.queues.push_back(std::move(queue));
  }
  for (size_t i = 0; i < n_buffers; ++i) {
    FRL_LET(auto buffer, session.make_buffer(kWords * 8));
    out.buffers.push_back(std::move(buffer));
  }
  return out;
}

// A producer on one queue, a consumer on another that waits for it; the host waits for the consumer
// alone.
Outcome cross_queue(Session& session, const Specimen&, Bench&) {
  FRL_HAVE(Lanes l, lanes(session, 2, 2));
  std::vector<uint64_t> source(kWords), target(kWords);
  for (uint64_t round = 1; round <= 50; ++round) {
    std::fill(source.begin(), source.end(), round);
    FRL_CHECK(
        l.queues[0]->submit({.copies = {raw::copy_of(raw::whole(l.buffers[0]),
                                                     raw::address(source.data()), kWords * 8)}}));
    FRL_HAVE(const uint64_t made,
             l.queues[0]->submit({.copies = {raw::copy_of(raw::whole(l.buffers[1]),
                                                          raw::whole(l.buffers[0]), kWords * 8)}}));
    FRL_CHECK(l.queues[1]->finish({.copies = {raw::copy_of(raw::address(target.data()),
                                                           raw::whole(l.buffers[1]), kWords * 8)},
                                   .waits = {{l.queues[0]->handle(), made}}}));
    if (source != target)
      return fail(
          cat("cross-queue: round ", round, ": want what the other queue wrote, got other bytes"));
  }
  return pass(50);
}

// One producer, two that read it, one that joins them.
Outcome diamond(Session& session, const Specimen&, Bench&) {
  FRL_HAVE(Lanes l, lanes(session, 4, 3));
  std::vector<uint64_t> source(kWords), left(kWords), right(kWords);
  for (uint64_t round = 1; round <= 25; ++round) {
    std::fill(source.begin(), source.end(), round);
    FRL_HAVE(
        const uint64_t top,
        l.queues[0]->submit({.copies = {raw::copy_of(raw::whole(l.buffers[0]),
                                                     raw::address(source.data()), kWords * 8)}}));
    const std::vector<frl_point> after_top = {{l.queues[0]->handle(), top}};
    FRL_HAVE(const uint64_t a,
             l.queues[1]->submit({.copies = {raw::copy_of(raw::whole(l.buffers[1]),
                                                          raw::whole(l.buffers[0]), kWords * 8)},
                                  .waits = after_top}));
    FRL_HAVE(const uint64_t c,
             l.queues[2]->submit({.copies = {raw::copy_of(raw::whole(l.buffers[2]),
                                                          raw::whole(l.buffers[0]), kWords * 8)},
                                  .waits = after_top}));
    FRL_CHECK(l.queues[3]->finish(
        {.copies = {raw::copy_of(raw::address(left.data()), raw::whole(l.buffers[1]), kWords * 8),
                    raw::copy_of(raw::address(right.data()), raw::whole(l.buffers[2]), kWords * 8)},
         .waits = {{l.queues[1]->handle(), a}, {l.queues[2]->handle(), c}}}));
    if (left != source || right != source)
      return fail(
          cat("diamond: round ", round, ": want both branches' bytes at the join, got others"));
  }
  return pass(25);
}

}  // namespace

void list_async(const Target&, std::vector<Case>& cases) {
  add(cases, "J/wait/reached", reached);
  add(cases, "J/wait/done_means_done", done_means_done);
  add(cases, "J/wait/unreached", unreached);
  add(cases, "J/wait/never_submitted", never_submitted);
  add(cases, "J/wait/many_threads", waits_of_many_threads);
  add(cases, "J/order/within_queue", within_queue);
  add(cases, "J/order/copies_first", copies_first);
  add(cases, "J/order/cross_queue", cross_queue);
  add(cases, "J/order/diamond", diamond);
  add(cases, "J/copy/pitches", copies_with_pitch);
  list_async_submit(cases);
}

}  // namespace ferrule::conformance
