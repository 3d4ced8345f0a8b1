// R: what the device claims things cost against what they take. Off by more than a factor of four
// fails.
//
// Slopes between two sizes, so that what is paid once does not count. A device with a simulated
// clock answers through step_ns: either clock may be within the factor.
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

std::string amount(double ps) {
  return ps < 1e6 ? cat(std::round(ps / 10) / 100, " ns") : cat(std::round(ps / 1e4) / 100, " us");
}

// What is timed: few units against many, or many alone.
struct Work {
  std::vector<Trial> trials;
  double units;
  Measured per_unit(const std::vector<Measured>& best) const {
    return best.size() == 1 ? slope({}, best[0], units) : slope(best[0], best[1], units);
  }
};

// Claimed and measured in the same unit.
Outcome compare(const std::string& what, uint64_t claimed, const Work& work) {
  if (claimed == 0) return fail(cat(what, ": want a claimed cost, got 0"));
  int looked = 0;
  const auto enough = [&](const std::vector<Measured>& best) {
    const Measured each = work.per_unit(best);
    const double most = double(claimed) * kFactor, least = double(claimed) / kFactor;
    // The fastest trial only gets faster: what is too fast after many stays too fast.
    if (std::max(each.wall_ps, each.own_ps) < least) return ++looked > 3 * kLeastTrials;
    return each.wall_ps <= most || (each.own_ps > 0 && each.own_ps <= most);
  };
  FRL_HAVE(const Fastest found, fastest(work.trials, enough));
  const Measured each = work.per_unit(found.best);
  const double wall = each.wall_ps / double(claimed), own = each.own_ps / double(claimed);
  std::string text = cat(what, ": claimed ", amount(double(claimed)), ", measured ",
                         amount(each.wall_ps), ", ratio ", std::round(wall * 100) / 100);
  if (each.own_ps > 0) text += cat(" (", std::round(own * 100) / 100, " by step_ns)");
  for (double ratio : {wall, own})
    if (ratio <= kFactor && ratio >= 1 / kFactor)
      return {Verdict::pass, text, uint64_t(found.trials), 0};
  text += "; want at most a factor of 4 either way";
  // Too slow, or no slope at all, says nothing about the device while others have the processors.
  if ((wall > kFactor || wall <= 0) && found.is_busy())
    return {Verdict::resource_error,
            cat(text, "; the machine is busy: threads waited ", std::round(found.waited * 100),
                " % of the time for a processor"),
            1, 0};
  return fail(text);
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
  return compare("dispatch", cost.dispatch_ps,
                 {{time_job(*queue, *few, 4), time_job(*queue, *many, 4)}, kMany - kFew});
}

Outcome round_trip(Session& session, const Cost& cost) {
  FRL_HAVE(auto queue, session.open_queue());
  return compare("round trip", cost.round_trip_ps, {{time_round_trip(session, *queue)}, 1});
}

