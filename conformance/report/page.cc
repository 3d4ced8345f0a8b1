// report.html: one page that needs nothing else.
#include <algorithm>

#include "conformance/report/console.h"
#include "conformance/report/markup.h"
#include "conformance/report/page_style.h"
#include "conformance/report/page_tables.h"
#include "conformance/report/reports.h"
#include "core/base/text.h"

namespace ferrule::conformance {
namespace {

std::string row(const char* name, const std::string& value) {
  return value.empty() ? std::string() : cat("<dt>", name, "<dd>", escaped(value));
}
std::string hash_row(const char* name, const std::string& value) {
  return value.empty() ? std::string() : cat("<dt>", name, "<dd><code>", escaped(value), "</code>");
}

std::string header(const Report& report) {
  const Facts& f = report.facts;
  const Judgement& j = report.judgement;
  const std::string mark = j.badge.empty() ? "no badge" : j.badge;
  return cat("<header><div><h1>", escaped(f.plugin_id.empty() ? f.plugin_file : f.plugin_id),
             " <span class=soft>", escaped(f.plugin_version), "</span></h1><div class=sub>",
             escaped(cat(f.device, f.architecture.empty() ? "" : ", ", f.architecture,
                         f.driver.empty() ? "" : ", driver ", f.driver)),
             "</div></div><div class=\"mark ",
             j.badge.empty() ? (j.fine ? "none" : "bad") : (j.fine ? "good" : "warn"), "\">",
             escaped(mark), "</div></header>");
}

std::string facts_card(const Report& report) {
  const Facts& f = report.facts;
  return cat("<h2>What was judged</h2><div class=card><dl>", row("file", f.plugin_file),
             hash_row("plugin, SHA-256", f.plugin_hash), hash_row("claims", f.claims_hash),
             hash_row("must-pass list", f.must_pass_hash),
             hash_row("suite", cat(f.suite_version, " ", f.suite_hash)), row("depth", f.depth),
             row("seed", std::to_string(f.seed)), row("up to level", cat("L", f.level)),
             row("profile asked for", f.profile), row("families", f.families), row("cases", f.only),
             row("own waivers", f.waiver_file), row("host", f.host), row("date", f.date),
             hash_row("command", f.command), "</dl></div>");
}

std::string list(const char* title, const std::vector<std::string>& lines) {
  if (lines.empty()) return {};
  std::string out = cat("<h2>", title, "</h2><div class=card><ul>");
  for (const std::string& line : lines) out += cat("<li>", escaped(line));
  return out + "</ul></div>";
}

std::string counts(const Judgement& j) {
  std::string out;
  for (size_t i = 0; i < j.counts.size() && i <= size_t(Verdict::xpass); ++i)
    if (j.counts[i])
      out += cat(out.empty() ? "" : " \xC2\xB7 ", j.counts[i], " ", verdict_name(Verdict(i)));
  return cat("<p class=soft>", out, "</p>");
}

std::string faults(const Report& report, std::span<const Family> families) {
  const std::string tail = replay_tail(report.facts);
  std::string out;
  for (const Record& record : report.records) {
    const int level = level_of(record, families);
    if (allowed(record.verdict, level)) continue;
    out += cat("<div class=fault><p>", pill(record, level), " <code>", escaped(record.name),
               "</code></p><p>", escaped(record.text), "</p><pre>",
               escaped(replay_line(record.name, tail)), "</pre>");
    if (!record.output.empty())
      out += cat("<details><summary class=soft>what it printed last</summary><pre>",
                 escaped(record.output), "</pre></details>");
    out += "</div>";
  }
  return out.empty()
             ? std::string()
             : cat("<h2>What failed, and how to see it again</h2><div class=card>", out, "</div>");
}

}  // namespace

std::string to_html(const Report& report, std::span<const Family> families) {
  const std::string title =
      cat(report.facts.plugin_id, ": ",
          report.judgement.badge.empty() ? "no badge" : report.judgement.badge);
  return cat(
      "<!doctype html>\n<html lang=en><head><meta charset=utf-8><meta name=viewport "
      "content=\"width=device-width,initial-scale=1\"><title>",
      escaped(title), "</title><style>", kPageStyle, "</style></head><body><main>\n",
      header(report), counts(report.judgement), "\n",
      list("Why there is no better badge", report.judgement.reasons), list("Notes", report.notes),
      "\n", faults(report, families), "\n<h2>Families</h2>", family_table(report, families),
      "\n<h2>Ops and types</h2>", op_matrix(report, families),
      "\n<h2>Region kinds and families</h2>", kind_matrix(report, families),
      "\n<h2>Largest errors, as a share of their bound</h2>", worst_table(report), "\n",
      facts_card(report), "\n<h2>Every case</h2>", case_table(report, families),
      "\n</main><script>", kPageScript, "</script></body></html>\n");
}

}  // namespace ferrule::conformance
