#include "conformance/report/console.h"

#include <cstdio>

#include "core/base/text.h"

namespace ferrule::conformance {
namespace {

const Family* family_of(char id, std::span<const Family> families) {
  for (const Family& family : families)
    if (family.id == id) return &family;
  return nullptr;
}

void say(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

std::string indented(const std::string& text) {
  std::string out;
  for (const std::string& line : split(text, '\n'))
    if (!line.empty()) out += cat("      | ", line, "\n");
  return out;
}

std::string tenths(double seconds) { return number_text(double(int64_t(seconds * 10)) / 10); }

}  // namespace

std::string replay_line(const std::string& name, const std::string& tail) {
  return cat("ferrule-conformance replay '", name, "' ", tail);
}

std::string replay_tail(const Facts& f) {
  return cat("'", f.plugin_file, "' --device ", f.device_number < 0 ? 0 : f.device_number,
             " --seed ", f.seed, " --depth ", f.depth);
}

Console::Console(std::span<const Family> families, bool terminal, std::string replay_tail)
    : families_(families), terminal_(terminal), replay_tail_(std::move(replay_tail)) {}

void Console::start(const Facts& facts, const std::vector<std::string>& cases) {
  for (const std::string& name : cases) ++tallies_[name[0]].n;
  n_ = cases.size();
  say(cat(facts.plugin_file, "  ", facts.plugin_id, " ", facts.plugin_version, "  ", facts.device,
          facts.architecture.empty() ? "" : " ", facts.architecture, "\n", n_, " cases, depth ",
          facts.depth, ", seed ", facts.seed, "\n"));
  std::fflush(stdout);
}

void Console::clear() {
  if (shown_) say("\r\033[K");
  shown_ = false;
}

void Console::begin(const std::string& name) {
  if (!terminal_) return;
  const std::lock_guard lock(mutex_);
  clear();
  say(cat("[", ended_, "/", n_, bad_ ? cat(", ", bad_, " bad") : std::string(), "] ",
          name.substr(0, 90)));
  std::fflush(stdout);
  shown_ = true;
}

void Console::end(const Record& record) {
  const std::lock_guard lock(mutex_);
  const Family* family = family_of(record.name[0], families_);
  const bool bad = !allowed(record.verdict, family ? family->level : 0);
  Tally& tally = tallies_[record.name[0]];
  ++tally.ended, ++ended_, tally.bad += bad, bad_ += bad, tally.judged += record.judged,
      tally.seconds += record.seconds;
  tally.not_claimed += record.verdict == Verdict::not_claimed;
  if (bad) print_failure(record);
  if (tally.ended == tally.n) {
    clear();
    say(cat(std::string(1, record.name[0]), " ", family ? family->name : "?", ": ", tally.n,
            " cases, ", tally.bad, " bad, ", tally.not_claimed, " not claimed, ", tally.judged,
            " judged, ", tenths(tally.seconds), " s\n"));
  }
  std::fflush(stdout);
}

void Console::spoilt(const Record& record) {
  const std::lock_guard lock(mutex_);
  print_failure(record);
}

void Console::print_failure(const Record& record) {
  clear();
  say(cat("  ", verdict_name(record.verdict), "  ", record.name, "\n", indented(record.text),
          indented(record.output), "      ", replay_line(record.name, replay_tail_), "\n"));
}

void Console::finish(const Report& report) {
  clear();
  for (const std::string& note : report.notes) say(cat("  note: ", note, "\n"));
  for (const std::string& note : report.judgement.reasons) say(cat("  - ", note, "\n"));
  std::string counts;
  for (size_t i = 0; i < report.judgement.counts.size(); ++i)
    if (report.judgement.counts[i])
      counts += cat(counts.empty() ? "" : ", ", report.judgement.counts[i], " ",
                    verdict_name(Verdict(i)));
  say(cat(counts.empty() ? "no case" : counts, "\n",
          report.judgement.badge.empty() ? "no badge" : cat("badge: ", report.judgement.badge),
          report.judgement.fine ? "\nfine\n" : "\nFAILED\n"));
  std::fflush(stdout);
}

}  // namespace ferrule::conformance
