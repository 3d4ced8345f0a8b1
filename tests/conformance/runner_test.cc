// Isolation: whatever a case does, it is that case's verdict, and the rest goes on.
#include "tests/conformance/program.h"

namespace ferrule::conformance::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Ran {
  Said said;
  Report report;
};

Ran run_fake(const std::string& arguments) {
  const Folder folder;
  Ran out;
  out.said = run("fake_suite", cat(kTemplate, " --case-timeout 5 --memory-limit 400 --report ",
                                   folder.at("report"), " ", arguments));
  out.report = report_in(folder);
  return out;
}

TEST(Isolation, EveryWayToDieIsTheVerdictOfItsCase) {
  const Ran ran = run_fake("--family F --jobs 2");
  EXPECT_EQ(ran.said.code, 1);
  const auto verdict = [&](const char* name) {
    return std::string(verdict_name(record_of(ran.report, cat("F/add/f32/", name)).verdict));
  };
  EXPECT_EQ(verdict("first"), "pass");
  EXPECT_EQ(verdict("crash"), "crash");
  EXPECT_EQ(verdict("exit"), "crash");
  EXPECT_EQ(verdict("abort"), "crash");
  EXPECT_EQ(verdict("hang"), "timeout");
  EXPECT_THAT(verdict("memory"), testing::AnyOf("crash", "resource_error"));
  EXPECT_EQ(verdict("caught"), "resource_error");
  EXPECT_EQ(verdict("orphan"), "crash");
  EXPECT_EQ(verdict("nothing"), "internal_error");
  EXPECT_EQ(verdict("throw"), "internal_error");
  EXPECT_EQ(verdict("last"), "pass");
  EXPECT_EQ(record_of(ran.report, "F/add/f64/refused").verdict, Verdict::not_claimed);
  EXPECT_EQ(ran.report.records.size(), ran.report.listed.size());
  EXPECT_EQ(ran.report.listed.size(), 12u);
}

TEST(Isolation, ACrashSaysHowAndWhatItPrinted) {
  const Ran ran = run_fake("--case F/add/f32/crash");
  const Record crash = record_of(ran.report, "F/add/f32/crash");
  EXPECT_THAT(crash.text, HasSubstr("signal 11"));
  EXPECT_THAT(crash.output, HasSubstr("about to touch nothing"));
  EXPECT_THAT(ran.said.text, AllOf(HasSubstr("about to touch nothing"),
                                   HasSubstr("replay 'F/add/f32/crash'"), HasSubstr("--seed 1")));
}

TEST(Isolation, ExitCodeZeroIsNoPass) {
  const Ran ran = run_fake("--case F/add/f32/exit");
  EXPECT_THAT(record_of(ran.report, "F/add/f32/exit").text, HasSubstr("exit code 0"));
  EXPECT_EQ(ran.said.code, 1);
}

TEST(Isolation, StateBetweenCasesNamesTheCaseThatLeftIt) {
  const Ran ran = run_fake("--family G");
  const Record trips = record_of(ran.report, "G/pointwise/trips");
  EXPECT_EQ(trips.verdict, Verdict::crash);
  EXPECT_EQ(trips.after, "G/pointwise/litters");
  EXPECT_THAT(trips.text, HasSubstr("only after G/pointwise/litters"));
  // It ran in a fresh process, after the crash: nothing was left there.
  EXPECT_EQ(record_of(ran.report, "G/pointwise/wrong").verdict, Verdict::pass);
}

TEST(Isolation, APlainFailureThatPassesAloneNamesItsCauseToo) {
  const Ran ran = run_fake("--case 'G/pointwise/[lw]*'");
  const Record wrong = record_of(ran.report, "G/pointwise/wrong");
  EXPECT_EQ(wrong.verdict, Verdict::fail);
  EXPECT_EQ(wrong.after, "G/pointwise/litters");
  EXPECT_THAT(wrong.text, HasSubstr("want 1, got 2"));
}

TEST(Isolation, AnotherOrderShowsStateToo) {
  EXPECT_EQ(record_of(run_fake("--family H").report, "H/order/trips").verdict, Verdict::pass);
  const Ran ran = run_fake("--family H --depth deep --seed 1");
  const Record trips = record_of(ran.report, "H/order/trips");
  EXPECT_EQ(trips.verdict, Verdict::fail);
  EXPECT_THAT(trips.text,
              AllOf(HasSubstr("in another order"), HasSubstr("only after H/order/litters")));
  EXPECT_EQ(ran.report.records.size(), 10u);
}

TEST(Isolation, AFamilyThatOnlyHangsIsGivenUp) {
  const Folder folder;
  run("fake_suite",
      cat(kTemplate, " --case-timeout 0.5 --family L --report ", folder.at("report")));
  const Report report = report_in(folder);
  ASSERT_EQ(report.records.size(), 12u);
  for (const Record& record : report.records) EXPECT_EQ(record.verdict, Verdict::timeout);
  EXPECT_THAT(report.records[0].text, HasSubstr("no answer within 0.5 s"));
  EXPECT_THAT(report.records[11].text, HasSubstr("not run"));
}

TEST(Isolation, ABadEndOfTheProcessIsAProblemOfTheRun) {
  const Ran ran = run_fake("--family C");
  EXPECT_EQ(record_of(ran.report, "C/exit/late").verdict, Verdict::pass);
  ASSERT_EQ(ran.report.problems.size(), 1u);
  EXPECT_THAT(ran.report.problems[0],
              AllOf(HasSubstr("after its last case, C/exit/late"), HasSubstr("signal 6")));
  EXPECT_EQ(ran.said.code, 1);
}

