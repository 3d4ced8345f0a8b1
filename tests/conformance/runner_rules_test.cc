// Verdicts to badges, must-claim lists, floors, waivers: arithmetic on reports made by hand.
#include "conformance/report/sha256.h"
#include "conformance/runner/judgement.h"
#include "conformance/runner/waivers.h"
#include "tests/conformance/program.h"

namespace ferrule::conformance::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

void list_nothing(const Target&, std::vector<Case>&) {}
constexpr Family kFamilies[] = {{'A', "abi", 0, "", false, list_nothing},
                                {'F', "numerics", 2, "", true, list_nothing},
                                {'G', "fusions", 3, "", true, list_nothing},
                                {'R', "costs", 5, "", true, list_nothing}};

Profiles two_profiles() {
  Profiles out;
  out.profiles = {{"small", "", {{"add", {"f32"}}}},
                  {"large", "", {{"add", {"f32"}}, {"matmul", {"f32", "f64"}}}}};
  out.floors = {{'F', 1, 2, 1, {"op"}}};
  return out;
}

Record passed(std::string name) { return {std::move(name), Verdict::pass, {}, {}, {}, 1, 0, 0}; }

// A report in which all is well.
Report good_report() {
  Report out;
  out.facts.plugin_id = "com.example.x", out.facts.device = "x:0",
  out.facts.date = "2026-06-15T00:00:00Z";
  out.facts.claims = {{"add", "op", {"f32", "f16"}},
                      {"matmul", "op", {"f32", "f64"}},
                      {"pointwise", "open", {"f32"}}};
  for (const char* name : {"A/load", "F/add/f32", "F/matmul/f32", "G/pointwise/f32", "R/add"})
    out.listed.push_back(name), out.records.push_back(passed(name));
  return out;
}

Judgement judged(const Report& report) { return judge_run(report, two_profiles(), kFamilies); }

Report with(Verdict verdict, const std::string& name) {
  Report out = good_report();
  for (Record& record : out.records)
    if (record.name == name) record.verdict = verdict, record.text = "why";
  return out;
}

TEST(Judgement, TheHighestProfileAndLevel) {
  const Judgement j = judged(good_report());
  EXPECT_TRUE(j.fine);
  EXPECT_EQ(j.badge, "large L5");
  EXPECT_THAT(j.profiles, ElementsAre("small", "large"));
  EXPECT_THAT(j.reasons, IsEmpty());
  EXPECT_EQ(j.counts[size_t(Verdict::pass)], 5);
}

TEST(Judgement, AFailureEndsTheBadgeBelowItsLevel) {
  const Judgement j = judged(with(Verdict::fail, "G/pointwise/f32"));
  EXPECT_EQ(j.badge, "large L2");
  EXPECT_FALSE(j.fine);
  EXPECT_THAT(j.reasons,
              ElementsAre(HasSubstr("L3: 1 case not allowed for a badge: G/pointwise/f32")));
  EXPECT_EQ(judged(with(Verdict::crash, "A/load")).badge, "");
}

TEST(Judgement, EveryVerdictThatIsNotAllowedFails) {
  for (Verdict verdict : {Verdict::fail, Verdict::resource_error, Verdict::timeout, Verdict::crash,
                          Verdict::device_lost, Verdict::internal_error, Verdict::xpass})
    EXPECT_FALSE(judged(with(verdict, "F/add/f32")).fine) << verdict_name(verdict);
  EXPECT_TRUE(judged(with(Verdict::waived, "F/add/f32")).fine);
}

TEST(Judgement, QualityWarningsFailAtLevelFiveOnly) {
  EXPECT_EQ(judged(with(Verdict::quality_warning, "G/pointwise/f32")).badge, "large L5");
  EXPECT_EQ(judged(with(Verdict::quality_warning, "R/add")).badge, "large L4");
}

TEST(Judgement, NothingClaimedFailsEveryProfile) {
  Report none = good_report();
  none.facts.claims.clear();
  none.records.clear(), none.listed.clear();
  const Judgement j = judged(none);
  EXPECT_FALSE(j.fine);
  EXPECT_EQ(j.badge, "");
  EXPECT_THAT(j.profiles, IsEmpty());
}

TEST(Judgement, AMustClaimTypeThatIsAbsentIsNamed) {
  Report report = good_report();
  report.facts.claims[1].types = {"f32"};
  report.facts.profile = "large";
  const Judgement j = judged(report);
  EXPECT_EQ(j.badge, "");
  EXPECT_THAT(j.reasons, ElementsAre("large: want a claim of matmul on f64"));
  report.facts.profile.clear();
  EXPECT_EQ(judged(report).badge, "small L5");
}

