#include "conformance/report/console.h"

#include <cstdio>

#include "core/base/text.h"
#include "tools/options/printable.h"

namespace ferrule::conformance {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::seconds;

constexpr seconds kTerminalPatience{1}, kStderrPatience{5};

const Family* family_of(char id, std::span<const Family> families) {
  for (const Family& family : families)
    if (family.id == id) return &family;
  return nullptr;
}

void say(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

// What a plugin or a report says is shown, not obeyed.
void say_text(const std::string& text) { say(cli::printable(text, true)); }

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

std::string likeness(const Record& record) {
  std::string out = cat(verdict_name(record.verdict), "  ");
  // What an element was made from is another each time.
  const std::string text =
      record.text.substr(0, std::min<size_t>(200, record.text.find(", operands ")));
  const auto is_digit = [&](size_t i) {
    return i < text.size() && text[i] >= '0' && text[i] <= '9';
  };
  bool number = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool is = is_digit(i) || (c == '-' && is_digit(i + 1)) ||
                    (number && (c == '.' || c == 'e' || c == '-' || c == '+'));
    if (is && !number) out += '#';
    if (!is) out += c;
    number = is;
  }
  return out;
}

Console::Console(std::span<const Family> families, bool terminal)
    : families_(families),
      terminal_(terminal),
      waiting_(Clock::now()),
      watcher_([this] { watch(); }) {}

Console::~Console() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  ends_.notify_all();
  watcher_.join();
}

// The thread that says what a run waits for.
void Console::watch() {
  const seconds patience = terminal_ ? kTerminalPatience : kStderrPatience;
  std::unique_lock lock(mutex_);
  while (!ends_.wait_for(lock, patience, [&] { return over_; })) {
    const std::string text = waiting_.text(Clock::now(), patience);
    if (text.empty()) continue;
    if (terminal_)
      show(text);
    else
      std::fprintf(stderr, "%s\n", text.c_str());
  }
}

void Console::start(const Facts& facts, const std::vector<std::string>& cases,
                    std::string replay_tail) {
  const std::lock_guard lock(mutex_);
  replay_tail_ = std::move(replay_tail);
  clear();
  for (const std::string& name : cases) ++tallies_[name[0]].n;
  n_ = cases.size();
  say_text(cat(facts.plugin_file, "  ", facts.plugin_id, " ", facts.plugin_version, "  ",
               facts.device, facts.architecture.empty() ? "" : " ", facts.architecture, "\n", n_,
               " cases, depth ", facts.depth, ", seed ", facts.seed, "\n"));
  std::fflush(stdout);
}

void Console::clear() {
  if (shown_) say("\r\033[K");
  shown_ = false;
}

void Console::show(const std::string& text) {
  clear();
  say(cat("[", ended_, "/", n_, bad_ ? cat(", ", bad_, " bad") : std::string(), "] ",
          cli::printable(text.substr(0, 90), false)));
  std::fflush(stdout);
  shown_ = true;
}

void Console::begin(const std::string& name) {
  const std::lock_guard lock(mutex_);
  waiting_.begin(name, Clock::now());
  if (terminal_) show(name);
}

void Console::end(const Record& record) {
  const std::lock_guard lock(mutex_);
  waiting_.end(record.name, Clock::now());
  const Family* family = family_of(record.name[0], families_);
  const bool bad = !allowed(record.verdict, family ? family->level : 0);
  Tally& tally = tallies_[record.name[0]];
  ++tally.ended, ++ended_, tally.bad += bad, bad_ += bad, tally.judged += record.judged,
      tally.seconds += record.seconds;
  tally.not_claimed += record.verdict == Verdict::not_claimed;
  if (bad) print_failure(record);
  if (tally.ended == tally.n) {
    clear();
    print_more(record.name[0]);
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
  if (++tallies_[record.name[0]].alike[likeness(record)] > kMostAlike) return;
  clear();
  say_text(cat("  ", verdict_name(record.verdict), "  ", record.name, "\n", indented(record.text),
               indented(record.output), "      ", replay_line(record.name, replay_tail_), "\n"));
}

// What print_failure() kept to itself, once.
void Console::print_more(char family) {
  for (auto& [what, n] : tallies_[family].alike) {
    if (n > kMostAlike)
      say_text(cat("  +", n - kMostAlike, " more: ", what.substr(0, what.find('\n')), "\n"));
    n = 0;
  }
}

void Console::finish(const Report& report) {
  const std::lock_guard lock(mutex_);
  clear();
  for (const auto& [id, tally] : tallies_) print_more(id);
  for (const std::string& note : report.notes) say_text(cat("  note: ", note, "\n"));
  for (const std::string& note : report.judgement.reasons) say_text(cat("  - ", note, "\n"));
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