TEST(Isolation, AFamilyThatCannotListIsAProblemAndTheOthersRun) {
  const Ran ran = run_fake("--family A,D");
  EXPECT_THAT(ran.report.listed, ElementsAre("A/calm/one", "A/calm/two"));
  ASSERT_FALSE(ran.report.problems.empty());
  EXPECT_THAT(ran.report.problems[0], HasSubstr("family D: listing its cases"));
  EXPECT_EQ(ran.said.code, 1);
}

TEST(Runner, ExitCodes) {
  EXPECT_EQ(run("ferrule-conformance", "").code, 2);
  EXPECT_EQ(run("ferrule-conformance", "/no/such/file.so").code, 2);
  EXPECT_EQ(run("ferrule-conformance", cat(kTemplate, " --profile none")).code, 2);
  EXPECT_EQ(run("ferrule-conformance", cat(kTemplate, " --family 9")).code, 2);
  EXPECT_EQ(run("ferrule-conformance", cat(kTemplate, " --case F/no/such")).code, 2);
  EXPECT_EQ(run("ferrule-conformance", "--help").code, 0);
  const Said absent = run("ferrule-conformance", cat(kTemplate, " --device 7"));
  EXPECT_EQ(absent.code, 3) << absent.text;
  EXPECT_THAT(absent.text, HasSubstr("device: want one of 0 (template), got 7"));
}

TEST(Runner, WhatCannotBeALibraryIsBadUsage) {
  const Folder folder;
  const std::string text = folder.write("bad.so", "not a library");
  const std::pair<std::string, std::string> kCases[] = {
      {text, "want a shared library, got a file of another kind"},
      {"/tmp", "want a shared library, got a folder"},
      {"/dev/null", "want a shared library, got no file"},
      {"/no/such.so", "want a shared library, got no such file"}};
  for (const auto& [path, why] : kCases) {
    const Said said = run("ferrule-conformance", path);
    EXPECT_EQ(said.code, 2) << path;
    EXPECT_THAT(said.text, HasSubstr(why));
  }
}

TEST(Runner, OutputThatCannotBeWrittenIsSaid) {
  const Said said =
      run("ferrule-conformance", cat(kTemplate, " --level 0 --depth smoke >/dev/full"));
  EXPECT_EQ(said.code, 2);
}

TEST(Runner, ExplainAndReplayAreAboutOneCase) {
  const Said told = run("fake_suite", "explain F/add/f32/first");
  EXPECT_EQ(told.code, 0);
  EXPECT_THAT(told.text, AllOf(HasSubstr("Every way to die"), HasSubstr("f32")));
  const Said fine = run("fake_suite", cat("replay F/add/f32/first ", kTemplate));
  EXPECT_EQ(fine.code, 0);
  EXPECT_THAT(fine.text, AllOf(HasSubstr("verdict  pass"), HasSubstr("judged   10")));
  EXPECT_EQ(run("fake_suite", cat("replay F/add/f32/nothing ", kTemplate)).code, 1);
  EXPECT_EQ(run("fake_suite", cat("replay F/none ", kTemplate)).code, 2);
}

TEST(Runner, ExplainAndReplayShowTheRegionBeforeItRuns) {
  const Said crashed = run("fake_suite", cat("replay F/add/f32/crash ", kTemplate));
  EXPECT_THAT(crashed.text, AllOf(HasSubstr("its region"), HasSubstr("touch nothing")));
  const Said listed = run("ferrule-conformance", cat("list ", kTemplate, " --case 'F/softmax/*'"));
  const std::string name = listed.text.substr(0, listed.text.find('\n'));
  const Said told = run("ferrule-conformance", cat("explain ", name, " ", kTemplate));
  EXPECT_EQ(told.code, 0) << told.text;
  EXPECT_THAT(told.text, AllOf(HasSubstr("input f32["), HasSubstr("softmax"), HasSubstr("axis=-1"),
                               HasSubstr("return")));
}

constexpr const char* kWaivers = R"([[waiver]]
plugin = "org.ferrule.template"
device = "template"
cases = ["F/add/f32/crash", "G/pointwise/a", "F/none/*"]
reason = "known"
owner = "jane"
url = "https://example.com/1"
expires = 2999-12-31
)";

TEST(Runner, WaiversOfAPartialRunAreJudgedOrNamed) {
  const Folder folder;
  const std::string file = folder.write("w.toml", kWaivers);
  const Ran ran = run_fake(cat("--case F/add/f32/crash --waivers ", file));
  EXPECT_EQ(record_of(ran.report, "F/add/f32/crash").verdict, Verdict::xfail);
  EXPECT_THAT(ran.report.notes,
              ElementsAre("waivers not judged in this run: w.toml:1: G/pointwise/a"));
  EXPECT_THAT(ran.report.problems,
              testing::Contains("waiver w.toml:1: F/none/* matches no case of the suite"));
  EXPECT_EQ(ran.said.code, 1);
}

TEST(Runner, QualityWarningsCountAtTheirOwnLevelOnly) {
  EXPECT_EQ(run_fake("--case R/cost/slow").said.code, 1);
  const Ran lower = run_fake("--level 0 --family A");
  EXPECT_EQ(lower.said.code, 0) << lower.said.text;
  EXPECT_THAT(lower.report.problems, IsEmpty());  // C and D were not even listed
}

}  // namespace
}  // namespace ferrule::conformance::test