TEST(Judgement, NotClaimedIsNoAnswerInsideTheMustClaimList) {
  Report report = good_report();
  report.records.push_back({"F/matmul/f64", Verdict::not_claimed, "", "", "", 0, 0, 0});
  EXPECT_EQ(judged(report).badge, "small L5");
  report.records.back().name = "F/matmul/i8";
  EXPECT_EQ(judged(report).badge, "large L5");
}

TEST(Judgement, AnEmptyFamilyIsUnderItsFloor) {
  Report report = good_report();
  std::erase_if(report.records, [](const Record& r) { return r.name == "F/matmul/f32"; });
  const Judgement j = judged(report);
  EXPECT_FALSE(j.fine);
  EXPECT_EQ(j.badge, "");
  EXPECT_THAT(j.reasons,
              ElementsAre("floor: family F: want at least 2 judged cases, got 1",
                          "floor: family F: want at least 1 judged cases each of matmul"));
}

TEST(Judgement, APartOfTheSuiteGivesNoBadge) {
  Report report = good_report();
  report.facts.families = "AF";
  EXPECT_TRUE(judged(report).fine);
  EXPECT_EQ(judged(report).badge, "");
  report = good_report();
  report.facts.depth = "smoke";
  EXPECT_TRUE(judged(report).fine);
  EXPECT_EQ(judged(report).badge, "");
}

TEST(Judgement, OwnWaiversExcuseWithoutABadge) {
  Report report = with(Verdict::xfail, "F/add/f32");
  report.facts.waiver_file = "mine.toml";
  EXPECT_TRUE(judged(report).fine);
  EXPECT_EQ(judged(report).badge, "");
}

TEST(Judgement, AProblemOfTheRunIsNoBadge) {
  Report report = good_report();
  report.problems = {"family D: listing its cases: it ended with signal 6"};
  EXPECT_FALSE(judged(report).fine);
  EXPECT_EQ(judged(report).badge, "");
}

constexpr const char* kWaiver = R"([[waiver]]
plugin = "com.example.x"
device = "x:*"
cases = ["F/add/*"]
reason = "known"
owner = "jane"
url = "https://example.com/1"
expires = 2026-06-30
)";

std::vector<Waiver> waivers_of(const std::string& text) {
  const Folder folder;
  const auto read = read_waivers(folder.write("w.toml", text), false);
  EXPECT_TRUE(read.ok()) << read.status().message();
  return read.ok() ? *read : std::vector<Waiver>();
}

TEST(Waivers, ExcuseFailuresAndTurnPassesIntoFailures) {
  const auto all = waivers_of(kWaiver);
  std::vector<std::string> notes;
  const auto mine = waivers_for(all, good_report().facts, notes);
  ASSERT_EQ(mine.size(), 1u);
  EXPECT_THAT(notes, IsEmpty());
  const Record failed{"F/add/f32", Verdict::crash, "signal 11", {}, {}, 0, 0, 0};
  const Record excused = excuse(failed, mine);
  EXPECT_EQ(excused.verdict, Verdict::waived);
  EXPECT_THAT(excused.text, testing::AllOf(HasSubstr("jane"), HasSubstr("https://example.com/1"),
                                           HasSubstr("crash: signal 11")));
  EXPECT_EQ(excuse(passed("F/add/f32"), mine).verdict, Verdict::xpass);
  EXPECT_EQ(excuse(passed("F/sub/f32"), mine).verdict, Verdict::pass);
}

TEST(Waivers, ExpiredOnesAreIgnoredAndReported) {
  Facts facts = good_report().facts;
  std::vector<std::string> notes;
  facts.date = "2026-06-30T23:00:00Z";
  EXPECT_EQ(waivers_for(waivers_of(kWaiver), facts, notes).size(), 1u);
  facts.date = "2026-07-01T00:00:00Z";
  EXPECT_THAT(waivers_for(waivers_of(kWaiver), facts, notes), IsEmpty());
  EXPECT_THAT(notes, ElementsAre(HasSubstr("expired on 2026-06-30")));
}

TEST(Waivers, AreAboutOnePluginAndItsDevices) {
  Facts facts = good_report().facts;
  std::vector<std::string> notes;
  facts.device = "y:0";
  EXPECT_THAT(waivers_for(waivers_of(kWaiver), facts, notes), IsEmpty());
  facts = good_report().facts, facts.plugin_id = "com.example.y";
  EXPECT_THAT(waivers_for(waivers_of(kWaiver), facts, notes), IsEmpty());
}

