// M: things that go wrong on the host's side, one at a time: the Nth allocation, a team that does
// not run, a compile that is called off. Each is an error or a success, never a crash, a leak or a
// wrong result.
#include "conformance/raw/check.h"
#include "conformance/suite/families.h"
#include "core/base/text.h"

namespace ferrule::conformance {
namespace {

using raw::Job;
using raw::Session;
using raw::Specimen;

constexpr uint64_t kMostAllocations =
    2000;  // of one step; a plugin that needs more is judged on these

// One step of a device's life, repeated with a fault further along each time. It leaves nothing
// behind.
using Step = Status (*)(Session&, const Specimen&);

Status open_step(Session& session, const Specimen&) {
  session.close();
  return session.reopen();
}
Status queue_step(Session& session, const Specimen&) { return session.open_queue().status(); }
Status buffer_step(Session& session, const Specimen&) {
  return session.make_buffer(10'000).status();
}
Status compile_step(Session& session, const Specimen& specimen) {
  FRL_LET(const Block block, raw::block_of(specimen.graph, NodeId(0), session.row()));
  return session.compile(block).status();
}
// All of a kernel's life: what is right must come out where nothing is said to be wrong.
Status work_step(Session& session, const Specimen& specimen) {
  return raw::runs_right(session, specimen);
}

// After a fault the next try, without one, works.
Status recovered(Session& session, const Specimen& specimen, bool reopen) {
  if (reopen) FRL_TRY(session.reopen());
  return raw::runs_right(session, specimen);
}

bool is_honest(const Status& status) { return status.ok() || status.code() == Code::no_memory; }

Outcome each_allocation(Session& session, const Specimen& specimen, Step step) {
  const bool reopens = step == open_step;
  FRL_CHECK(raw::runs_right(session, specimen));
  FRL_CHECK(step(session, specimen));
  const int64_t live = session.services().live_blocks();
  for (uint64_t n = 1; n <= kMostAllocations; ++n) {
    session.services().fail_alloc(n);
    const Status status = step(session, specimen);
    const bool over = session.services().fault_is_due();
    session.services().fail_alloc(0);
    if (!is_honest(status))
      return fail(
          cat("allocation ", n, " answers NULL: want ok or no_memory, got ", status.message()));
    if (const Status again = recovered(session, specimen, reopens && !status.ok()); !again.ok())
      return fail(cat("after allocation ", n, " answered NULL: want the next try to work, got ",
                      again.message()));
    const int64_t now = session.services().live_blocks();
    if (now > live)
      return fail(cat("allocation ", n, " answers NULL: want nothing kept of the failed try, ",
                      now - live, " blocks are held"));
    if (const std::string misuse = session.misuse(); !misuse.empty())
      return fail(cat("allocation ", n, " answers NULL: ", misuse));
    if (over) return pass(n);
  }
  return pass(kMostAllocations);
}

// ---- the team ----
// A host that has no room for a team's scratch: nothing ran, so nothing may be said to have run.
Outcome no_team(Session& session, const Specimen& specimen) {
  FRL_HAVE(auto queue, session.open_queue());
  uint64_t failed = 0;
  {
    FRL_HAVE(auto job, Job::make(session, *queue, specimen.graph));
    FRL_CHECK(job->upload(specimen.inputs));
    FRL_CHECK(job->wipe());
    const uint64_t before = session.services().team_runs();
    session.services().fail_teams(1000);
    const Status status = queue->finish(job->request());
    session.services().fail_teams(0);
    failed = session.services().team_runs() - before;
    if (failed == 0)
      return {Verdict::not_claimed, "this device's kernels of 100,000 elements ask for no team"};
    if (!is_honest(status))
      return fail(cat("host.team answers no_memory: want ok or no_memory, got ", status.message()));
    if (status.ok()) {
      FRL_HAVE(const auto got, job->download());
      if (const std::string wrong = raw::differs(specimen, got); !wrong.empty())
        return fail(cat("host.team answers no_memory, submit says ok: ", wrong));
    }
  }
  return raw::outcome_of(raw::runs_right(session, specimen), failed);
}

Result<std::vector<Tensor>> results_with(Session& session, const Specimen& specimen,
                                         uint32_t workers) {
  session.services().set_workers(workers);
  FRL_LET(auto queue, session.open_queue());
  FRL_LET(auto job, Job::make(session, *queue, specimen.graph));
  return job->run(specimen.inputs);
}

// Fewer workers than were wanted, or than max_workers said.
Outcome fewer_workers(const Target& target) {
  raw::SessionOptions options;
  options.services.workers = 4;
  return raw::with_session(
      target,
      [&](Session& session) {
        uint64_t judged = 0;
        for (const Specimen& each : raw::specimens(session, 20'000)) {
          FRL_HAVE(const auto most, results_with(session, each, 4));
          for (uint32_t workers : {1u, 2u, 3u}) {
            FRL_HAVE(const auto got, results_with(session, each, workers));
            if (const std::string wrong = raw::differs(each, got); !wrong.empty())
              return fail(cat(workers, " of 4 workers run: ", wrong));
            judged += uint64_t(got[0].n_elements());
          }
          if (const std::string wrong = raw::differs(each, most); !wrong.empty())
            return fail(cat("4 workers run: ", wrong));
        }
        return judged ? pass(judged)
                      : Outcome{Verdict::not_claimed, "none of the suite's specimens is claimed"};
      },
      options);
}

// ---- compile called off ----
Outcome cancelled_compile(Session& session, const Specimen& specimen) {
  FRL_HAVE(const Block block, raw::block_of(specimen.graph, NodeId(0), session.row()));
  const int64_t live = session.services().live_blocks();
  const uint32_t up = 1;
  for (int i = 0; i < 10; ++i) {
    const auto kernel = session.compile(block, {.cancel = &up});
    // A compile that is over before it looks has nothing to call off.
    if (!kernel.ok() && kernel.status().code() != Code::cancelled)
      return fail(cat("compile with its cancel flag up: want cancelled or a kernel, got ",
                      kernel.status().message()));
  }
  if (session.services().live_blocks() > live)
    return fail("compile with its cancel flag up: want nothing kept, host memory is held");
  return raw::outcome_of(raw::runs_right(session, specimen), 10);
}

// ---- refusals while memory is short ----
// refuse and estimate are pure: they do not need the host at all.
Outcome questions_without_memory(Session& session, const Specimen& specimen) {
  FRL_HAVE(const Block block, raw::block_of(specimen.graph, NodeId(0), session.row()));
  session.services().set_budget(1);
  const uint64_t before = session.services().requests();
  for (int i = 0; i < 10; ++i) FRL_CHECK(session.refuse(block));
  session.services().set_budget(0);
  return session.services().requests() == before
             ? pass(10)
             : fail("refuse: want it pure, it asked the host for memory");
}

void add(std::vector<Case>& cases, const char* name, Outcome (*check)(Session&, const Specimen&)) {
  cases.push_back({name, [check](const Target& t) { return raw::with_specimen(t, check); }});
}

struct StepRow {
  const char* name;
  Step step;
};
constexpr StepRow kSteps[] = {{"M/alloc/open", open_step},
                              {"M/alloc/open_queue", queue_step},
                              {"M/alloc/make_buffer", buffer_step},
                              {"M/alloc/compile", compile_step},
                              {"M/alloc/whole_run", work_step}};

}  // namespace

void list_faults(const Target&, std::vector<Case>& cases) {
  for (const StepRow& row : kSteps)
    cases.push_back({row.name, [&row](const Target& t) {
                       return raw::with_specimen(
                           t, [&row](Session& session, const Specimen& specimen) {
                             return each_allocation(session, specimen, row.step);
                           });
                     }});
  cases.push_back({"M/team/no_memory", [](const Target& t) {
                     return raw::with_session(t, [](Session& session) {
                       FRL_HAVE(const Specimen large, raw::specimen(session, 20'000));
                       return no_team(session, large);
                     });
                   }});
  cases.push_back({"M/team/fewer_workers", fewer_workers});
  add(cases, "M/compile/cancelled", cancelled_compile);
  add(cases, "M/refuse/without_memory", questions_without_memory);
}

}  // namespace ferrule::conformance
