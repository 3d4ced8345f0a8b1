// R: what the device claims things cost against what they take. Off by more than a factor of four
// fails.
//
// Slopes between two sizes, so that what is paid once does not count; medians of several trials. A
// device with a simulated clock answers through step_ns: either clock may be within the factor.
#include "conformance/families/stopwatch.h"
#include "conformance/raw/check.h"
#include "conformance/suite/families.h"
#include "core/base/text.h"
#include "core/driver/team.h"

namespace ferrule::conformance {
namespace {

using raw::Job;
using raw::Session;
using raw::Specimen;

constexpr double kFactor = 4;  // between claim and measurement, either way
constexpr int kAttempts = 3;   // on a machine that others use too

std::string amount(double ps) {
  return ps < 1e6 ? cat(std::round(ps / 10) / 100, " ns") : cat(std::round(ps / 1e4) / 100, " us");
}

// Claimed and measured in the same unit; measured by the wall clock and by the device's own.
Outcome compare(const char* what, uint64_t claimed,
                const std::function<Result<Measured>()>& measure) {
  if (claimed == 0) return fail(cat(what, ": want a claimed cost, got 0"));
  std::string text;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    FRL_HAVE(const Measured measured, measure());
    const double wall = measured.wall_ps / double(claimed), own = measured.own_ps / double(claimed);
    text = cat(what, ": claimed ", amount(double(claimed)), ", measured ", amount(measured.wall_ps),
               ", ratio ", std::round(wall * 100) / 100);
    if (measured.own_ps > 0) text += cat(" (", std::round(own * 100) / 100, " by step_ns)");
    for (double ratio : {wall, own})
      if (ratio <= kFactor && ratio >= 1 / kFactor)
        return {Verdict::pass, text, uint64_t(kTrials), 0};
  }
  return fail(cat(text, "; want at most a factor of 4 either way"));
}

Outcome with_costs(const Target& target,
                   const std::function<Outcome(Session&, const Cost&)>& check) {
  raw::SessionOptions options;
  options.services.team = std::make_shared<Team>(available_processors());
  options.services.workers = options.services.team->n_workers();
  return raw::with_session(
      target, [&](Session& session) { return check(session, session.row().cost); }, options);
}

// The largest specimen of the list's first shape that the device takes, down to a few KiB.
Result<Specimen> large_specimen(Session& session, int64_t rows) {
  for (; rows >= 256; rows /= 4)
    if (auto found = raw::specimen(session, rows, false); found.ok()) return found;
  return raw::specimen(session, 256, false);
}

uint64_t bytes_of(const Specimen& s) {
  uint64_t bytes = 0;
  for (size_t v = 0; v < s.graph.n_values(); ++v)
    bytes += uint64_t(s.graph.type(ValueId(v)).size_bytes());
  return bytes;
}

// ---- launching ----
Outcome dispatch(Session& session, const Cost& cost) {
  FRL_HAVE(const Specimen tiny, raw::specimen(session, 1));
  FRL_HAVE(auto queue, session.open_queue());
  constexpr uint32_t kFew = 64, kMany = 2112;
  FRL_HAVE(auto few, Job::make(session, *queue, tiny.graph, {.repeats = kFew}));
  FRL_HAVE(auto many, Job::make(session, *queue, tiny.graph, {.repeats = kMany}));
  FRL_CHECK(few->upload(tiny.inputs));
  FRL_CHECK(many->upload(tiny.inputs));
  return compare("dispatch", cost.dispatch_ps, [&]() -> Result<Measured> {
    FRL_LET(const Measured a, time_job(*queue, *few, 20));
    FRL_LET(const Measured b, time_job(*queue, *many, 20));
    return slope(a, b, kMany - kFew);
  });
}

Outcome round_trip(Session& session, const Cost& cost) {
  FRL_HAVE(auto queue, session.open_queue());
  return compare("round trip", cost.round_trip_ps,
                 [&] { return time_round_trip(session, *queue); });
}

// ---- moving ----
Outcome memory(Session& session, const Cost& cost) {
  // Larger than the caches of any host, where the claims allow it.
  FRL_HAVE(const Specimen small, large_specimen(session, 200'000));
  FRL_HAVE(const Specimen large, large_specimen(session, 3'200'000));
  if (bytes_of(large) == bytes_of(small))
    return {Verdict::not_claimed, "the claims allow one size only"};
  FRL_HAVE(auto queue, session.open_queue());
  FRL_HAVE(auto a, Job::make(session, *queue, small.graph));
  FRL_HAVE(auto b, Job::make(session, *queue, large.graph));
  FRL_CHECK(upload_ramps(*a, small.graph));
  FRL_CHECK(upload_ramps(*b, large.graph));
  const double kib = double(bytes_of(large) - bytes_of(small)) / 1024;
  return compare("memory per KiB", cost.memory_ps_per_kib, [&]() -> Result<Measured> {
    FRL_LET(const Measured few, time_job(*queue, *a, 3));
    FRL_LET(const Measured many, time_job(*queue, *b, 1));
    return slope(few, many, kib);
  });
}

enum class Way { up, down, read };

Outcome moving(Session& session, const char* what, uint64_t claimed, Way way) {
  const uint64_t most = std::min<uint64_t>(session.row().spaces[0].max_alloc_bytes,
                                           uint64_t{64} << 20),
                 least = most / 16;
  FRL_HAVE(auto queue, session.open_queue());
  FRL_HAVE(const auto buffer, session.make_buffer(most));
  std::vector<unsigned char> host(most, 1);
  FRL_CHECK(queue->finish(
      {.copies = {raw::copy_of(raw::whole(buffer), raw::address(host.data()), most)}}));
  const auto once = [&](uint64_t bytes) {
    return time_call([&]() -> Status {
      if (way == Way::read && buffer->host)
        return std::memcpy(host.data(), buffer->host, bytes), Status();
      const frl_binding here = raw::address(host.data()), there = raw::whole(buffer);
      return queue->finish({.copies = {way == Way::up ? raw::copy_of(there, here, bytes)
                                                      : raw::copy_of(here, there, bytes)}});
    });
  };
  return compare(what, claimed, [&]() -> Result<Measured> {
    FRL_LET(const Measured few, once(least));
    FRL_LET(const Measured many, once(most));
    return slope(few, many, double(most - least) / 1024);
  });
}

// ---- computing ----
struct Work {
  Graph graph;
  double mflop;
};

// Products of the sizes that the device takes, else a long chain of pointwise members.
std::vector<Work> work_of(Session& session, const char* type) {
  std::vector<Work> out;
  for (int64_t n : {256, 512}) {
    auto graph = parse_graph(cat("graph \"g\"\n  %x = input ", type, "[", n, ",", n,
                                 "] \"x\"\n  %w = parameter ", type, "[", n, ",", n,
                                 "] \"w\" = random 1\n  %y = matmul %x, %w\n  return %y \"y\"\n"));
    if (graph.ok() && raw::admits(session, *graph, NodeId(0)))
      out.push_back({std::move(*graph), 2e-6 * double(n) * double(n) * double(n)});
  }
  for (int members : {64, 16, 4}) {
    if (!out.empty()) break;
    constexpr int64_t kRows = 40'000;
    std::string body = cat("    %p = input ", type, "[", kRows, ",5] \"p\"\n    %q = input ", type,
                           "[", kRows, ",5] \"q\"\n    %s0 = mul %p, %q\n");
    for (int i = 1; i < members; ++i)
      body += cat("    %s", i, " = ", i % 2 ? "add" : "mul", " %s", i - 1, ", %q\n");
    auto graph =
        parse_graph(cat("graph \"g\"\n  %x = input ", type, "[", kRows, ",5] \"x\"\n  %w = input ",
                        type, "[", kRows, ",5] \"w\"\n  %y = pointwise %x, %w\n  body\n", body,
                        "    return %s", members - 1, " \"s\"\n  return %y \"y\"\n"));
    if (graph.ok() && raw::admits(session, *graph, NodeId(0)))
      out.push_back({std::move(*graph), 1e-6 * members * kRows * 5});
  }
  return out;
}

Outcome arithmetic(Session& session, const frl_rate& rate) {
  const std::string type(type_name(Type(rate.type)));
  const auto works = work_of(session, type.c_str());
  if (works.empty())
    return {Verdict::not_claimed, cat("no matmul and no pointwise chain of ", type, " is claimed")};
  FRL_HAVE(auto queue, session.open_queue());
  std::vector<std::unique_ptr<Job>> jobs;
  for (const Work& work : works) {
    FRL_HAVE(auto job, Job::make(session, *queue, work.graph));
    FRL_CHECK(upload_ramps(*job, work.graph));
    jobs.push_back(std::move(job));
  }
  return compare(cat("arithmetic of ", type, " per MFLOP").c_str(), rate.ps_per_mflop,
                 [&]() -> Result<Measured> {
                   Measured best;
                   for (size_t i = 0; i < works.size(); ++i) {
                     FRL_LET(const Measured all, time_job(*queue, *jobs[i], 2));
                     const Measured each = slope({}, all, works[i].mflop);
                     if (i == 0 || each.wall_ps < best.wall_ps) best = each;
                   }
                   return best;
                 });
}

}  // namespace

void list_costs(const Target& target, std::vector<Case>& cases) {
  const auto add = [&](std::string name, std::function<Outcome(Session&, const Cost&)> check) {
    cases.push_back({std::move(name), [check](const Target& t) { return with_costs(t, check); }});
  };
  add("R/dispatch", dispatch);
  add("R/round_trip", round_trip);
  add("R/memory", memory);
  add("R/to_device", [](Session& s, const Cost& c) {
    return moving(s, "to device per KiB", c.to_device_ps_per_kib, Way::up);
  });
  add("R/from_device", [](Session& s, const Cost& c) {
    return moving(s, "from device per KiB", c.from_device_ps_per_kib, Way::down);
  });
  add("R/readback", [](Session& s, const Cost& c) {
    return moving(s, "readback per KiB", c.readback_ps_per_kib, Way::read);
  });
  for (const frl_rate& rate : target.row().cost.arithmetic) {
    if (rate.compute != FRL_COMPUTE_IEEE) continue;
    add(cat("R/arithmetic/", type_name(Type(rate.type))),
        [rate](Session& s, const Cost&) { return arithmetic(s, rate); });
  }
  list_fused(cases);
}

}  // namespace ferrule::conformance
