// verify: a report against itself, against this suite, and against a plugin's file. Offline.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>

#include "conformance/report/reports.h"
#include "conformance/report/sha256.h"
#include "conformance/runner/judgement.h"
#include "conformance/runner/program.h"
#include "conformance/runner/suite_data.h"
#include "conformance/runner/verify.h"
#include "core/base/bytes.h"
#include "core/base/text.h"
#include "tools/options/printable.h"

namespace ferrule::conformance {
namespace {

namespace fs = std::filesystem;
using Faults = std::vector<std::string>;

constexpr uintmax_t kMostReportBytes = 256 << 20;
constexpr size_t kMostFaults = 50, kMostFaultBytes = 1000;  // of the console

void same(Faults& faults, const char* what, const std::string& want, const std::string& got) {
  if (want != got)
    faults.push_back(cat(what, ": want ", want.empty() ? "nothing" : want, ", got ",
                         got.empty() ? "nothing" : got));
}

// By name: which part of the suite is another.
void check_suite(const Facts& facts, const SuiteData& suite, Faults& faults) {
  std::map<std::string, std::string> want, got;
  const auto spread = [](const std::vector<std::string>& parts, auto& into) {
    for (const std::string& part : parts)
      into[part.substr(0, part.rfind(' '))] = part.substr(part.rfind(' ') + 1);
  };
  spread(suite.parts, want), spread(facts.suite_parts, got);
  for (const auto& [name, hash] : got) want.try_emplace(name);
  for (const auto& [name, hash] : want) same(faults, cat("suite: ", name).c_str(), hash, got[name]);
  same(faults, "suite hash", hash_of(facts.suite_parts), facts.suite_hash);
}

// Each listed case has one end, and no other case has any.
void check_complete(const Read& read, Faults& faults) {
  std::map<std::string, int> ends;
  for (const std::string& name : read.ends) ++ends[name];
  for (const std::string& name : read.report.listed) {
    const int n = ends.count(name) ? ends[name] : 0;
    if (n != 1) faults.push_back(cat("case ", name, ": want one end, got ", n));
    ends.erase(name);
  }
  for (const auto& [name, n] : ends)
    faults.push_back(cat("case ", name, ": it ended and was never listed"));
  auto listed = read.report.listed;
  std::sort(listed.begin(), listed.end());
  if (std::adjacent_find(listed.begin(), listed.end()) != listed.end())
    faults.push_back("list: a case is listed twice");
}

// Each waived case has a waiver that holds on the day of the run.
void check_waived(const Report& report, const SuiteData& suite, Faults& faults) {
  std::vector<std::string> notes;
  const auto waivers = waivers_for(suite.waivers, report.facts, notes);
  for (const Record& record : report.records) {
    if (record.verdict == Verdict::waived && !find_waiver(waivers, record.name))
      faults.push_back(
          cat("case ", record.name, ": it is waived, and no waiver of the suite covers it"));
    if (record.verdict == Verdict::pass && record.judged == 0)
      faults.push_back(cat("case ", record.name, ": it passes and judged nothing"));
  }
}

void check_judgement(const Report& report, const SuiteData& suite, std::span<const Family> families,
                     Faults& faults) {
  const Judgement want = judge_run(report, suite.profiles, families);
  const Judgement& got = report.judgement;
  same(faults, "badge", want.badge, got.badge);
  same(faults, "level", std::to_string(want.level), std::to_string(got.level));
  same(faults, "fine", want.fine ? "true" : "false", got.fine ? "true" : "false");
  same(faults, "profiles", join(want.profiles), join(got.profiles));
  same(faults, "reasons", join(want.reasons, "; "), join(got.reasons, "; "));
  if (want.counts != got.counts) faults.push_back("counts: they are not those of the verdicts");
  same(faults, "must-pass hash",
       sha256(must_pass_list(suite.profiles, report.facts.profile, families)),
       report.facts.must_pass_hash);
}

// Of a regular file that is no larger than any report.
Result<std::string> text_of(const std::string& path) {
  std::error_code code;
  if (fs::is_directory(path, code) || (fs::exists(path, code) && !fs::is_regular_file(path, code)))
    return Status(Code::invalid_argument, cat(path, ": want a file"));
  const auto size_bytes = fs::file_size(path, code);
  if (!code && size_bytes > kMostReportBytes)
    return Status(Code::invalid_argument,
                  cat(path, ": want at most ", kMostReportBytes >> 20, " MiB, got ",
                      size_bytes >> 20));
  FRL_LET(const MappedFile file, MappedFile::open(path));
  const Bytes bytes = file.bytes();
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

// A report is a stranger's: shown, not obeyed, and no more of it than a person reads.
void print_faults(const Faults& faults) {
  for (size_t i = 0; i < faults.size() && i < kMostFaults; ++i)
    std::printf("  - %s\n", cli::printable(faults[i].substr(0, kMostFaultBytes), false).c_str());
  if (faults.size() > kMostFaults) std::printf("  +%zu more\n", faults.size() - kMostFaults);
}

bool earned(const Judgement& judgement) { return judgement.fine && !judgement.badge.empty(); }

std::string genuine_text(const Report& report) {
  const Facts& facts = report.facts;
  const Judgement& j = report.judgement;
  std::string out = cat(facts.plugin_id, " ", facts.plugin_version, " on ", facts.device, ": ",
                        j.badge.empty() ? "no badge" : j.badge, "\nplugin ", facts.plugin_hash,
                        "\ngenuine: ", report.listed.size(),
                        " cases, each with its end; hashes, counts and badge hold\n");
  if (earned(j)) return out + "the run earned its badge\n";
  out += j.fine ? "the run passed and earns no badge:\n" : "the run FAILED:\n";
  for (size_t i = 0; i < j.reasons.size() && i < kMostFaults; ++i)
    out += cat("  - ", j.reasons[i].substr(0, kMostFaultBytes), "\n");
  return out;
}

}  // namespace

Faults faults_of(const Read& read, const SuiteData& suite, std::span<const Family> families) {
  if (read.report.facts.suite_version.empty())
    return {"report: want what was judged, got no facts"};
  if (read.hash.empty())
    return {cat("report: it has no end; it was cut short after ", read.ends.size(), " of ",
                read.report.listed.size(), " cases")};
  Faults faults;
  check_suite(read.report.facts, suite, faults);
  // Another suite would judge it otherwise.
  if (!faults.empty()) return faults;
  same(faults, "hash of the lines", sha256(read.head), read.hash);
  check_complete(read, faults);
  check_waived(read.report, suite, faults);
  check_judgement(read.report, suite, families, faults);
  return faults;
}

int verify_command(std::span<const Family> families, const Options& options) {
  std::error_code code;
  const bool is_folder = fs::is_directory(options.subject, code);
  const std::string file = is_folder ? options.subject + "/report.jsonl" : options.subject;
  const auto text = text_of(file);
  if (!text.ok()) return complain(cat("report: ", text.status().message()));
  const auto read = parse_report(*text);
  if (!read.ok()) return complain(cat("report: ", file, ": ", read.status().message()));
  const auto suite = read_suite_data(data_folder(), families);
  if (!suite.ok()) return complain(suite.status().message());
  Faults faults = faults_of(*read, *suite, families);
  // The other files follow from this one, byte for byte.
  if (is_folder && faults.empty())
    for (const ReportFile& other : report_files(read->report, families)) {
      const auto there = text_of(cat(options.subject, "/", other.name));
      if (!there.ok() || *there != other.text)
        faults.push_back(cat(other.name, ": it is not the one that belongs to report.jsonl"));
    }
  const Facts& facts = read->report.facts;
  if (!options.plugin.empty())
    same(faults, "plugin hash", sha256_of_file(options.plugin), facts.plugin_hash);
  print_faults(faults);
  if (!faults.empty()) return std::printf("NOT a genuine report\n"), kBadUsage;
  std::fputs(cli::printable(genuine_text(read->report), true).c_str(), stdout);
  return earned(read->report.judgement) ? kFine : kJudgedBad;
}

}  // namespace ferrule::conformance
