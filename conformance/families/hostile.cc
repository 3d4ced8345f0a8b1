// S: bytes and settings of unknown origin, and requests that are large but legal. Refused or done,
// never a crash.
#include "conformance/raw/check.h"
#include "conformance/raw/noise.h"
#include "conformance/suite/families.h"
#include "core/base/text.h"

namespace ferrule::conformance {
namespace {

using raw::Job;
using raw::Noise;
using raw::Session;
using raw::Specimen;

using Blob = std::vector<std::byte>;

// A kernel from damaged bytes: refused where only restoring is allowed, made anew elsewhere, and
// right.
std::string compile_from(Session& session, const Specimen& specimen, const Block& block,
                         const Blob& bytes, bool run) {
  const auto restored = session.compile(block, {.cached = bytes, .restore_only = true});
  if (restored.ok())
    return "compile: want damaged bytes refused where only restoring is allowed, got a kernel";
  if (restored.status().code() != Code::foreign && restored.status().code() != Code::stale)
    return cat("compile: want foreign or stale for damaged bytes, got ",
               restored.status().message());
  const auto anew = session.compile(block, {.cached = bytes});
  if (!anew.ok())
    return cat("compile: want a kernel made anew beside damaged bytes, got ",
               anew.status().message());
  if ((*anew)->restored) return "kernel.restored: want 0 beside damaged bytes, got 1";
  if (!run) return "";
  auto queue = session.open_queue();
  if (!queue.ok()) return queue.status().message();
  auto job = Job::make(session, **queue, specimen.graph, {.kernel = anew->get()});
  if (!job.ok()) return job.status().message();
  const auto got = (*job)->run(specimen.inputs);
  return got.ok() ? raw::differs(specimen, *got) : got.status().message();
}

// Bytes to damage: the plugin's own where it saves kernels, else what another plugin's might look
// like.
Result<Blob> saved_or_noise(Session& session, const Block& block, uint64_t seed) {
  if (!session.table().serialise) return Noise(seed).bytes(1024);
  FRL_LET(const auto kernel, session.compile(block));
  FRL_LET(Blob bytes, session.serialise(*kernel));
  return bytes.empty() ? Noise(seed).bytes(1024) : bytes;
}

using Damage = std::vector<Blob> (*)(const Blob& good, Noise& noise, int n);

std::vector<Blob> cuts(const Blob& good, Noise&, int n) {
  std::vector<Blob> out;
  for (int i = 0; i < n; ++i)
    out.emplace_back(good.begin(),
                     good.begin() + std::ptrdiff_t(good.size() * size_t(i) / size_t(n)));
  if (!good.empty()) out.emplace_back(good.begin(), good.end() - 1);
  return out;
}
std::vector<Blob> flips(const Blob& good, Noise& noise, int n) {
  std::vector<Blob> out;
  for (int i = 0; i < n && !good.empty(); ++i) {
    Blob bytes = good;
    bytes[noise.below(bytes.size())] ^= std::byte(1 << noise.below(8));
    out.push_back(std::move(bytes));
  }
  return out;
}
// The head is where lengths and counts lie: each of its bytes set to each extreme.
std::vector<Blob> extremes(const Blob& good, Noise&, int n) {
  std::vector<Blob> out;
  for (size_t at = 0; at < std::min<size_t>(good.size(), size_t(n)); ++at)
    for (std::byte value : {std::byte{0xFF}, std::byte{0x7F}, std::byte{0x80}}) {
      if (good[at] == value) continue;
      Blob bytes = good;
      bytes[at] = value;
      out.push_back(std::move(bytes));
    }
  return out;
}
std::vector<Blob> noise_of_sizes(const Blob&, Noise& noise, int n) {
  std::vector<Blob> out = {
      noise.bytes(1),       noise.bytes(7), noise.bytes(8), Blob(64), Blob(4096, std::byte{0xFF}),
      noise.bytes(16 << 20)};
  for (int i = 0; i < n; ++i) out.push_back(noise.bytes(1 + noise.below(8192)));
  return out;
}
std::vector<Blob> appended(const Blob& good, Noise& noise, int n) {
  std::vector<Blob> out;
  for (int i = 0; i < n; ++i) {
    Blob bytes = good;
    const Blob more = noise.bytes(1 + noise.below(64));
    bytes.insert(bytes.end(), more.begin(), more.end());
    out.push_back(std::move(bytes));
  }
  return out;
}

struct DamageRow {
  const char* name;
  Damage damage;
  int smoke, standard, deep;
};
constexpr DamageRow kDamages[] = {{"S/cached/cut", cuts, 16, 64, 512},
                                  {"S/cached/bit_flips", flips, 64, 400, 4000},
                                  {"S/cached/extremes", extremes, 32, 96, 512},
                                  {"S/cached/noise", noise_of_sizes, 8, 32, 256},
                                  {"S/cached/appended", appended, 8, 32, 256}};

Outcome damaged(const Target& target, const DamageRow& row) {
  return raw::with_specimen(target, [&](Session& session, const Specimen& specimen) {
    FRL_HAVE(const Block block, raw::block_of(specimen.graph, NodeId(0), session.row()));
    FRL_HAVE(const Blob good, saved_or_noise(session, block, target.seed));
    Noise noise(target.seed);
    uint64_t n = 0;
    for (const Blob& bytes :
         row.damage(good, noise, raw::rounds(target, row.smoke, row.standard, row.deep))) {
      const std::string wrong = compile_from(session, specimen, block, bytes, n % 16 == 0);
      if (!wrong.empty())
        return fail(cat("damaged bytes number ", n, " (", bytes.size(), " of ", good.size(),
                        " bytes): ", wrong));
      ++n;
    }
    return n ? pass(n)
             : Outcome{Verdict::not_claimed, "the plugin saves nothing that could be damaged"};
  });
}

Outcome nothing_cached(Session& session, const Specimen& specimen) {
  FRL_HAVE(const Block block, raw::block_of(specimen.graph, NodeId(0), session.row()));
  const auto kernel = session.compile(block, {.restore_only = true});
  if (kernel.ok())
    return fail(
        "compile: want a refusal where only restoring is allowed and no bytes are given, got a "
        "kernel");
  if (kernel.status().code() != Code::foreign && kernel.status().code() != Code::stale)
    return fail(cat("compile: want foreign or stale where no bytes are given, got ",
                    kernel.status().message()));
  return raw::outcome_of(raw::runs_right(session, specimen));
}

// ---- settings ----
std::string value_text(int which) {
  const std::string rows[] = {"",
                              " ",
                              "true",
                              "-1",
                              "99999999999999999999",
                              "nan",
                              "1e999",
                              "../../../etc",
                              "\x01\x02",
                              "\xC3\xA4\xE2\x82\xAC",
                              std::string(65'536, 'x'),
                              "%s%n%x",
                              "best,own;--"};
  return which < int(std::size(rows)) ? rows[which] : "";
}
constexpr int kValues = 13;

// Opens with one odd setting: refused with a reason, and at the next try with the same one; or
// opened and right.
std::string with_setting(const Target& target, const std::string& key, const std::string& value) {
  raw::SessionOptions options;
  options.device = target.device, options.services.settings = {{key, value}};
  const auto session = Session::open(target.path, options);
  if (session.ok()) {
    const Status status = raw::runs_right(**session);
    return status.ok() || status.code() == Code::not_claimed ? "" : status.message();
  }
  const Status first = session.status();
  if (first.code() == Code::internal) return first.message();
  const auto again = Session::open(target.path, options);
  if (again.ok())
    return cat("open: want the same answer twice, got ", first.message(), ", then ok");
  return again.status().message() == first.message()
             ? ""
             : cat("open: want the first cause again, ", first.message(), ", got ",
                   again.status().message());
}

std::string read(const frl_str& s) { return s.p ? std::string(s.p, s.n) : std::string(); }

Outcome odd_values(const Target& target) {
  const frl_rows& options = target.driver->table().options;
  if (options.n == 0) return {Verdict::not_claimed, "the plugin has no options"};
  for (uint32_t i = 0; i < options.n; ++i) {
    frl_option option;
    frl_row(&option, sizeof option, options.p, options.stride, i);
    if (const std::string wrong = with_setting(target, read(option.key), read(option.fallback));
        !wrong.empty())
      return fail(cat("setting ", read(option.key), " at its fallback: ", wrong));
    for (int k = 0; k < kValues; ++k)
      if (const std::string wrong = with_setting(target, read(option.key), value_text(k));
          !wrong.empty())
        return fail(cat("setting ", read(option.key), " = ",
                        json_quote(value_text(k).substr(0, 40)), ": ", wrong));
  }
  return pass(options.n * uint64_t(kValues + 1));
}

Outcome unknown_keys(const Target& target) {
  for (const char* key : {"", "no_such_key", "ISA", "a.b.c", "\xF0\x9F\x94\x8C"})
    if (const std::string wrong = with_setting(target, key, "1"); !wrong.empty())
      return fail(cat("unknown setting ", json_quote(key), ": ", wrong));
  raw::SessionOptions options;
  options.device = target.device;
  for (int i = 0; i < 4096; ++i) options.services.settings.emplace_back(cat("key_", i), cat(i));
  const auto session = Session::open(target.path, options);
  if (!session.ok() && session.status().code() == Code::internal)
    return fail(session.status().message());
  return pass(6);
}

// ---- large but legal ----
Outcome empty_segment(Session& session, const Specimen& specimen) {
  FRL_HAVE(auto queue, session.open_queue());
  {
    FRL_HAVE(const auto recording, queue->record({}));
    for (int i = 0; i < 3; ++i) FRL_CHECK(queue->finish({.recording = recording.get()}));
    FRL_CHECK(queue->finish({}));
  }
  return raw::outcome_of(raw::runs_right(session, specimen), 4);
}

// One kernel as many steps, each with arguments of its own.
Outcome long_segment(Session& session, const Specimen& specimen) {
  constexpr uint32_t kSteps = 50'000;
  FRL_HAVE(auto queue, session.open_queue());
  {
    FRL_HAVE(auto job, Job::make(session, *queue, specimen.graph, {.repeats = kSteps}));
    FRL_HAVE(const auto got, job->run(specimen.inputs));
    if (const std::string wrong = raw::differs(specimen, got); !wrong.empty())
      return fail(cat(kSteps, " steps: ", wrong));
  }
  return raw::outcome_of(raw::runs_right(session, specimen), kSteps);
}

Outcome many_bindings(Session& session, const Specimen& specimen) {
  FRL_HAVE(auto queue, session.open_queue());
  {
    FRL_HAVE(auto job, Job::make(session, *queue, specimen.graph, {.more_late = 20'000}));
    FRL_HAVE(const auto got, job->run(specimen.inputs));
    if (const std::string wrong = raw::differs(specimen, got); !wrong.empty())
      return fail(cat("20,000 late bindings: ", wrong));
  }
  return raw::outcome_of(raw::runs_right(session, specimen), 20'000);
}

Outcome many_copies(Session& session, const Specimen&) {
  constexpr uint64_t kCopies = 20'000;
  FRL_HAVE(auto queue, session.open_queue());
  FRL_HAVE(const auto buffer, session.make_buffer(kCopies * 8));
  std::vector<uint64_t> source(kCopies), target(kCopies);
  for (uint64_t i = 0; i < kCopies; ++i) source[i] = i * 0x9E3779B97F4A7C15u;
  raw::Request up, down;
  for (uint64_t i = 0; i < kCopies; ++i) {
    up.copies.push_back(raw::copy_of({buffer.get(), i * 8}, raw::address(&source[i]), 8));
    down.copies.push_back(
        raw::copy_of(raw::address(&target[i]), {buffer.get(), i * 8}, i % 100 == 99 ? 0 : 8));
  }
  FRL_CHECK(queue->finish(up));
  FRL_CHECK(queue->finish(down));
  for (uint64_t i = 0; i < kCopies; ++i)
    if (target[i] != (i % 100 == 99 ? 0 : source[i]))
      return fail(
          cat("20,000 copies in one submit: want copy ", i, " made as asked, got other bytes"));
  return pass(kCopies);
}

void add(std::vector<Case>& cases, const char* name, Outcome (*check)(Session&, const Specimen&)) {
  cases.push_back({name, [check](const Target& t) { return raw::with_specimen(t, check); }});
}

}  // namespace

void list_hostile(const Target&, std::vector<Case>& cases) {
  for (const DamageRow& row : kDamages)
    cases.push_back({row.name, [&row](const Target& t) { return damaged(t, row); }});
  add(cases, "S/cached/none", nothing_cached);
  cases.push_back({"S/settings/odd_values", odd_values});
  cases.push_back({"S/settings/unknown_keys", unknown_keys});
  add(cases, "S/record/empty_segment", empty_segment);
  add(cases, "S/record/50000_steps", long_segment);
  add(cases, "S/record/20000_late_bindings", many_bindings);
  add(cases, "S/submit/20000_copies", many_copies);
}

}  // namespace ferrule::conformance
