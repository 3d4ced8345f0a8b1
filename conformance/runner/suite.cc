// One run: list, select, run by batches, excuse, judge, report.
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <random>
#include <thread>

#include "conformance/report/console.h"
#include "conformance/report/reports.h"
#include "conformance/report/sha256.h"
#include "conformance/runner/batches.h"
#include "conformance/runner/judgement.h"
#include "conformance/runner/listing.h"
#include "conformance/runner/program.h"
#include "conformance/runner/suite_data.h"
#include "core/base/text.h"

namespace ferrule::conformance {
namespace {

namespace fs = std::filesystem;

constexpr int kTimedLevel = 5;      // its cases measure time, so nothing runs beside them
constexpr size_t kLeastShare = 64;  // cases that a thread takes at once

std::string date_of_today() {
  char text[32];
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::string machine() {
  utsname names{};
  ::uname(&names);
  std::ifstream cpu("/proc/cpuinfo");
  for (std::string line; std::getline(cpu, line);)
    if (line.rfind("model name", 0) == 0 && line.find(':') != std::string::npos)
      return cat(trim(line.substr(line.find(':') + 1)), ", ", available_processors(),
                 " processors, ", names.sysname, " ", names.release, " ", names.machine);
  return cat(names.sysname, " ", names.release, " ", names.machine, ", ", available_processors(),
             " processors");
}

// The parts of a run that outlive its steps.
struct Run {
  std::span<const Family> families;
  const Options& options;
  SuiteData data;
  Listing listing;
  Report report;
  std::vector<Waiver> waivers;
};

int level_of(const Run& run, const std::string& name) {
  for (const Family& family : run.families)
    if (family.id == name[0]) return family.level;
  return 0;
}

bool is_part(const Options& options) {
  return !options.families.empty() || !options.case_glob.empty();
}

// The job of the listing: families that can have none of the cases are left out.
Result<Job> listing_job(const Run& run) {
  const Options& options = run.options;
  Job job = job_of(run.families, options);
  if (!options.families.empty()) {
    FRL_LET(job.families, family_ids(run.families, options.families));
  }
  const std::string& glob = options.case_glob;
  std::erase_if(job.families, [&](char id) {
    return level_of(run, std::string(1, id)) > options.level ||
           (glob.size() > 1 && glob[1] == '/' && std::isalpha(glob[0]) && glob[0] != id);
  });
  return job;
}

Status select(Run& run) {
  const Options& options = run.options;
  Facts& facts = run.report.facts;
  if (!options.families.empty()) {
    FRL_LET(facts.families, family_ids(run.families, options.families));
  }
  facts.only = options.case_glob;
  for (const std::string& name : run.listing.cases) {
    if (level_of(run, name) > options.level) continue;
    if (!facts.families.empty() && facts.families.find(name[0]) == std::string::npos) continue;
    if (!facts.only.empty() && !glob_matches(facts.only, name)) continue;
    run.report.listed.push_back(name);
  }
  const bool could_list =
      run.listing.problems.empty() && facts.load_text.empty() && facts.device_text.empty();
  if (run.report.listed.empty() && could_list && is_part(options))
    return Status(Code::invalid_argument, nothing_selected(options, run.listing.cases));
  return {};
}

void fill_facts(Run& run, const std::string& command_line) {
  const Options& options = run.options;
  Facts& facts = run.report.facts;
  facts = run.listing.facts;
  facts.suite_version = kSuiteVersion;
  facts.suite_parts = run.data.parts, facts.suite_hash = hash_of(run.data.parts);
  facts.plugin_file = fs::path(options.plugin).filename().string();
  facts.plugin_hash = sha256_of_file(run.listing.job.plugin);
  facts.must_pass_hash = sha256(must_pass_list(run.data.profiles, options.profile, run.families));
  facts.profile = options.profile, facts.level = options.level, facts.seed = options.seed,
  facts.depth = options.depth;
  facts.waiver_file = options.waivers.empty() ? "" : fs::path(options.waivers).filename().string();
  facts.command = command_line, facts.host = machine(), facts.date = date_of_today();
}

// Shares of the list, run by several threads that each have processes of their own.
//   mixed  cases of several families may share a process
void run_shares(const Run& run, const std::vector<std::string>& cases, size_t n_threads, bool mixed,
                const Watch& watch, std::vector<std::string>& problems) {
  // As many shares of a family as there are threads: each process has to list it anew.
  std::map<char, size_t> sizes;
  for (const std::string& name : cases) ++sizes[mixed ? '*' : name[0]];
  std::vector<std::vector<std::string>> shares;
  for (const std::string& name : cases) {
    const size_t n = sizes[mixed ? '*' : name[0]];
    const size_t most = std::max(kLeastShare, (n + n_threads - 1) / n_threads);
    if (shares.empty() || shares.back().size() >= most ||
        (!mixed && shares.back()[0][0] != name[0]))
      shares.emplace_back();
    shares.back().push_back(name);
  }
  std::atomic<size_t> next{0};
  std::mutex mutex;
  const auto work = [&] {
    Batches batches(run.listing.job, run.options.limits, watch);
    for (size_t i; (i = next++) < shares.size();) batches.run(shares[i]);
    const std::lock_guard lock(mutex);
    problems.insert(problems.end(), batches.problems().begin(), batches.problems().end());
  };
  std::vector<std::thread> threads;
  for (size_t i = 1; i < std::min(n_threads, shares.size()); ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
}

// The records as they come, on the console and in a file that names the case that a crash of the
// machine itself would leave open.
class Sink {
 public:
  Sink(Run& run, Console& console, const std::string& folder) : run_(run), console_(console) {
    if (folder.empty()) return;
    file_.open(folder + "/report.jsonl", std::ios::binary | std::ios::trunc);
    file_ << line_of(run.report.facts) << '\n';
    for (const std::string& name : run.report.listed) file_ << line_of("case", name) << '\n';
    file_.flush();
  }
  Watch watch() {
    return {[this](const std::string& name) { begin(name); },
            [this](const Record& record) { end(record); }};
  }
  std::map<std::string, Record> records;

 private:
  void begin(const std::string& name) {
    const std::lock_guard lock(mutex_);
    if (file_.is_open()) file_ << line_of("begin", name) << std::endl;
    console_.begin(name);
  }
  void end(const Record& raw) {
    const Record record = excuse(raw, run_.waivers);
    const std::lock_guard lock(mutex_);
    if (file_.is_open()) file_ << line_of(record) << std::endl;
    console_.end(record);
    records[record.name] = record;
  }
  Run& run_;
  Console& console_;
  std::mutex mutex_;
  std::ofstream file_;
};

// Once more in another order: what a case leaves behind in its process shows in the others.
void run_shuffled(Run& run, Sink& sink, Console& console, size_t n_threads) {
  std::vector<std::string> passed;
  for (const auto& [name, record] : sink.records)
    if (record.verdict == Verdict::pass && level_of(run, name) < kTimedLevel)
      passed.push_back(name);
  std::mt19937_64 random(uint64_t(run.options.seed));
  std::shuffle(passed.begin(), passed.end(), random);
  std::mutex mutex;
  std::vector<Record> spoilt;
  const Watch watch{nullptr, [&](const Record& record) {
                      const std::lock_guard lock(mutex);
                      if (record.verdict != Verdict::pass) spoilt.push_back(record);
                    }};
  run_shares(run, passed, n_threads, true, watch, run.report.problems);
  for (Record& record : spoilt) {
    record.text = cat("in another order: ", record.text);
    sink.records[record.name] = record;
    console.spoilt(record);
  }
}

// With the path as it was given, for this terminal.
std::string replay_tail_of(Facts facts, const std::string& path) {
  facts.plugin_file = path;
  return replay_tail(facts);
}

void run_cases(Run& run, Console& console, const std::string& folder) {
  Sink sink(run, console, folder);
  std::vector<std::string> plain, timed;
  for (const std::string& name : run.report.listed)
    (level_of(run, name) == kTimedLevel ? timed : plain).push_back(name);
  const size_t n_threads = run.options.jobs > 0 ? size_t(run.options.jobs)
                                                : std::max<size_t>(1, available_processors() / 2);
  console.start(run.report.facts, run.report.listed,
                replay_tail_of(run.report.facts, run.options.plugin));
  run_shares(run, plain, n_threads, false, sink.watch(), run.report.problems);
  run_shares(run, timed, 1, false, sink.watch(), run.report.problems);
  if (run.options.depth == "deep") run_shuffled(run, sink, console, n_threads);
  for (const std::string& name : run.report.listed)
    run.report.records.push_back(sink.records[name]);
}

// Each pattern of a waiver has to match a case of the whole suite; what it is about may lie outside
// of this run.
void check_waivers(Run& run) {
  const bool whole =
      run.options.depth != "smoke" && run.options.level == kTimedLevel && !is_part(run.options);
  const auto idle = idle_patterns(run.waivers, run.report.listed);
  if (idle.empty() && !whole) return;
  std::vector<std::string> suite = run.listing.cases, bad;
  if (!whole) {
    Job job = job_of(run.families, run.options);
    job.depth = job.depth == "smoke" ? "standard" : job.depth;
    job.load = run.listing.job.load, job.load_text = run.listing.job.load_text;
    suite = list_cases(run.families, job, run.options.limits).cases;
  }
  for (std::string& text : bad_patterns(run.waivers, suite)) bad.push_back(std::move(text));
  run.report.problems.insert(run.report.problems.end(), bad.begin(), bad.end());
  const auto never = idle_patterns(run.waivers, suite);
  std::vector<std::string> elsewhere;
  for (const std::string& one : idle)
    if (std::find(never.begin(), never.end(), one) == never.end()) elsewhere.push_back(one);
  if (!elsewhere.empty())
    run.report.notes.push_back(cat("waivers not judged in this run: ", join(elsewhere)));
}

// Found before the plugin is loaded, not when an hour of results is to be written.
Status check_report_folder(const std::string& folder) {
  if (folder.empty()) return {};
  std::error_code code;
  fs::create_directories(folder, code);
  const std::string file = folder + "/report.jsonl";
  if (!code && !std::ofstream(file, std::ios::app)) code.assign(errno, std::generic_category());
  if (!code) return {};
  return Status(Code::invalid_argument,
                cat("--report: want a folder to write in, got ", folder, ": ", code.message()));
}

Status prepare(Run& run, const std::string& command_line) {
  FRL_LET(run.data, read_suite_data(data_folder(), run.families));
  FRL_TRY(run.data.profiles.check(run.options.profile));
  auto all = run.data.waivers;
  if (!run.options.waivers.empty()) {
    FRL_LET(const auto own, read_waivers(run.options.waivers, true).within("--waivers"));
    all.insert(all.begin(), own.begin(), own.end());
  }
  FRL_TRY(check_report_folder(run.options.report));
  FRL_LET(const Job job, listing_job(run));
  run.listing = list_cases(run.families, job, run.options.limits);
  fill_facts(run, command_line);
  run.report.problems = run.listing.problems;
  run.waivers = waivers_for(all, run.report.facts, run.report.notes);
  FRL_TRY(select(run));
  check_waivers(run);
  return {};
}

}  // namespace

int run_suite(std::span<const Family> families, const Options& options,
              const std::string& command_line) {
  Run run{families, options, {}, {}, {}, {}};
  Console console(families, ::isatty(1));
  if (Status status = prepare(run, command_line); !status.ok()) return complain(status.message());
  const Facts& facts = run.report.facts;
  run_cases(run, console, options.report);
  std::sort(run.report.problems.begin(), run.report.problems.end());
  run.report.problems.erase(std::unique(run.report.problems.begin(), run.report.problems.end()),
                            run.report.problems.end());
  run.report.judgement = judge_run(run.report, run.data.profiles, families);
  console.finish(run.report);
  if (!options.report.empty())
    if (Status status = write_reports(run.report, families, options.report); !status.ok())
      return complain(status.message());
  const bool failed = std::any_of(run.report.records.begin(), run.report.records.end(),
                                  [&](const Record& r) { return is_bad(r, families); });
  if (!facts.device_text.empty() && !failed && run.report.problems.empty()) return kNoDevice;
  return run.report.judgement.fine ? kFine : kJudgedBad;
}

}  // namespace ferrule::conformance
