// What a run says while it goes on: what it waits for, and no failure more often than is of use.
#include "conformance/report/console.h"

#include "tests/conformance/program.h"

namespace ferrule::conformance::test {
namespace {

using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr seconds kPatience{5};

TEST(Waiting, NamesTheCaseThatHasRunLongest) {
  const Waiting::Time start{};
  Waiting waiting(start);
  EXPECT_EQ(waiting.text(start + seconds(4), kPatience), "");
  EXPECT_EQ(waiting.text(start + seconds(6), kPatience),
            "waiting 6 s for the plugin to load, list its cases or close");
  waiting.begin("F/add/f32/hang", start + seconds(6));
  waiting.begin("F/sub/f32/slow", start + seconds(8));
  EXPECT_EQ(waiting.text(start + seconds(10), kPatience), "");
  EXPECT_EQ(waiting.text(start + seconds(18), kPatience),
            "waiting 12 s for F/add/f32/hang (and 1 more)");
  waiting.end("F/add/f32/hang", start + seconds(18));
  EXPECT_EQ(waiting.text(start + seconds(18), kPatience), "waiting 10 s for F/sub/f32/slow");
  waiting.end("F/sub/f32/slow", start + seconds(18));
  EXPECT_EQ(waiting.text(start + seconds(20), kPatience), "");
}

Record failed(const std::string& name, const std::string& text) {
  return {name, Verdict::fail, text, {}, {}, 1, 0, 0};
}

TEST(Console, FailuresThatReadTheSameAreCounted) {
  testing::internal::CaptureStdout();
  {
    Console console(families(), false);
    std::vector<std::string> cases;
    for (int i = 0; i < 30; ++i) cases.push_back(cat("F/add/f32/", i));
    console.start({}, cases, "tail");
    for (int i = 0; i < 29; ++i)
      console.end(
          failed(cases[size_t(i)], cat("element [", i, ",0]: want ", (i % 2 ? -0.5 : 0.5) * i,
                                       ", got nan, operands ", std::string(size_t(i), 'x'))));
    console.end(failed(cases[29], "result 1: element 3 was not written"));
  }
  const std::string said = testing::internal::GetCapturedStdout();
  EXPECT_THAT(said, AllOf(HasSubstr("F/add/f32/2\n"), Not(HasSubstr("F/add/f32/3\n")),
                          HasSubstr("  +26 more: fail  element [#,#]: want #, got nan\n"),
                          HasSubstr("was not written"), HasSubstr("30 bad")));
}

TEST(Console, WhatAPluginSaysIsShownAndNotObeyed) {
  testing::internal::CaptureStdout();
  {
    Console console(families(), false);
    console.start({}, {"F/add/f32/a"}, "tail");
    console.end(failed("F/add/f32/a", "\x1b[2J\xff"));
  }
  const std::string said = testing::internal::GetCapturedStdout();
  EXPECT_THAT(said, AllOf(HasSubstr("\\x1b[2J\\xff"), Not(HasSubstr("\x1b"))));
}

}  // namespace
}  // namespace ferrule::conformance::test
