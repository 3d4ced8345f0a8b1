// junit.xml: one test suite for each family, as CI systems read it.
#include "conformance/report/console.h"
#include "conformance/report/markup.h"
#include "conformance/report/reports.h"
#include "core/base/text.h"

namespace ferrule::conformance {
namespace {

// What the format has: nothing for a pass, else one of three elements.
const char* element_of(const Record& record, int level) {
  if (record.verdict == Verdict::not_claimed || record.verdict == Verdict::waived ||
      record.verdict == Verdict::xfail)
    return "skipped";
  if (record.verdict == Verdict::pass || allowed(record.verdict, level)) return nullptr;
  return record.verdict == Verdict::fail || record.verdict == Verdict::quality_warning ||
                 record.verdict == Verdict::xpass
             ? "failure"
             : "error";
}

struct Tally {
  size_t n = 0, failures = 0, errors = 0, skipped = 0;
  double seconds = 0;
  void add(const Record& record, int level) {
    const std::string element = element_of(record, level) ? element_of(record, level) : "";
    ++n, seconds += record.seconds;
    failures += element == "failure", errors += element == "error", skipped += element == "skipped";
  }
  std::string attributes() const {
    return cat(" tests=\"", n, "\" failures=\"", failures, "\" errors=\"", errors, "\" skipped=\"",
               skipped, "\" time=\"", fixed(seconds, 3), "\"");
  }
};

std::string case_of(const Record& record, const Family& family, const std::string& tail) {
  std::string out = cat("    <testcase classname=\"", family.name, "\" name=\"",
                        escaped(record.name), "\" time=\"", fixed(record.seconds, 3), "\"");
  const char* element = element_of(record, family.level);
  if (!element && record.text.empty()) return out + "/>\n";
  out += ">";
  if (element) {
    out += cat("<", element, " message=\"", escaped(record.text), "\"");
    if (std::string(element) != "skipped")
      out +=
          cat(" type=\"", verdict_name(record.verdict), "\">",
              escaped(cat(record.text, "\n", replay_line(record.name, tail))), "</", element, ">");
    else
      out += "/>";
  }
  if (!record.output.empty()) out += cat("<system-err>", escaped(record.output), "</system-err>");
  return out + "</testcase>\n";
}

std::string property(const char* name, const std::string& value) {
  return cat("    <property name=\"", name, "\" value=\"", escaped(value), "\"/>\n");
}

std::string properties(const Report& report) {
  const Facts& f = report.facts;
  return cat("   <properties>\n", property("plugin", cat(f.plugin_id, " ", f.plugin_version)),
             property("device", f.device), property("badge", report.judgement.badge),
             property("plugin_hash", f.plugin_hash), property("claims_hash", f.claims_hash),
             property("must_pass_hash", f.must_pass_hash), property("suite_hash", f.suite_hash),
             property("suite_version", f.suite_version), property("depth", f.depth),
             property("seed", std::to_string(f.seed)), property("command", f.command),
             property("host", f.host), property("date", f.date), "   </properties>\n");
}

// What is about the run as a whole, as cases of a suite of its own.
std::string whole_run(const Report& report) {
  const Judgement& j = report.judgement;
  std::string text = join(j.reasons, "\n");
  const size_t failed = j.fine ? 0 : 1;
  return cat("  <testsuite name=\"run\" tests=\"1\" failures=\"", failed,
             "\" errors=\"0\" skipped=\"0\">\n", properties(report),
             "    <testcase classname=\"run\" name=\"",
             escaped(j.badge.empty() ? "no badge" : j.badge), "\">",
             failed ? cat("<failure message=\"", escaped(j.reasons.empty() ? "" : j.reasons[0]),
                          "\">", escaped(text), "</failure>")
                    : "",
             "</testcase>\n  </testsuite>\n");
}

}  // namespace

std::string to_junit(const Report& report, std::span<const Family> families) {
  const std::string tail = replay_tail(report.facts);
  Tally all;
  std::string suites = whole_run(report);
  for (const Family& family : families) {
    Tally tally;
    std::string cases;
    for (const Record& record : report.records) {
      if (record.name.empty() || record.name[0] != family.id) continue;
      tally.add(record, family.level), all.add(record, family.level);
      cases += case_of(record, family, tail);
    }
    if (tally.n)
      suites += cat("  <testsuite name=\"", family.name, "\"", tally.attributes(), ">\n", cases,
                    "  </testsuite>\n");
  }
  ++all.n, all.failures += !report.judgement.fine;
  return cat("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"ferrule-conformance\"",
             all.attributes(), ">\n", suites, "</testsuites>\n");
}

}  // namespace ferrule::conformance