TEST(Waivers, OfTheCallersOwnThatAreAboutOthersAreSaid) {
  const Folder folder;
  const auto own = read_waivers(folder.write("w.toml", kWaiver), true);
  ASSERT_TRUE(own.ok());
  Facts facts = good_report().facts;
  std::vector<std::string> notes;
  facts.device = "x";
  EXPECT_THAT(waivers_for(*own, facts, notes), IsEmpty());
  facts = good_report().facts, facts.plugin_id = "com.example.y";
  EXPECT_THAT(waivers_for(*own, facts, notes), IsEmpty());
  EXPECT_THAT(notes, ElementsAre("waiver w.toml:1: it is about device x:*, this is x",
                                 "waiver w.toml:1: it is about plugin com.example.x, this is "
                                 "com.example.y"));
}

TEST(Waivers, PatternsThatFitNothingOrTooMuchFail) {
  const auto mine = waivers_of(kWaiver);
  std::vector<std::string> listed(500, "F/sub/f32");
  EXPECT_THAT(bad_patterns(mine, listed),
              ElementsAre(HasSubstr("F/add/* matches no case of the suite")));
  listed.resize(520, "F/add/f32");
  EXPECT_THAT(bad_patterns(mine, listed), IsEmpty());
  listed.resize(700, "F/add/f32");
  EXPECT_THAT(bad_patterns(mine, listed), ElementsAre(HasSubstr("matches 200 of 700")));
}

TEST(Waivers, NeedEveryField) {
  const Folder folder;
  for (const char* key : {"plugin", "device", "cases", "reason", "owner", "url", "expires"}) {
    std::string text;
    for (const std::string& line : split(kWaiver, '\n'))
      if (line.rfind(key, 0) != 0) text += line + "\n";
    const auto read = read_waivers(folder.write("w.toml", text), false);
    ASSERT_FALSE(read.ok()) << key;
    EXPECT_THAT(read.status().message(), HasSubstr(key));
  }
  EXPECT_FALSE(read_waivers(folder.write("w.toml", cat(kWaiver, "secret = 1\n")), false).ok());
  EXPECT_FALSE(read_waivers(folder.write("w.toml", "[[waver]]\n"), false).ok());
  const auto instead = [&](const char* reason) {
    std::string text = kWaiver;
    text.replace(text.find("\"known\""), 7, reason);
    return read_waivers(folder.write("w.toml", text), false).status().message();
  };
  EXPECT_EQ(instead("3"), "w.toml:1: reason: want a text in quotes, got 3");
  EXPECT_EQ(instead("[\"a\", \"b\"]"), "w.toml:1: reason: want one text, got a, b");
  EXPECT_THAT(instead("\"a"), HasSubstr(": want an end of this string"));
  EXPECT_FALSE(read_waivers(folder.write("w.toml", "= ="), false).ok());
}

TEST(Waivers, ExpireOnADayThatThereIs) {
  const Folder folder;
  for (const char* day : {"2026-13-01", "2026-02-30", "2026-00-10", "26-01-01", "tomorrow"}) {
    std::string text = kWaiver;
    text.replace(text.find("2026-06-30"), 10, cat("\"", day, "\""));
    const auto read = read_waivers(folder.write("w.toml", text), false);
    ASSERT_FALSE(read.ok()) << day;
    EXPECT_THAT(read.status().message(), HasSubstr(cat("want a day YYYY-MM-DD, got ", day)));
  }
}

TEST(Sha256, VectorsOfTheStandard) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// Changing what a badge stands for is a decision: the frozen lists change in the same commit, and
// the change log says so.
TEST(MustPass, ListsAreTheFrozenOnes) {
  const std::string data = FRL_TEST_DATA "/../conformance/data";
  const auto read = read_profiles(data);
  ASSERT_TRUE(read.ok()) << read.status().message();
  ASSERT_EQ(read->profiles.size(), 3u);
  for (const Profile& profile : read->profiles) {
    const std::string list = must_pass_list(*read, profile.name, families());
    std::ifstream file(data + "/must_pass/" + profile.name + ".txt", std::ios::binary);
    const std::string frozen{std::istreambuf_iterator<char>(file), {}};
    EXPECT_EQ(list, frozen) << "freeze anew with: ferrule-conformance must-pass --profile "
                            << profile.name;
  }
}

TEST(Profiles, FullIsEveryRowOfTheTable) {
  const auto read = read_profiles(FRL_TEST_DATA "/../conformance/data");
  ASSERT_TRUE(read.ok()) << read.status().message();
  const Profile& full = read->profiles.back();
  for (const OpRow& op : op_rows())
    EXPECT_EQ(full.find(op.name) != nullptr, op.form != Form::control) << op.name;
  for (const Must& must : read->profiles[0].must)
    EXPECT_NE(read->profiles[1].find(must.op), nullptr) << must.op;
}

}  // namespace
}  // namespace ferrule::conformance::test
