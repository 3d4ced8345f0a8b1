// Reports: each format by its own rules, and verify against what people would try.
#include <regex>

#include "conformance/report/markup.h"
#include "conformance/report/reports.h"
#include "conformance/runner/suite_data.h"
#include "tests/conformance/program.h"

namespace ferrule::conformance::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Every element closed in order; the elements that HTML leaves open are named.
void expect_nested(const std::string& text, const std::set<std::string>& open) {
  std::vector<std::string> stack;
  const std::regex tag(R"(<(/?)([a-zA-Z][a-zA-Z0-9]*)((?:[^<>"']|"[^"]*"|'[^']*')*?)(/?)>)");
  for (std::sregex_iterator it(text.begin(), text.end(), tag), end; it != end; ++it) {
    const std::string name = (*it)[2];
    if ((*it)[4] == "/" || open.count(name)) continue;
    if ((*it)[1] != "/") {
      stack.push_back(name);
      continue;
    }
    ASSERT_FALSE(stack.empty()) << "</" << name << ">";
    ASSERT_EQ(stack.back(), name);
    stack.pop_back();
  }
  EXPECT_TRUE(stack.empty()) << stack.back();
}

std::string without(std::string text, const std::string& from, const std::string& to) {
  const size_t a = text.find(from), b = text.find(to, a);
  if (a != std::string::npos && b != std::string::npos) text.erase(a, b + to.size() - a);
  return text;
}

class Reports : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder = new Folder;
    said = run("fake_suite",
               cat(kTemplate, " --family A,F,G --case-timeout 5 --memory-limit 400 --report ",
                   folder->at("report")));
  }
  static void TearDownTestSuite() { delete folder; }
  static std::string file(const std::string& name) { return folder->read("report/" + name); }

  // A copy whose lines were edited and, if `rehash`, given a fitting hash: the honest fields stay.
  static Said verify_edited(const std::string& from, const std::string& to) {
    const Folder copy;
    std::string text = file("report.jsonl");
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    if (at != std::string::npos) text.replace(at, from.size(), to);
    return run("fake_suite", "verify " + copy.write("report.jsonl", text));
  }

  static Folder* folder;
  static Said said;
};
Folder* Reports::folder = nullptr;
Said Reports::said;

TEST_F(Reports, GenuineOnesOfFailedRunsSayBoth) {
  for (const std::string& plugin : {std::string(), cat(" --plugin ", kTemplate)}) {
    const Said said = run("fake_suite", cat("verify ", folder->at("report"), plugin));
    EXPECT_EQ(said.code, 1) << said.text;
    EXPECT_THAT(said.text, AllOf(HasSubstr("genuine: 23 cases"), HasSubstr("the run FAILED:\n  - "),
                                 HasSubstr("F/add/f32/crash")));
  }
}

TEST_F(Reports, ABadgeThatWasEarnedVerifies) {
  const Folder good;
  const Said ran = run("ferrule-conformance", cat(kTemplate,
                                                  " --profile pointwise-minimal --level 0 "
                                                  "--report ",
                                                  good.at("report")));
  ASSERT_EQ(ran.code, 0) << ran.text;
  const Said said =
      run("ferrule-conformance", cat("verify ", good.at("report"), " --plugin ", kTemplate));
  EXPECT_EQ(said.code, 0) << said.text;
  EXPECT_THAT(said.text,
              AllOf(HasSubstr("pointwise-minimal L0"), HasSubstr("the run earned its badge")));
}

TEST_F(Reports, APartThatPassesEarnsNoBadge) {
  const Folder part;
  ASSERT_EQ(run("fake_suite", cat(kTemplate, " --family A --report ", part.at("report"))).code, 0);
  const Said said = run("fake_suite", "verify " + part.at("report"));
  EXPECT_EQ(said.code, 1) << said.text;
  EXPECT_THAT(said.text, HasSubstr("the run passed and earns no badge:\n  - "));
}