// ---- moving ----
Outcome memory(Session& session, const Cost& cost) {
  // Larger than the caches of any host, where the claims allow it.
  FRL_HAVE(const Specimen small, large_specimen(session, 100'000));
  FRL_HAVE(const Specimen large, large_specimen(session, 800'000));
  if (bytes_of(large) == bytes_of(small))
    return {Verdict::not_claimed, "the claims allow one size only"};
  FRL_HAVE(auto queue, session.open_queue());
  FRL_HAVE(auto a, Job::make(session, *queue, small.graph));
  FRL_HAVE(auto b, Job::make(session, *queue, large.graph));
  FRL_CHECK(upload_ramps(*a, small.graph));
  FRL_CHECK(upload_ramps(*b, large.graph));
  const double kib = double(bytes_of(large) - bytes_of(small)) / 1024;
  return compare("memory per KiB", cost.memory_ps_per_kib,
                 {{time_job(*queue, *a, 1), time_job(*queue, *b, 1)}, kib});
}

enum class Way { up, down, read };

Outcome moving(Session& session, const char* what, uint64_t claimed, Way way) {
  const uint64_t most = std::min<uint64_t>(session.row().spaces[0].max_alloc_bytes,
                                           uint64_t{16} << 20),
                 least = most / 16;
  FRL_HAVE(auto queue, session.open_queue());
  FRL_HAVE(const auto buffer, session.make_buffer(most));
  std::vector<unsigned char> host(most, 1);
  FRL_CHECK(queue->finish(
      {.copies = {raw::copy_of(raw::whole(buffer), raw::address(host.data()), most)}}));
  const auto once = [&](uint64_t bytes) {
    return time_call([&, bytes]() -> Status {
      if (way == Way::read && buffer->host)
        return std::memcpy(host.data(), buffer->host, bytes), Status();
      const frl_binding here = raw::address(host.data()), there = raw::whole(buffer);
      return queue->finish({.copies = {way == Way::up ? raw::copy_of(there, here, bytes)
                                                      : raw::copy_of(here, there, bytes)}});
    });
  };
  return compare(what, claimed, {{once(least), once(most)}, double(most - least) / 1024});
}

// ---- computing ----
struct Sum {
  Graph graph;
  double mflop;
};

// Products of the sizes that the device takes, else a long chain of pointwise members.
std::vector<Sum> sums_of(Session& session, const char* type) {
  std::vector<Sum> out;
  for (int64_t n : {256, 512}) {
    auto graph = parse_graph(cat("graph \"g\"\n  %x = input ", type, "[", n, ",", n,
                                 "] \"x\"\n  %w = parameter ", type, "[", n, ",", n,
                                 "] \"w\" = random 1\n  %y = matmul %x, %w\n  return %y \"y\"\n"));
    if (graph.ok() && raw::admits(session, *graph, NodeId(0)))
      out.push_back({std::move(*graph), 2e-6 * double(n) * double(n) * double(n)});
  }
  for (int members : {64, 16, 4}) {
    if (!out.empty()) break;
    constexpr int64_t kRows = 8'000;
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
  const auto works = sums_of(session, type.c_str());
  if (works.empty())
    return {Verdict::not_claimed, cat("no matmul and no pointwise chain of ", type, " is claimed")};
  FRL_HAVE(auto queue, session.open_queue());
  std::vector<std::unique_ptr<Job>> jobs;
  for (const Sum& work : works) {
    FRL_HAVE(auto job, Job::make(session, *queue, work.graph));
    FRL_CHECK(upload_ramps(*job, work.graph));
    jobs.push_back(std::move(job));
  }
  // A size that suits the device better is no lie about the others: the best one counts.
  const Trial each_size = [&]() -> Result<Measured> {
    Measured best;
    for (size_t i = 0; i < works.size(); ++i) {
      FRL_LET(const Measured all, time_job(*queue, *jobs[i], 1)());
      const Measured each = slope({}, all, works[i].mflop);
      if (i == 0 || each.wall_ps < best.wall_ps) best = each;
    }
    return best;
  };
  return compare(cat("arithmetic of ", type, " per MFLOP"), rate.ps_per_mflop, {{each_size}, 1});
}

// ---- predicting ----
// What estimate() says of each specimen, against one more run of it inside a segment.
Outcome estimates(Session& session, const Cost&) {
  if (!session.table().estimate)
    return {Verdict::not_claimed, "estimate: the plugin has no such slot"};
  FRL_HAVE(auto queue, session.open_queue());
  Outcome out{Verdict::not_claimed, "estimate: the suite's specimens are all unknown to it"};
  for (const Specimen& each : raw::specimens(session, 2000)) {
    FRL_HAVE(const Block block, raw::block_of(each.graph, NodeId(0), session.row()));
    const uint64_t ps = session.table().estimate(session.row().own, block.region());
    if (ps == 0) continue;
    FRL_HAVE(auto few, Job::make(session, *queue, each.graph, {.repeats = 2}));
    FRL_HAVE(auto many, Job::make(session, *queue, each.graph, {.repeats = 10}));
    FRL_CHECK(upload_ramps(*few, each.graph));
    FRL_CHECK(upload_ramps(*many, each.graph));
    out = compare(cat("estimate of ", each.name), ps,
                  {{time_job(*queue, *few, 1), time_job(*queue, *many, 1)}, 8});
    if (out.verdict != Verdict::pass) return out;
  }
  return out;
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
  add("R/estimate", estimates);
  list_fused(cases);
}

}  // namespace ferrule::conformance
