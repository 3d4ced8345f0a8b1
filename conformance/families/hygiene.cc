// P: the process that a plugin lives in stays as it was, and the file brings nothing but itself.
#include <algorithm>

#include "conformance/raw/check.h"
#include "conformance/raw/errands.h"
#include "conformance/raw/process.h"
#include "conformance/raw/state.h"
#include "conformance/suite/families.h"
#include "core/base/text.h"
#include "core/driver/library.h"

namespace ferrule::conformance {
namespace {

using raw::Session;

// Libraries of vendors' drivers: opened at run time by their plugins, never needed by their files,
// or the plugin would not load on a machine without them.
constexpr const char* kDrivers[] = {"libcuda.so", "libnvidia",   "libcudart",      "libnvrtc",
                                    "libcublas",  "libamdhip64", "libhsa-runtime", "libhiprtc",
                                    "libvulkan",  "libOpenCL",   "libze_loader",   "libGL",
                                    "libEGL",     "libtpu",      "Metal.framework"};

Outcome keeps(const Target& target, const char* aspect) {
  FRL_HAVE(const raw::Ended ended,
           raw::run_errand(raw::kKeepStill, {target.path, cat(target.device), aspect}));
  if (ended.rc == 0) return pass(1);
  return fail(ended.report.empty()
                  ? cat(aspect, ": the process that looked at it ended with ", ended.how())
                  : ended.report);
}

// The same walk; whatever went to stdout or stderr came from the plugin.
Outcome keeps_silent(const Target& target) {
  FRL_HAVE(
      const raw::Ended ended,
      raw::run_errand(raw::kKeepStill, {target.path, cat(target.device), raw::aspects()[0].name}));
  if (ended.signal || ended.timed_out)
    return fail(cat("output: the process that listened ended with ", ended.how()));
  return raw::outcome_of(
      ended.output.empty()
          ? ""
          : cat("output: want silence on stdout and stderr, got ", ended.output.substr(0, 200)));
}

Outcome exports_one(const Target& target) {
  FRL_HAVE(const std::vector<std::string> names, exported_symbols(target.path));
  for (const std::string& name : names)
    if (name != "frl_plugin_v1" && name != "_init" && name != "_fini")
      return fail(cat("exports: want frl_plugin_v1 alone, got ", name, " as well"));
  return names.empty() ? fail("exports: want frl_plugin_v1, got none") : pass(names.size());
}

Outcome needs_no_driver(const Target& target) {
  FRL_HAVE(const Inspection found, inspect_library(target.path));
  for (const std::string& library : found.needed)
    for (const char* driver : kDrivers)
      if (library.find(driver) != std::string::npos)
        return fail(
            cat("needed libraries: want vendors' drivers opened at run time, got ", library));
  return pass(found.needed.size() + 1);
}

// FP control of the thread that calls, after each call of a run; of the team's workers the host
// looks itself.
Outcome fp_control_per_call(Session& session, const raw::Specimen& specimen) {
  const uint64_t before = raw::fp_control();
  const auto changed = [&](const char* call) {
    return raw::fp_control() == before
               ? std::string()
               : cat(call, ": want FP control as it was, ", before, ", got ", raw::fp_control());
  };
  FRL_HAVE(const Block block, raw::block_of(specimen.graph, NodeId(0), session.row()));
  FRL_CHECK(session.refuse(block));
  std::string wrong = changed("refuse");
  FRL_HAVE(auto queue, session.open_queue());
  if (wrong.empty()) wrong = changed("open_queue");
  FRL_HAVE(auto job, raw::Job::make(session, *queue, specimen.graph));
  if (wrong.empty()) wrong = changed("compile or record");
  FRL_CHECK(job->upload(specimen.inputs));
  if (wrong.empty()) wrong = changed("submit of copies");
  FRL_CHECK(queue->finish(job->request()));
  if (wrong.empty()) wrong = changed("submit of a kernel");
  return raw::outcome_of(wrong, 5);
}

// Threads of the plugin's own are a vendor driver's, and declared.
Outcome no_threads(Session& session, const raw::Specimen& specimen) {
  if (session.row().flags & FRL_DEVICE_OWN_THREADS)
    return {Verdict::not_claimed, "the device declares threads of its driver's own"};
  const size_t before = raw::live_threads();
  FRL_CHECK(raw::runs_right(session, specimen));
  FRL_HAVE(auto queue, session.open_queue());
  const size_t after = raw::live_threads();
  return raw::outcome_of(after <= before
                             ? ""
                             : cat("threads: want those of the host's team alone, there were ",
                                   before, " and are ", after));
}

Outcome inline_means_inline(const Target& target) {
  return raw::with_specimen(target, [](Session& session, const raw::Specimen& specimen) {
    if (!session.is_inline()) return Outcome{Verdict::not_claimed, "the device is not inline"};
    FRL_HAVE(auto queue, session.open_queue());
    FRL_HAVE(auto job, raw::Job::make(session, *queue, specimen.graph));
    FRL_CHECK(job->upload(specimen.inputs));
    FRL_HAVE(const uint64_t signal, queue->submit(job->request()));
    const Status status = queue->wait(signal, 0);
    return raw::outcome_of(
        status.ok() ? ""
                    : cat("inline: want the queue at its value when submit returns, got ",
                          status.message()));
  });
}

}  // namespace

void list_hygiene(const Target&, std::vector<Case>& cases) {
  for (const raw::Aspect& aspect : raw::aspects())
    cases.push_back({cat("P/process/", aspect.name),
                     [&aspect](const Target& t) { return keeps(t, aspect.name); }});
  cases.push_back({"P/process/silence", keeps_silent});
  cases.push_back({"P/calls/fp_control",
                   [](const Target& t) { return raw::with_specimen(t, fp_control_per_call); }});
  cases.push_back(
      {"P/calls/no_threads", [](const Target& t) { return raw::with_specimen(t, no_threads); }});
  cases.push_back({"P/calls/inline", inline_means_inline});
  cases.push_back({"P/file/exports", exports_one});
  cases.push_back({"P/file/needs_no_driver", needs_no_driver});
}

}  // namespace ferrule::conformance
