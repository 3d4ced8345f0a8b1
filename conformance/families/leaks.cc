// O: what is held of the process after many rounds is what was held after few.
#include "conformance/families/flat.h"
#include "conformance/raw/check.h"
#include "conformance/raw/state.h"
#include "conformance/suite/families.h"
#include "core/base/text.h"

namespace ferrule::conformance {
namespace {

using raw::Job;
using raw::Session;
using raw::Specimen;

Held look_at_process() {
  return {0,
          0,
          int64_t(raw::open_descriptors()),
          int64_t(raw::live_threads()),
          int64_t(raw::mapped_ranges()),
          int64_t(raw::heap_bytes_in_use()),
          0};
}

Held look(const Session& session) {
  Held out = look_at_process();
  out.host_bytes = session.services().live_bytes();
  out.host_blocks = session.services().live_blocks();
  if (session.table().telemetry && session.device()) {
    frl_telemetry counted{};
    counted.head = {sizeof counted, FRL_TAG_TELEMETRY};
    session.table().telemetry(session.device(), &counted);
    out.device_bytes = int64_t(counted.live_bytes);
  }
  return out;
}

using Round = Status (*)(Session&, const Specimen&);

Status open_close(Session& session, const Specimen&) { return session.reopen(); }
Status queue(Session& session, const Specimen&) { return session.open_queue().status(); }
Status buffer(Session& session, const Specimen&) {
  FRL_TRY(session.make_buffer(1 << 16).status());
  return session.make_buffer(3 << 20).status();
}
Status refusal(Session& session, const Specimen& specimen) {
  FRL_LET(const Block block, raw::block_of(specimen.graph, NodeId(0), session.row()));
  return session.refuse(block);
}
Status compile(Session& session, const Specimen& specimen) {
  FRL_LET(const Block block, raw::block_of(specimen.graph, NodeId(0), session.row()));
  return session.compile(block).status();
}
Status whole(Session& session, const Specimen& specimen) {
  return raw::runs_right(session, specimen);
}
Status failed_queue(Session& session, const Specimen& specimen) {
  const uint32_t up = 1;
  FRL_LET(auto line, session.open_queue());
  FRL_LET(auto job, Job::make(session, *line, specimen.graph));
  raw::Request request = job->request();
  request.cancel = &up;
  const auto signal = line->submit(request);
  if (signal.ok()) static_cast<void>(line->wait(*signal));
  return {};
}
Status refused_memory(Session& session, const Specimen&) {
  const auto buffer = session.make_buffer(UINT64_MAX / 2);
  return buffer.ok()
             ? Status(Code::internal, "make_buffer: want a refusal of 2^63 bytes, got a buffer")
             : Status();
}
Status serialise(Session& session, const Specimen& specimen) {
  FRL_LET(const Block block, raw::block_of(specimen.graph, NodeId(0), session.row()));
  FRL_LET(const auto kernel, session.compile(block));
  FRL_LET(const auto bytes, session.serialise(*kernel));
  return session.compile(block, {.cached = bytes}).status();
}

struct Row {
  const char* name;
  Round round;
  int smoke, standard;  // rounds of the first window
};
constexpr Row kRows[] = {
    {"O/flat/open_close", open_close, 100, 500},
    {"O/flat/queue", queue, 100, 500},
    {"O/flat/buffer", buffer, 100, 500},
    {"O/flat/refuse", refusal, 200, 2000},
    {"O/flat/compile", compile, 100, 500},
    {"O/flat/whole_run", whole, 100, 500},
    {"O/flat/failed_queue", failed_queue, 100, 200},
    {"O/flat/refused_memory", refused_memory, 100, 500},
    {"O/flat/serialise", serialise, 100, 500},
};

Outcome rounds_stay_flat(Session& session, const Specimen& specimen, Round round, int n) {
  return stays_flat(
      n,
      [&](int64_t rounds) {
        for (int64_t i = 0; i < rounds; ++i) FRL_CHECK(round(session, specimen));
        return pass(1);
      },
      [&] { return look(session); });
}

Outcome submits_stay_flat(const Target& target) {
  return raw::with_specimen(target, [&](Session& session, const Specimen& specimen) {
    FRL_HAVE(auto line, session.open_queue());
    FRL_HAVE(auto job, Job::make(session, *line, specimen.graph));
    FRL_CHECK(job->upload(specimen.inputs));
    const raw::Request request = job->request();
    bool has_run = false;
    const auto run = [&](int64_t rounds) {
      const uint64_t before = session.services().requests();
      for (int64_t i = 0; i < rounds; ++i) FRL_CHECK(line->finish(request));
      // A recording that has run once needs nothing more of the host.
      if (has_run && session.services().requests() != before)
        return fail(
            "submit: want no allocation once a recording has run, it asked the host for memory");
      has_run = true;
      return pass(1);
    };
    return stays_flat(raw::rounds(target, 1000, 20'000, 200'000), run,
                      [&] { return look(session); });
  });
}

// A whole life: the library stays, all else goes.
Outcome live(const Target& target) {
  raw::SessionOptions options;
  options.device = target.device;
  FRL_HAVE(auto session, Session::open(target.path, options));
  if (const Status status = raw::runs_right(*session); !status.ok()) return raw::outcome_of(status);
  session->close();
  FRL_CHECK(session->quiesce());
  if (session->services().live_blocks() || session->services().live_bytes())
    return fail(cat("quiesce: want all host memory given back, ", session->services().live_blocks(),
                    " blocks are held"));
  return pass(1);
}

Outcome lives_stay_flat(const Target& target) {
  const auto run = [&](int64_t rounds) {
    for (int64_t i = 0; i < rounds; ++i)
      if (Outcome out = live(target); out.verdict != Verdict::pass) return out;
    return pass(1);
  };
  return stays_flat(raw::rounds(target, 60, 200, 1000), run, look_at_process);
}

}  // namespace

void list_leaks(const Target&, std::vector<Case>& cases) {
  for (const Row& row : kRows)
    cases.push_back(
        {row.name, [&row](const Target& t) {
           return raw::with_specimen(t, [&](Session& session, const Specimen& specimen) {
             return rounds_stay_flat(session, specimen, row.round,
                                     raw::rounds(t, row.smoke, row.standard, row.standard * 4));
           });
         }});
  cases.push_back({"O/flat/submit", submits_stay_flat});
  cases.push_back({"O/flat/life", lives_stay_flat});
}

}  // namespace ferrule::conformance
