// T: kernels saved and restored; bytes of another region, another version, another process.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "conformance/raw/check.h"
#include "conformance/raw/errands.h"
#include "conformance/raw/process.h"
#include "conformance/suite/families.h"
#include "core/base/text.h"

namespace ferrule::conformance {
namespace {

using raw::Job;
using raw::Session;
using raw::Specimen;

using Blob = std::vector<std::byte>;

struct Saved {
  Block block;
  Blob bytes;
};
Result<Saved> saved(Session& session, const Specimen& specimen) {
  Saved out;
  FRL_LET(out.block, raw::block_of(specimen.graph, NodeId(0), session.row()));
  FRL_LET(const auto kernel, session.compile(out.block));
  if (kernel->restored)
    return Status(Code::internal, "kernel.restored: want 0 of a kernel that was compiled, got 1");
  FRL_LET(out.bytes, session.serialise(*kernel));
  if (out.bytes.empty())
    return Status(Code::not_claimed, "serialise: this kernel is not worth saving");
  return out;
}

Outcome good(Session& session, const Specimen&) {
  uint64_t judged = 0;
  for (const Specimen& each : raw::specimens(session)) {
    const auto kept = saved(session, each);
    if (kept.status().code() == Code::not_claimed) continue;
    FRL_CHECK(kept.status());
    for (bool restore_only : {true, false}) {
      FRL_HAVE(const auto kernel,
               session.compile(kept.value().block,
                               {.cached = kept.value().bytes, .restore_only = restore_only}));
      if (!kernel->restored)
        return fail(cat(each.name, ": kernel.restored: want 1 from good bytes, got 0"));
      FRL_HAVE(auto queue, session.open_queue());
      FRL_HAVE(auto job, Job::make(session, *queue, each.graph, {.kernel = kernel.get()}));
      FRL_HAVE(const auto got, job->run(each.inputs));
      if (const std::string wrong = raw::differs(each, got); !wrong.empty())
        return fail(cat("a restored kernel: ", wrong));
      FRL_HAVE(const Blob again, session.serialise(*kernel));
      FRL_CHECK(session.compile(kept.value().block, {.cached = again, .restore_only = true}));
    }
    ++judged;
  }
  return judged ? pass(judged)
                : Outcome{Verdict::not_claimed,
                          "serialise: no kernel of the suite's specimens is worth saving"};
}

// Bytes of each specimen offered to each other one.
Outcome other_region(Session& session, const Specimen&) {
  std::vector<Saved> all;
  for (int64_t rows : {6, 7})
    for (const Specimen& each : raw::specimens(session, rows)) {
      auto kept = saved(session, each);
      if (kept.status().code() == Code::not_claimed) continue;
      FRL_CHECK(kept.status());
      all.push_back(std::move(*kept));
    }
  uint64_t judged = 0;
  for (const Saved& mine : all)
    for (const Saved& other : all) {
      if (&mine == &other) continue;
      const auto kernel =
          session.compile(mine.block, {.cached = other.bytes, .restore_only = true});
      if (kernel.ok())
        return fail("compile: want foreign for bytes of another region, got a kernel");
      if (kernel.status().code() != Code::foreign)
        return fail(cat("compile: want foreign for bytes of another region, got ",
                        kernel.status().message()));
      FRL_HAVE(const auto anew, session.compile(mine.block, {.cached = other.bytes}));
      if (anew->restored)
        return fail("kernel.restored: want 0 beside bytes of another region, got 1");
      ++judged;
    }
  return judged ? pass(judged)
                : Outcome{Verdict::not_claimed,
                          "fewer than two kernels of the suite's specimens are saved"};
}

// The device's fingerprint inside the bytes, where it can be found, made another one: an older
// driver's.
Outcome other_fingerprint(Session& session, const Specimen& specimen) {
  FRL_HAVE(Saved kept, saved(session, specimen));
  const uint64_t fingerprint = session.row().fingerprint;
  bool found = false;
  for (size_t at = 0; at + 8 <= kept.bytes.size(); ++at) {
    if (std::memcmp(kept.bytes.data() + at, &fingerprint, 8) != 0) continue;
    const uint64_t other = fingerprint + 1;
    std::memcpy(kept.bytes.data() + at, &other, 8);
    found = true;
    break;
  }
  if (!found)
    return {Verdict::not_claimed, "the saved bytes do not hold the device's fingerprint as a word"};
  const auto kernel = session.compile(kept.block, {.cached = kept.bytes, .restore_only = true});
  if (kernel.ok())
    return fail("compile: want stale or foreign for bytes of another fingerprint, got a kernel");
  if (kernel.status().code() != Code::stale && kernel.status().code() != Code::foreign)
    return fail(cat("compile: want stale or foreign for bytes of another fingerprint, got ",
                    kernel.status().message()));
  FRL_HAVE(const auto anew, session.compile(kept.block, {.cached = kept.bytes}));
  return anew->restored ? fail("kernel.restored: want 0 beside bytes of another fingerprint, got 1")
                        : pass(2);
}

// ---- how serialise fills memory ----
Outcome too_little_room(Session& session, const Specimen& specimen) {
  FRL_HAVE(const Saved kept, saved(session, specimen));
  FRL_HAVE(const auto kernel, session.compile(kept.block));
  for (uint64_t capacity :
       {uint64_t{1}, uint64_t(kept.bytes.size() / 2), uint64_t(kept.bytes.size() - 1)}) {
    Blob room(kept.bytes.size() + 64, std::byte{0xC7});
    raw::Error error;
    uint64_t bytes = 0;
    const int32_t code =
        session.table().serialise(kernel.get(), room.data(), capacity, &bytes, &error.value);
    if (code != FRL_NO_MEMORY)
      return fail(cat("serialise: want no_memory for ", capacity, " of ", kept.bytes.size(),
                      " bytes, got code ", code));
    if (const std::string broken = error.fault(code); !broken.empty())
      return fail(cat("serialise: ", broken));
    if (bytes < kept.bytes.size())
      return fail(cat("serialise: want what it takes, ", kept.bytes.size(),
                      " bytes, also when that is more, got ", bytes));
    for (size_t i = capacity; i < room.size(); ++i)
      if (room[i] != std::byte{0xC7})
        return fail(cat("serialise: want at most ", capacity, " bytes written, byte ", i, " was"));
  }
  return pass(3);
}

// ---- other processes ----
class File {
 public:
  explicit File(const char* name)
      : path_((std::filesystem::temp_directory_path() / cat("ferrule_", ::getpid(), "_", name))
                  .string()) {}
  ~File() {
    std::error_code code;
    std::filesystem::remove(path_, code);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Result<std::string> errand(const char* name, const Target& target, const std::string& path) {
  FRL_LET(const raw::Ended ended, raw::run_errand(name, {target.path, cat(target.device), path}));
  if (ended.rc != 0)
    return Status(Code::internal,
                  cat(name, " in another process: ", ended.how(), ": ", ended.report));
  return ended.report;
}

bool saves(const Target& target) { return target.driver->table().serialise != nullptr; }
Outcome saves_nothing() { return {Verdict::not_claimed, "serialise: the plugin has no such slot"}; }

// Saved by one process, restored by two others at once.
Outcome other_process(const Target& target) {
  if (!saves(target)) return saves_nothing();
  const File file("saved");
  FRL_HAVE(const std::string size, errand(raw::kSave, target, file.path()));
  if (size == "0") return {Verdict::not_claimed, "serialise: this kernel is not worth saving"};
  std::string reports[2];
  std::vector<std::thread> threads;
  for (std::string& report : reports)
    threads.emplace_back([&] {
      const auto got = errand(raw::kRestore, target, file.path());
      report = got.ok() ? *got : got.status().message();
    });
  for (std::thread& t : threads) t.join();
  for (const std::string& report : reports)
    if (report != "restored")
      return fail(cat("kernel bytes of another process: want them restored, got ", report));
  return pass(2);
}

Outcome cut_file(const Target& target) {
  if (!saves(target)) return saves_nothing();
  const File file("cut");
  FRL_HAVE(const std::string size, errand(raw::kSave, target, file.path()));
  if (size == "0") return {Verdict::not_claimed, "serialise: this kernel is not worth saving"};
  const auto whole = uint64_t(parse_int(size).value_or(0));
  for (uint64_t keep : {uint64_t{0}, uint64_t{1}, whole / 2, whole - 1}) {
    std::error_code code;
    std::filesystem::resize_file(file.path(), whole, code);
    FRL_CHECK(errand(raw::kSave, target, file.path()));
    std::filesystem::resize_file(file.path(), keep, code);
    FRL_HAVE(const std::string report, errand(raw::kRestore, target, file.path()));
    if (report != code_name(Code::foreign) && report != code_name(Code::stale))
      return fail(cat("a file cut to ", keep, " of ", whole, " bytes: want foreign or stale, got ",
                      report));
  }
  return pass(4);
}

void add(std::vector<Case>& cases, const char* name, Outcome (*check)(Session&, const Specimen&)) {
  cases.push_back({name, [check](const Target& t) {
                     return saves(t) ? raw::with_specimen(t, check) : saves_nothing();
                   }});
}

}  // namespace

void list_cache(const Target&, std::vector<Case>& cases) {
  add(cases, "T/restore/good", good);
  add(cases, "T/restore/other_region", other_region);
  add(cases, "T/restore/other_fingerprint", other_fingerprint);
  add(cases, "T/serialise/too_little_room", too_little_room);
  cases.push_back({"T/restore/other_process", other_process});
  cases.push_back({"T/restore/cut_file", cut_file});
}

}  // namespace ferrule::conformance
