#include "conformance/runner/batches.h"

#include <algorithm>

#include "core/base/text.h"

namespace ferrule::conformance {
namespace {

constexpr size_t kBatch = 4096;     // cases in one process: each lists its families anew
constexpr int kMostHangs = 8;       // in one family, then the rest of it is not run
constexpr int kMostHangsAgain = 2;  // of these are run again alone
constexpr int kMostConfirmed = 12;  // plain failures that are run again, in one family

bool is_bad(const Record& record) {
  return record.verdict != Verdict::pass && record.verdict != Verdict::not_claimed &&
         record.verdict != Verdict::quality_warning;
}

Verdict verdict_of(End end) {
  return end == End::timeout          ? Verdict::timeout
         : end == End::resource_error ? Verdict::resource_error
                                      : Verdict::crash;
}

}  // namespace

Batches::Batches(Job job, Limits limits, Watch watch)
    : job_(std::move(job)), limits_(limits), watch_(std::move(watch)) {}

Batches::Trial Batches::attempt(std::vector<std::string> cases, bool watched) const {
  Trial out;
  Job job = job_;
  job.list = false;
  job.cases = std::move(cases);
  std::string running;
  const ChildEnd end = run_child(job, limits_, [&](Line line) {
    if (line.kind == "begin") {
      running = line.text;
      if (watched && watch_.begin) watch_.begin(running);
    } else if (line.kind == "end" && line.text == running) {
      if (watched && !is_bad(line.record)) watch_.end(line.record);
      out.records.push_back(std::move(line.record));
      running.clear();
    }
  });
  if (end.end == End::answered) return out;
  const bool all = out.records.size() == job.cases.size();
  if (running.empty() && all) {
    out.problem = cat("after its last case, ", job.cases.back(), ": ", end.text);
    return out;
  }
  Record record;
  record.name = running.empty() ? job.cases[out.records.size()] : running;
  record.verdict = verdict_of(end.end);
  record.text = running.empty() ? cat("before the case began: ", end.text) : end.text;
  record.output = end.output;
  out.records.push_back(std::move(record));
  return out;
}

void Batches::run(const std::vector<std::string>& cases) {
  for (size_t at = 0; at < cases.size();) {
    if (hangs_[cases[at][0]] >= kMostHangs) {
      Record record;
      record.name = cases[at++], record.verdict = Verdict::timeout;
      record.text = cat("not run: ", kMostHangs, " cases of its family hung before it");
      watch_.end(record);
      continue;
    }
    const size_t n = std::min(kBatch, cases.size() - at);
    const std::vector<std::string> batch(cases.begin() + long(at), cases.begin() + long(at + n));
    Trial trial = attempt(batch, true);
    if (!trial.problem.empty()) problems_.push_back(trial.problem);
    for (size_t i = 0; i < trial.records.size(); ++i)
      if (is_bad(trial.records[i]))
        settle(std::move(trial.records[i]), {batch.begin(), batch.begin() + long(i)});
    at += trial.records.size();
  }
}

void Batches::settle(Record record, const std::vector<std::string>& before) {
  record = confirm(std::move(record), before);
  if (record.verdict == Verdict::timeout) ++hangs_[record.name[0]];
  watch_.end(record);
}

Record Batches::confirm(Record record, const std::vector<std::string>& before) {
  const bool ended_process = record.verdict == Verdict::crash ||
                             record.verdict == Verdict::timeout ||
                             record.verdict == Verdict::resource_error;
  if (before.empty() && !ended_process) return record;
  if (record.verdict == Verdict::timeout && hangs_[record.name[0]] >= kMostHangsAgain)
    return record;
  if (!ended_process && ++confirmed_[record.name[0]] > kMostConfirmed) return record;
  Trial alone = attempt({record.name}, false);
  if (alone.records.size() == 1 && is_bad(alone.records[0])) return std::move(alone.records[0]);
  if (before.empty()) {
    record.text = cat("not every time: ", record.text);
    return record;
  }
  const auto cause = fewest(record, before);
  if (cause.empty()) {
    record.text = cat("not every time; it passes alone: ", record.text);
    return record;
  }
  record.after = join(cause, " ");
  record.text =
      cat("only after ",
          cause.size() == 1 ? cause[0] : cat(cause.size(), " cases from ", cause[0], " on"), ": ",
          record.text);
  return record;
}

// The shortest run of cases right before it that brings it down, and of that its first alone if
// that is enough. Empty if none does.
std::vector<std::string> Batches::fewest(const Record& record,
                                         const std::vector<std::string>& before) const {
  const auto brings_down = [&](std::vector<std::string> cases) {
    cases.push_back(record.name);
    const Trial trial = attempt(std::move(cases), false);
    return !trial.records.empty() && trial.records.back().name == record.name &&
           is_bad(trial.records.back());
  };
  const auto from = [&](size_t first) {
    return std::vector<std::string>(before.begin() + long(first), before.end());
  };
  // Of a long list the last few first: most of what is left behind is found at once.
  size_t first = before.size();
  for (size_t last : {size_t(16), size_t(256), before.size()}) {
    if (first == 0) return {};
    first = before.size() - std::min(last, before.size());
    if (brings_down(from(first))) break;
    if (last == before.size()) return {};
  }
  size_t low = first, high = before.size();  // brings down from low on; not from high on
  while (high - low > 1) {
    const size_t middle = low + (high - low) / 2;
    (brings_down(from(middle)) ? low : high) = middle;
  }
  if (low + 1 < before.size() && brings_down({before[low]})) return {before[low]};
  return from(low);
}

}  // namespace ferrule::conformance