TEST_F(Reports, OfAnotherPluginOrSuiteDoNotVerify) {
  EXPECT_EQ(run("fake_suite",
                cat("verify ", folder->at("report"), " --plugin " FRL_BUILD_DIR "/bin/fake_suite"))
                .code,
            2);
  const Said other = run("ferrule-conformance", "verify " + folder->at("report"));
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.text, HasSubstr("suite: families: want "));
}

// The suite is what it judges by, not the bytes of a program.
TEST_F(Reports, AnotherBuildOfTheSuiteVerifies) {
  const Folder other;
  fs::create_directories(other.at("bin"));
  fs::create_directories(other.at("share/ferrule"));
  fs::copy(FRL_TEST_DATA "/../conformance/data", other.at("share/ferrule/conformance"),
           fs::copy_options::recursive);
  fs::copy(FRL_BUILD_DIR "/bin/fake_suite", other.at("bin/fake_suite"));
  std::ofstream(other.at("bin/fake_suite"), std::ios::app | std::ios::binary) << "other bytes";
  const auto verify = [&] {
    return run_at(other.at("bin/fake_suite"), "verify " + folder->at("report"));
  };
  EXPECT_EQ(verify().code, 1) << verify().text;
  EXPECT_THAT(verify().text, HasSubstr("genuine"));
  std::ofstream(other.at("share/ferrule/conformance/golden.txt"), std::ios::app) << "# another\n";
  EXPECT_EQ(verify().code, 2);
  EXPECT_THAT(verify().text, HasSubstr("  - suite: data/golden.txt: want "));
}

TEST_F(Reports, ASuiteWithOtherCasesOrBoundsIsNamed) {
  Report report = report_in(*folder);
  for (const char* part : {"conformance/families ", "conformance/cases ", "conformance/judge ",
                           "core/op ", "plugin-api ", "data/profiles/profiles.toml "})
    EXPECT_THAT(report.facts.suite_parts, testing::Contains(testing::StartsWith(part)));
  for (std::string& part : report.facts.suite_parts)
    if (part.rfind("conformance/judge ", 0) == 0) part.back() ^= 1;
  report.facts.suite_hash = hash_of(report.facts.suite_parts);
  const Folder copy;
  const Said said =
      run("fake_suite", "verify " + copy.write("report.jsonl", to_json_lines(report)));
  EXPECT_EQ(said.code, 2);
  EXPECT_THAT(said.text, HasSubstr("  - suite: conformance/judge: want "));
  EXPECT_EQ(std::count(said.text.begin(), said.text.end(), '\n'), 2) << said.text;
}

TEST_F(Reports, EditedOnesDoNot) {
  EXPECT_EQ(verify_edited("\"verdict\":\"crash\"", "\"verdict\":\"pass\"").code, 2);
  EXPECT_EQ(verify_edited("{\"case\":\"F/add/f32/crash\"}\n", "").code, 2);
  EXPECT_EQ(verify_edited("\"badge\":\"\"", "\"badge\":\"full L5\"").code, 2);
  EXPECT_EQ(verify_edited("{\"case\"", "not json").code, 2);
}

TEST_F(Reports, EditedOnesWithAFittingHashDoNotEither) {
  const auto rebuilt = [&](void (*edit)(Report&)) {
    Report report = report_in(*folder);
    edit(report);
    const Folder copy;
    return run("fake_suite", "verify " + copy.write("report.jsonl", to_json_lines(report)));
  };
  const auto fails = [&](void (*edit)(Report&), const char* reason) {
    const Said said = rebuilt(edit);
    EXPECT_EQ(said.code, 2) << reason;
    EXPECT_THAT(said.text, HasSubstr(reason));
  };
  EXPECT_EQ(rebuilt([](Report&) {}).code, 1) << "genuine, and the run failed";
  fails([](Report& r) { r.records.pop_back(); }, "want one end, got 0");
  fails([](Report& r) { r.records.push_back(r.records[0]); }, "want one end, got 2");
  fails([](Report& r) { r.listed.erase(r.listed.begin()); }, "never listed");
  fails([](Report& r) { r.judgement.badge = "full L5"; }, "badge: want nothing, got full L5");
  fails([](Report& r) { r.judgement.fine = true; }, "fine");
  fails([](Report& r) { ++r.judgement.counts[0]; }, "counts");
  fails([](Report& r) { r.records[0].judged = 0; }, "judged nothing");
  fails([](Report& r) { r.records[3].verdict = Verdict::waived; }, "no waiver of the suite");
  fails([](Report& r) { r.facts.must_pass_hash[0] ^= 1; }, "must-pass hash");
  fails([](Report& r) { r.problems.push_back("something"); }, "reasons");
}

