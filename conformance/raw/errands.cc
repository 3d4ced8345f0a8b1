#include "conformance/raw/errands.h"

#include <stdlib.h>

#include <fstream>
#include <iterator>

#include "conformance/raw/job.h"
#include "conformance/raw/process.h"
#include "conformance/raw/state.h"
#include "conformance/raw/watch.h"
#include "core/base/text.h"

namespace ferrule::conformance::raw {
namespace {

using Words = std::span<const std::string>;
using Point = std::function<void(const char*)>;

Result<std::unique_ptr<Session>> open_session(Words words, const Point& at = {}) {
  if (words.size() < 2) return Status(Code::invalid_argument, "errand: want a path and a device");
  SessionOptions options;
  options.device = size_t(parse_int(words[1]).value_or(0)), options.at = at;
  return Session::open(words[0], std::move(options));
}

int failed(const Status& status, std::string& report) {
  report = status.message();
  return 1;
}

// Work of the specimen, point by point.
Status work(Session& session, const Specimen& specimen, const Point& at) {
  FRL_LET(auto queue, session.open_queue());
  at("queue_opened");
  {
    FRL_LET(const Block block, block_of(specimen.graph, NodeId(0), session.row()));
    FRL_LET(const auto kernel, session.compile(block));
    at("compiled");
    FRL_LET(auto job, Job::make(session, *queue, specimen.graph));
    at("recorded");
    FRL_TRY(job->upload(specimen.inputs));
    FRL_LET(const uint64_t signal, queue->submit(job->request()));
    at("submitted");
    FRL_TRY(queue->wait(signal));
    at("waited");
  }
  queue.reset();
  at("queue_closed");
  return {};
}

// A whole life from load to unload.
Status live(Words words, const Point& at) {
  FRL_LET(auto session, open_session(words, at));
  const auto first = specimen(*session);
  if (first.ok()) FRL_TRY(work(*session, *first, at));
  session->close();
  at("closed");
  FRL_TRY(session->quiesce());
  at("quiesced");
  if (!(session->table().flags & FRL_PLUGIN_CAN_UNLOAD)) return {};
  session->library().close();
  // The session's table is gone with the library; nothing is left in it to be given back.
  static_cast<void>(session.release());
  if (is_mapped(words[0]))
    return Status(Code::internal,
                  "unload: want the library gone from the process's maps, it is still there");
  at("unloaded");
  return {};
}

int exit_at(Words words, std::string& report) {
  if (words.size() < 3) return 64;
  const Status status = live(words, [&](const char* point) {
    if (words[2] != point) return;
    send_report("reached");
    std::exit(kOwnExitCode);
  });
  return status.ok() ? 0 : failed(status, report);
}

int watch_entry(Words words, std::string& report) {
  if (words.empty()) return 64;
  auto library = Library::load(words[0]);
  if (!library.ok()) return failed(library.status(), report);
  bool supported = false;
  const std::vector<std::string> calls = watched(
      [&] {
        Error good, bad;
        library->offer(0, FRL_MINOR, good);
        library->offer(FRL_MINOR + 1000, FRL_MINOR + 1001, bad);
      },
      &supported);
  if (!supported) return 2;
  report = join(calls);
  return calls.empty() ? 0 : 1;
}

int keep_still(Words words, std::string& report) {
  if (words.size() < 3) return 64;
  for (const Aspect& aspect : aspects()) {
    if (words[2] != aspect.name) continue;
    const std::string before = aspect.read();
    const auto look = [&](const char* point) {
      const std::string now = aspect.read();
      if (now != before && report.empty())
        report = cat(aspect.name, ": changed when ", point, ": was ", before, ", is ", now);
    };
    const Status status = live(words, look);
    if (!report.empty()) return 1;
    return status.ok() ? 0 : (failed(status, report), 2);
  }
  return 64;
}

int claims_hash(Words words, std::string& report) {
  const auto session = open_session(words);
  if (!session.ok()) return failed(session.status(), report);
  report = cat(rows_hash(**session));
  return 0;
}

Result<std::vector<std::byte>> serialised(Session& session) {
  FRL_LET(const Specimen first, specimen(session));
  FRL_LET(const Block block, block_of(first.graph, NodeId(0), session.row()));
  FRL_LET(const auto kernel, session.compile(block));
  return session.serialise(*kernel);
}

int save(Words words, std::string& report) {
  if (words.size() < 3) return 64;
  const auto session = open_session(words);
  if (!session.ok()) return failed(session.status(), report);
  const auto bytes = serialised(**session);
  if (!bytes.ok()) return failed(bytes.status(), report);
  std::ofstream(words[2], std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes->data()), std::streamsize(bytes->size()));
  report = cat(bytes->size());
  return 0;
}

int restore(Words words, std::string& report) {
  if (words.size() < 3) return 64;
  auto session = open_session(words);
  if (!session.ok()) return failed(session.status(), report);
  std::ifstream file(words[2], std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const Bytes cached(reinterpret_cast<const std::byte*>(text.data()), text.size());
  const auto first = specimen(**session);
  if (!first.ok()) return failed(first.status(), report);
  auto queue = (*session)->open_queue();
  if (!queue.ok()) return failed(queue.status(), report);
  auto job = Job::make(**session, **queue, first->graph,
                       {.compile = {.cached = cached, .restore_only = true}});
  if (!job.ok()) return report = code_name(job.status().code()), 0;
  const auto got = (*job)->run(first->inputs);
  if (!got.ok()) return failed(got.status(), report);
  report = differs(*first, *got);
  if (report.empty()) report = (*job)->kernels()[0]->restored ? "restored" : "anew";
  return 0;
}

constexpr Errand kErrands[] = {{kExitAt, exit_at},
                               {kWatchEntry, watch_entry},
                               {kKeepStill, keep_still},
                               {kClaimsHash, claims_hash},
                               {kSave, save},
                               {kRestore, restore}};

}  // namespace

std::span<const Errand> errands() { return kErrands; }

uint64_t rows_hash(const Session& session) {
  const DeviceRow& row = session.row();
  uint64_t h = row.claims_hash();
  for (const std::string& text : {row.name, row.architecture, row.driver, row.pci})
    h = hash_bytes(text.data(), text.size(), h);
  const Cost& c = row.cost;
  const uint64_t numbers[] = {row.fingerprint,
                              row.flags,
                              row.max_queues,
                              row.state,
                              c.dispatch_ps,
                              c.round_trip_ps,
                              c.memory_ps_per_kib,
                              c.to_device_ps_per_kib,
                              c.from_device_ps_per_kib,
                              c.readback_ps_per_kib,
                              c.host_thunk_ps,
                              c.minimum_gain_ps,
                              c.basis};
  h = hash_bytes(numbers, sizeof numbers, h);
  h = hash_bytes(row.uuid.data(), row.uuid.size(), h);
  h = hash_bytes(c.arithmetic.data(), c.arithmetic.size() * sizeof(frl_rate), h);
  return hash_bytes(row.spaces.data(), row.spaces.size() * sizeof(frl_space), h);
}

}  // namespace ferrule::conformance::raw
