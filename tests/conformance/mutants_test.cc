// Each mutant of the cpu plugin dies in the family that is there for its fault, by the mismatch
// that it plants; the wrapper without a fault lives through the very same cases.
#include <atomic>
#include <mutex>
#include <thread>

#include "tests/conformance/program.h"

namespace ferrule::conformance::test {
namespace {

struct Mutant {
  const char* name;
  const char* family;
  const char* glob;
  const char* fault;
};
constexpr Mutant kMutants[] = {
#define MUTANT(name, family, glob, doc) {#name, #family, glob, doc},
#include "tests/conformance/mutants/mutants.def"
#undef MUTANT
};
bool is_control(const Mutant& m) { return std::string_view(m.family) == "all"; }

// Families of numbers have one case for each op at depth smoke; of these a few at full depth are
// run.
const char* depth_of(const Mutant& m) {
  return std::string_view("EFGHINQ").find(*m.family) != std::string_view::npos ? "standard"
                                                                               : "smoke";
}

std::string command(const char* name, const Mutant& row) {
  return cat(FRL_BUILD_DIR "/mutants/mutant-", name, ".so --family ", row.family, " --case '",
             row.glob, "' --depth ", depth_of(row), " --jobs 1");
}

std::vector<Record> judged_once(const char* name, const Mutant& row) {
  const Folder folder;
  const Said said =
      run("ferrule-conformance", cat(command(name, row), " --report ", folder.at("report")));
  const auto read = parse_report(folder.read("report/report.jsonl"));
  if (!read.ok())
    return {{cat(row.family, "/"), Verdict::internal_error, cat("no report: ", said.text)}};
  return read->report.records;
}

// What could not be measured because the machine was busy is measured again.
std::vector<Record> judged(const char* name, const Mutant& row) {
  constexpr int kMostTries = 5;
  std::vector<Record> records;
  for (int i = 0; i < kMostTries; ++i) {
    records = judged_once(name, row);
    if (std::none_of(records.begin(), records.end(), [](const Record& r) {
          return r.verdict == Verdict::resource_error &&
                 r.text.find("the machine is busy") != std::string::npos;
        }))
      break;
  }
  return records;
}

// "" or why this is not the death that was meant.
std::string survives(const Mutant& m) {
  size_t killed = 0;
  for (const Record& record : judged(m.name, m)) {
    if (record.verdict == Verdict::fail)
      ++killed;
    else if (record.verdict != Verdict::pass && record.verdict != Verdict::not_claimed)
      return cat(record.name, ": ", verdict_name(record.verdict), ": ", record.text);
  }
  return killed ? "" : "every case passes";
}

// "" or the case in which a wrapper without a fault fails.
std::string control_fails(const char* control, const Mutant& m) {
  const std::vector<Record> records = judged(control, m);
  if (records.empty()) return "no case is run";
  for (const Record& record : records)
    if (record.verdict != Verdict::pass && record.verdict != Verdict::not_claimed)
      return cat(record.name, ": ", verdict_name(record.verdict), ": ", record.text);
  return "";
}

// Calls fn for 0 .. n - 1 on two threads.
void two_at_a_time(size_t n, const std::function<void(size_t)>& fn) {
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i; (i = next++) < n;) fn(i);
  };
  std::thread other(work);
  work();
  other.join();
}

TEST(Mutants, AllDieInTheRightFamily) {
  std::vector<const Mutant*> mutants;
  for (const Mutant& m : kMutants)
    if (!is_control(m)) mutants.push_back(&m);
  ASSERT_GE(mutants.size(), 30u);
  std::mutex mutex;
  size_t killed = 0;
  two_at_a_time(mutants.size(), [&](size_t i) {
    const std::string why = survives(*mutants[i]);
    const std::lock_guard lock(mutex);
    killed += why.empty();
    EXPECT_EQ(why, "") << mutants[i]->name << " (" << mutants[i]->fault << ") lives through "
                       << mutants[i]->glob << " of family " << mutants[i]->family;
  });
  std::printf("kill rate: %zu of %zu mutants\n", killed, mutants.size());
}

TEST(Mutants, TheWrapperAloneLives) {
  std::vector<const Mutant*> rows;  // one for each set of cases
  for (const Mutant& m : kMutants) {
    const auto same = [&](const Mutant* other) {
      return std::string_view(other->glob) == m.glob && std::string_view(other->family) == m.family;
    };
    if (!is_control(m) && std::none_of(rows.begin(), rows.end(), same)) rows.push_back(&m);
  }
  std::mutex mutex;
  two_at_a_time(rows.size(), [&](size_t i) {
    // Stepped queues cost time of their own, which is no matter of family R's.
    for (const char* control : {"none", "stepped"}) {
      if (*rows[i]->family == 'R' && std::string_view(control) == "stepped") continue;
      const std::string why = control_fails(control, *rows[i]);
      const std::lock_guard lock(mutex);
      EXPECT_EQ(why, "") << control << ", " << rows[i]->glob << " of family " << rows[i]->family;
    }
  });
}

// What an author has is the report: its text says what was wanted and what came, and the case alone
// shows it again.
TEST(Mutants, ReportIsEnoughToSeeTheFault) {
  size_t shown = 0;
  for (const Mutant& m : kMutants) {
    if (std::string_view(m.name) != "epsilon_ignored" &&
        std::string_view(m.name) != "early_signal" && std::string_view(m.name) != "overclaims_rank")
      continue;
    const std::vector<Record> records = judged(m.name, m);
    const auto first = std::find_if(records.begin(), records.end(),
                                    [](const Record& r) { return r.verdict == Verdict::fail; });
    ASSERT_NE(first, records.end()) << m.name;
    EXPECT_THAT(first->text, testing::HasSubstr("want")) << m.name;
    const Said again = run("ferrule-conformance",
                           cat("replay '", first->name, "' " FRL_BUILD_DIR "/mutants/mutant-",
                               m.name, ".so --depth ", depth_of(m)));
    EXPECT_EQ(again.code, 1) << again.text;
    EXPECT_THAT(again.text, testing::HasSubstr(first->text)) << m.name;
    ++shown;
  }
  EXPECT_EQ(shown, 3u);
}

TEST(Mutants, AClassIsTheBoundInEveryReport) {
  const auto row = std::find_if(std::begin(kMutants), std::end(kMutants), [](const Mutant& m) {
    return std::string_view(m.name) == "nan_dropped";
  });
  const Folder folder;
  const Said said =
      run("ferrule-conformance", cat(command(row->name, *row), " --report ", folder.at("report")));
  const char* text = "bound class exact: want NaN, got +0, operands 0[";
  EXPECT_THAT(said.text, testing::HasSubstr(text));
  for (const char* file : {"report.jsonl", "junit.xml", "report.html"})
    EXPECT_THAT(folder.read(cat("report/", file)), testing::HasSubstr(text)) << file;
  EXPECT_THAT(folder.read("report/report.html"), testing::HasSubstr("beyond an exact bound"));
}

}  // namespace
}  // namespace ferrule::conformance::test
