// C: devices, queues and hosts opened and closed in every legal order, and processes that end
// early.
#include "conformance/raw/check.h"
#include "conformance/raw/errands.h"
#include "conformance/raw/process.h"
#include "conformance/raw/state.h"
#include "conformance/suite/families.h"
#include "core/base/text.h"

namespace ferrule::conformance {
namespace {

using raw::Session;
using raw::Specimen;

Status opens_a_queue(Session& session) { return session.open_queue().status(); }

// A device that claims nothing runnable still opens its queues.
Status works(Session& session) {
  const Status status = raw::runs_right(session);
  return status.code() == Code::not_claimed ? opens_a_queue(session) : status;
}

// ---- devices ----
Outcome reopen(const Target& target, int times, bool with_work) {
  return raw::with_session(target, [&](Session& session) {
    for (int i = 0; i < times; ++i) {
      if (with_work) FRL_CHECK(works(session));
      FRL_CHECK(session.reopen());
    }
    session.close();
    if (session.services().live_blocks() != 0)
      return fail(cat("close: want all host memory given back, ", session.services().live_blocks(),
                      " blocks are held"));
    FRL_CHECK(session.reopen());
    return raw::outcome_of(works(session), uint64_t(times));
  });
}

// ---- queues ----
Outcome many_queues(Session& session, const Specimen& specimen, uint32_t n) {
  std::vector<std::unique_ptr<raw::Queue>> queues;
  std::vector<std::unique_ptr<raw::Job>> jobs;
  for (uint32_t i = 0; i < n; ++i) {
    FRL_HAVE(auto queue, session.open_queue());
    queues.push_back(std::move(queue));
  }
  for (auto& queue : queues) {
    FRL_HAVE(auto job, raw::Job::make(session, *queue, specimen.graph));
    FRL_CHECK(job->upload(specimen.inputs));
    jobs.push_back(std::move(job));
  }
  std::vector<uint64_t> signals;
  for (uint32_t i = 0; i < n; ++i) {
    FRL_HAVE(const uint64_t signal, queues[i]->submit(jobs[i]->request()));
    signals.push_back(signal);
  }
  for (uint32_t i = n; i-- > 0;) {
    FRL_CHECK(queues[i]->wait(signals[i]));
    FRL_HAVE(const auto got, jobs[i]->download());
    if (const std::string wrong = raw::differs(specimen, got); !wrong.empty())
      return fail(cat("queue ", i, " of ", n, ": ", wrong));
  }
  jobs.clear();
  return pass(n);
}

Outcome several_queues(const Target& target) {
  return raw::with_specimen(target, [](Session& session, const Specimen& specimen) {
    return many_queues(session, specimen, std::min(session.row().max_queues, 8u));
  });
}

Outcome most_queues(const Target& target) {
  return raw::with_specimen(target, [&](Session& session, const Specimen& specimen) {
    const uint32_t most =
        std::min(session.row().max_queues, uint32_t(raw::rounds(target, 64, 256, 4096)));
    return many_queues(session, specimen, most);
  });
}

// ---- hosts ----
Outcome second_host(const Target& target) {
  return raw::with_session(target, [&](Session& first) {
    FRL_CHECK(works(first));
    const int64_t live = first.services().live_bytes();
    const uint64_t requests = first.services().requests();
    const Outcome second = raw::with_session(
        target, [&](Session& session) { return raw::outcome_of(works(session)); });
    if (second.verdict != Verdict::pass) return second;
    if (first.services().requests() != requests || first.services().live_bytes() != live)
      return fail(
          "hosts: want a device to use the host that it was opened with, the first host was called "
          "for the second");
    return raw::outcome_of(works(first), 2);
  });
}

Outcome host_after_host(const Target& target) {
  std::unique_ptr<Session> first;
  {
    raw::SessionOptions options;
    options.device = target.device;
    FRL_HAVE(first, Session::open(target.path, options));
  }
  FRL_CHECK(works(*first));
  first->close();
  FRL_CHECK(first->quiesce());
  const Outcome second =
      raw::with_session(target, [&](Session& session) { return raw::outcome_of(works(session)); });
  if (second.verdict != Verdict::pass) return second;
  const std::string misuse = first->misuse();
  return misuse.empty() ? pass(2) : fail(cat("first host, after its quiesce: ", misuse));
}

// ---- quiesce ----
Outcome quiesce(const Target& target, bool after_work) {
  raw::SessionOptions options;
  options.device = target.device;
  const size_t before = raw::live_threads();
  FRL_HAVE(auto session, Session::open(target.path, options));
  if (after_work) FRL_CHECK(works(*session));
  session->close();
  FRL_CHECK(session->quiesce());
  if (session->services().live_blocks() != 0)
    return fail(cat("quiesce: want all host memory given back, ", session->services().live_blocks(),
                    " blocks are held"));
  // A vendor driver's own threads may stay, parked.
  const size_t after = raw::live_threads();
  if (!(session->row().flags & FRL_DEVICE_OWN_THREADS) && after > before)
    return fail(cat("quiesce: want no thread left, there were ", before, " and are ", after));
  return raw::outcome_of(session->misuse());
}

// ---- ends of a process ----
Outcome exit_at(const Target& target, const char* point) {
  FRL_HAVE(const raw::Ended ended,
           raw::run_errand(raw::kExitAt, {target.path, cat(target.device), point}));
  if (ended.report == "reached" && ended.rc == raw::kOwnExitCode) return pass(1);
  if (ended.rc == 0) return {Verdict::not_claimed, cat(point, ": this device has no such point")};
  return fail(cat("exit when ", point, ": want the program's own rc ", raw::kOwnExitCode, ", got ",
                  ended.how(), ended.report == "reached" ? "" : ": ",
                  ended.report == "reached" ? "" : ended.report));
}

}  // namespace

void list_lifecycle(const Target&, std::vector<Case>& cases) {
  cases.push_back({"C/device/once", [](const Target& t) { return reopen(t, 1, false); }});
  cases.push_back(
      {"C/device/reopened_after_work", [](const Target& t) { return reopen(t, 3, true); }});
  cases.push_back({"C/device/reopened_1000_times", [](const Target& t) {
                     return reopen(t, raw::rounds(t, 50, 1000, 1000), false);
                   }});
  cases.push_back({"C/queues/several", several_queues});
  cases.push_back({"C/queues/as_many_as_claimed", most_queues});
  cases.push_back({"C/hosts/two_at_once", second_host});
  cases.push_back({"C/hosts/one_after_another", host_after_host});
  cases.push_back({"C/quiesce/idle", [](const Target& t) { return quiesce(t, false); }});
  cases.push_back({"C/quiesce/after_work", [](const Target& t) { return quiesce(t, true); }});
  for (const char* point : raw::kLifePoints)
    cases.push_back(
        {cat("C/exit/", point), [point](const Target& t) { return exit_at(t, point); }});
}

}  // namespace ferrule::conformance