TEST_F(Reports, FilesThatDoNotBelongToTheLinesAreFound) {
  const Folder copy;
  std::filesystem::copy(folder->at("report"), copy.at("report"));
  std::ofstream(copy.at("report/badge.svg"), std::ios::app) << " ";
  const Said said = run("fake_suite", "verify " + copy.at("report"));
  EXPECT_EQ(said.code, 2);
  EXPECT_THAT(said.text, HasSubstr("badge.svg"));
}

TEST_F(Reports, LinesComeBackAsTheyWere) {
  const std::string text = file("report.jsonl");
  EXPECT_EQ(to_json_lines(report_in(*folder)), text);
}

TEST_F(Reports, EachIsBoundToPluginClaimsMustPassAndSuite) {
  const Facts facts = report_in(*folder).facts;
  for (const char* name : {"report.jsonl", "junit.xml", "report.html", "badge.svg"})
    for (const std::string& hash :
         {facts.plugin_hash, facts.claims_hash, facts.must_pass_hash, facts.suite_hash}) {
      ASSERT_GE(hash.size(), 16u);
      EXPECT_THAT(file(name), HasSubstr(hash)) << name;
    }
}

TEST_F(Reports, PageNeedsNothingElseAndIsWellNested) {
  const std::string page = file("report.html");
  EXPECT_THAT(page, Not(HasSubstr("src=")));
  EXPECT_THAT(page, Not(HasSubstr("url(")));
  EXPECT_THAT(page, Not(HasSubstr("@import")));
  EXPECT_THAT(page, Not(HasSubstr("<link")));
  EXPECT_THAT(page, HasSubstr("prefers-color-scheme:dark"));
  expect_nested(without(page, "<script>", "</script>"),
                {"meta", "li", "dt", "dd", "tr", "td", "th", "input", "option", "thead", "tbody",
                 "html", "head", "body"});
  // What was thrown is shown, not obeyed.
  EXPECT_THAT(page, HasSubstr("oh &lt;b&gt;&amp; \xEF\xBF\xBD"));
  EXPECT_THAT(page, Not(HasSubstr("oh <b>")));
}

TEST_F(Reports, PageHasEachFailureWithItsReplayLine) {
  const std::string page = file("report.html");
  for (const char* name : {"crash", "exit", "abort", "hang", "nothing", "throw"})
    EXPECT_THAT(page,
                HasSubstr(cat("ferrule-conformance replay &#39;F/add/f32/", name,
                              "&#39; &#39;template.so&#39; --device 0 --seed 1 --depth standard")));
  EXPECT_THAT(page, HasSubstr("about to touch nothing"));
}

TEST_F(Reports, JunitIsWellFormedAndCounts) {
  const std::string text = file("junit.xml");
  expect_nested(text, {});
  size_t failures = 0, errors = 0;
  for (size_t at = 0; (at = text.find("<failure ", at)) != std::string::npos; ++at) ++failures;
  for (size_t at = 0; (at = text.find("<error ", at)) != std::string::npos; ++at) ++errors;
  EXPECT_THAT(text,
              HasSubstr(cat("<testsuites name=\"ferrule-conformance\" tests=\"24\" failures=\"",
                            failures, "\" errors=\"", errors, "\"")));
  EXPECT_GE(errors, 8u);
}

