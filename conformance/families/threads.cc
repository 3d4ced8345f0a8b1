// L: what may be called from any thread at once, called from many.
#include <atomic>
#include <mutex>
#include <thread>

#include "conformance/raw/check.h"
#include "conformance/raw/errands.h"
#include "conformance/suite/families.h"
#include "core/base/text.h"

namespace ferrule::conformance {
namespace {

using raw::Job;
using raw::Session;
using raw::Specimen;

// Runs `fn` on n threads at once; the first sentence that one of them returns.
std::string on_threads(unsigned n, const std::function<std::string(unsigned)>& fn) {
  std::mutex mutex;
  std::string first;
  std::atomic<bool> go{false};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < n; ++i)
    threads.emplace_back([&, i] {
      while (!go) std::this_thread::yield();
      const std::string fault = fn(i);
      const std::lock_guard lock(mutex);
      if (first.empty() && !fault.empty()) first = cat("thread ", i, " of ", n, ": ", fault);
    });
  go = true;
  for (std::thread& t : threads) t.join();
  return first;
}

unsigned n_threads(const Target& target) { return unsigned(raw::rounds(target, 4, 8, 16)); }

// Equal bits where the device promises them, else equal within the specimen's bounds.
std::string same_results(const Session& session, const Specimen& specimen,
                         std::span<const Tensor> got, std::span<const Tensor> first) {
  if (std::string wrong = raw::differs(specimen, got); !wrong.empty()) return wrong;
  for (const Claim& claim : session.row().claims)
    if (claim.op == specimen.graph.node(NodeId(0)).op && claim.determinism == FRL_SAME_BITS_NEVER)
      return "";
  for (size_t i = 0; i < got.size(); ++i)
    if (!same_bits(got[i], first[i]))
      return cat(specimen.name, ": want the same bits as one thread alone gave");
  return "";
}

// One kernel, many threads, each with a queue, memory and numbers of its own.
Outcome shared_kernel(const Target& target, int64_t rows) {
  return raw::with_session(target, [&](Session& session) {
    FRL_HAVE(const Specimen specimen, raw::specimen(session, rows));
    const unsigned n = std::min(n_threads(target), session.row().max_queues);
    std::vector<std::unique_ptr<raw::Queue>> queues;
    std::vector<std::unique_ptr<Job>> jobs;
    FRL_HAVE(const Block block, raw::block_of(specimen.graph, NodeId(0), session.row()));
    FRL_HAVE(const auto kernel, session.compile(block));
    for (unsigned i = 0; i < n; ++i) {
      FRL_HAVE(auto queue, session.open_queue());
      queues.push_back(std::move(queue));
      FRL_HAVE(auto job,
               Job::make(session, *queues.back(), specimen.graph, {.kernel = kernel.get()}));
      jobs.push_back(std::move(job));
    }
    std::vector<Specimen> own;
    std::vector<std::vector<Tensor>> first;
    for (unsigned i = 0; i < n; ++i) {
      FRL_HAVE(Specimen mine, raw::with_inputs(specimen, int(i)));
      FRL_HAVE(auto alone, jobs[i]->run(mine.inputs));
      own.push_back(std::move(mine));
      first.push_back(std::move(alone));
    }
    const int repeats = raw::rounds(target, 20, 100, 400);
    const std::string fault = on_threads(n, [&](unsigned i) -> std::string {
      for (int r = 0; r < repeats; ++r) {
        const auto got = jobs[i]->run(own[i].inputs);
        if (!got.ok()) return got.status().message();
        if (const std::string wrong = same_results(session, own[i], *got, first[i]); !wrong.empty())
          return wrong;
      }
      return "";
    });
    jobs.clear();
    return raw::outcome_of(fault, uint64_t(n) * uint64_t(repeats));
  });
}

Outcome memory_race(const Target& target) {
  return raw::with_session(target, [&](Session& session) {
    const int repeats = raw::rounds(target, 200, 1000, 5000);
    const uint32_t flags = session.row().spaces[0].flags;
    const std::string fault = on_threads(n_threads(target), [&](unsigned i) -> std::string {
      std::vector<raw::Held<frl_buffer>> held(8);
      for (int r = 0; r < repeats; ++r) {
        const size_t bytes = size_t(1 + (r * 131 + int(i) * 17) % 5000);
        auto& slot = held[size_t(r) % held.size()];
        if (slot && flags & FRL_SPACE_HOST_VISIBLE)
          for (uint64_t k = 0; k < slot->bytes; ++k)
            if (static_cast<unsigned char*>(slot->host)[k] != static_cast<unsigned char>(i + 1))
              return "buffer: want it left alone while it is held, it changed";
        auto buffer = session.make_buffer(bytes);
        if (!buffer.ok()) return buffer.status().message();
        slot = std::move(*buffer);
        if (flags & FRL_SPACE_HOST_VISIBLE) std::memset(slot->host, int(i + 1), slot->bytes);
      }
      return "";
    });
    return raw::outcome_of(fault, uint64_t(repeats));
  });
}

Outcome compile_race(const Target& target) {
  return raw::with_specimen(target, [&](Session& session, const Specimen& specimen) {
    FRL_HAVE(const Block block, raw::block_of(specimen.graph, NodeId(0), session.row()));
    const int repeats = raw::rounds(target, 20, 100, 500);
    const std::string fault = on_threads(n_threads(target), [&](unsigned) -> std::string {
      for (int r = 0; r < repeats; ++r) {
        const auto kernel = session.compile(block);
        if (!kernel.ok()) return kernel.status().message();
      }
      return "";
    });
    if (!fault.empty()) return fail(fault);
    return raw::outcome_of(raw::runs_right(session, specimen), uint64_t(repeats));
  });
}

// Each thread does all there is to do: queue, kernel, memory, run, and all of it away again.
Outcome everything_race(const Target& target) {
  return raw::with_session(target, [&](Session& session) {
    const auto all = raw::specimens(session);
    if (all.empty())
      return Outcome{Verdict::not_claimed, "none of the suite's specimens is claimed"};
    const int repeats = raw::rounds(target, 5, 20, 100);
    const std::string fault = on_threads(
        std::min(n_threads(target), session.row().max_queues), [&](unsigned i) -> std::string {
          for (int r = 0; r < repeats; ++r) {
            const Status status = raw::runs_right(session, all[(i + unsigned(r)) % all.size()]);
            if (!status.ok()) return status.message();
          }
          return "";
        });
    return raw::outcome_of(fault, uint64_t(repeats));
  });
}

// refuse and estimate are pure: the same answer on every thread.
Outcome questions_race(const Target& target) {
  return raw::with_session(target, [&](Session& session) {
    const auto all = raw::specimens(session);
    if (all.empty())
      return Outcome{Verdict::not_claimed, "none of the suite's specimens is claimed"};
    const frl_plugin& table = session.table();
    std::vector<Block> blocks;
    std::vector<uint64_t> estimates;
    for (const Specimen& each : all) {
      FRL_HAVE(Block block, raw::block_of(each.graph, NodeId(0), session.row()));
      estimates.push_back(table.estimate ? table.estimate(session.row().own, block.region()) : 0);
      blocks.push_back(std::move(block));
    }
    const std::string fault = on_threads(n_threads(target), [&](unsigned) -> std::string {
      for (size_t r = 0; r < 500; ++r) {
        const size_t k = r % blocks.size();
        if (const Status status = session.refuse(blocks[k]); !status.ok())
          return cat("refuse: want the same answer as before, yes, got ", status.message());
        const uint64_t ps =
            table.estimate ? table.estimate(session.row().own, blocks[k].region()) : 0;
        if (ps != estimates[k])
          return cat("estimate: want the same answer as before, ", estimates[k], ", got ", ps);
      }
      return "";
    });
    return raw::outcome_of(fault, 500);
  });
}

Outcome load_race(const Target& target) {
  FRL_HAVE(const auto session, Session::open(target.path, {.device = target.device}));
  const uint64_t rows = raw::rows_hash(*session);
  const std::string fault = on_threads(4, [&](unsigned) -> std::string {
    for (int r = 0; r < 10; ++r) {
      const auto other = Session::open(target.path, {.device = target.device});
      if (!other.ok()) return other.status().message();
      if (raw::rows_hash(**other) != rows)
        return "devices: want the same rows on every thread, got others";
      if ((*other)->open_queue().status().ok()) continue;
      return (*other)->open_queue().status().message();
    }
    return "";
  });
  return raw::outcome_of(fault, 40);
}

}  // namespace

void list_threads(const Target&, std::vector<Case>& cases) {
  cases.push_back({"L/kernel/shared", [](const Target& t) { return shared_kernel(t, 6); }});
  cases.push_back(
      {"L/kernel/shared_large", [](const Target& t) { return shared_kernel(t, 20'000); }});
  cases.push_back({"L/race/memory", memory_race});
  cases.push_back({"L/race/compile", compile_race});
  cases.push_back({"L/race/everything", everything_race});
  cases.push_back({"L/race/questions", questions_race});
  cases.push_back({"L/race/load", load_race});
}

}  // namespace ferrule::conformance