TEST_F(Reports, BadgeIsAWellFormedPicture) {
  expect_nested(file("badge.svg"), {});
  EXPECT_THAT(file("badge.svg"), HasSubstr("no badge"));
}

TEST_F(Reports, ARunThatWasCutShortNamesItsCaseAndDoesNotVerify) {
  // What the file holds while a run goes on.
  const Folder copy;
  std::string text;
  for (const std::string& line : split(file("report.jsonl"), '\n')) {
    if (line.rfind("{\"end\":\"F/", 0) == 0) break;
    text += line + "\n";
  }
  text += line_of("begin", "F/add/f32/first") + "\n";
  const Said said = run("fake_suite", "verify " + copy.write("report.jsonl", text));
  EXPECT_EQ(said.code, 2);
  EXPECT_THAT(said.text,
              HasSubstr("  - report: it has no end; it was cut short after 2 of 23 cases\nNOT"));
}

TEST_F(Reports, WhatIsNoReportIsOneSentence) {
  const Folder copy;
  const auto said = [&](const std::string& text) {
    const Said out = run("fake_suite", "verify " + copy.write("report.jsonl", text));
    EXPECT_EQ(out.code, 2) << out.text;
    return out.text;
  };
  const std::string whole = file("report.jsonl");
  EXPECT_THAT(said(""), HasSubstr("want what was judged, got no facts"));
  EXPECT_THAT(said("# notes\n"),
              HasSubstr("line 1: want a whole record of the suite, got # notes"));
  EXPECT_THAT(said(whole.substr(0, whole.size() - 9)), HasSubstr("want a whole record"));
  EXPECT_THAT(said(whole.substr(0, whole.rfind("{\"done\""))),
              HasSubstr("cut short after 23 of 23 cases"));
}

TEST_F(Reports, OfAStrangerAreBoundedAndShown) {
  const Folder copy;
  const std::string large = copy.write("large.jsonl", "{");
  fs::resize_file(large, uintmax_t{300} << 20);
  const Said bounded = run("fake_suite", "verify " + large);
  EXPECT_EQ(bounded.code, 2);
  EXPECT_EQ(bounded.text,
            cat("ferrule-conformance: report: ", large, ": want at most 256 MiB, got 300\n"));
  const std::string binary = copy.write("binary.jsonl", "\x7f\x1b[2J\xff\n");
  const Said escaped = run("fake_suite", "verify " + binary);
  EXPECT_EQ(escaped.code, 2);
  EXPECT_THAT(escaped.text,
              testing::AllOf(HasSubstr("\\x7f\\x1b[2J\\xff"), Not(HasSubstr("\x1b"))));
  Report report = report_in(*folder);
  report.problems = {"\x1b]0;owned\x07"};
  const Said fault =
      run("fake_suite", "verify " + copy.write("report.jsonl", to_json_lines(report)));
  EXPECT_EQ(fault.code, 2);
  EXPECT_THAT(fault.text, Not(HasSubstr("\x1b")));
  const Said missing = run("fake_suite", "verify /no/such/report");
  EXPECT_EQ(missing.code, 2);
  EXPECT_EQ(missing.text.find("/no/such/report"), missing.text.rfind("/no/such/report"));
}

TEST(Markup, EscapesWhatXmlForbids) {
  EXPECT_EQ(escaped("a<b>&\"'"), "a&lt;b&gt;&amp;&quot;&#39;");
  EXPECT_EQ(escaped("\xC3\xA9\xF0\x9F\x94\xA9"), "\xC3\xA9\xF0\x9F\x94\xA9");
  for (const char* bad : {"\x01", "\xFF", "\xC3", "\xED\xA0\x80", "\xC0\x80", "\xEF\xBF\xBF"})
    EXPECT_THAT(escaped(bad), testing::StartsWith("\xEF\xBF\xBD")) << bad;
}

}  // namespace
}  // namespace ferrule::conformance::test
