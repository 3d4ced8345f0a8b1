// What is a leak: growth that does not end.
#include "conformance/families/flat.h"

#include "tests/conformance/program.h"

namespace ferrule::conformance::test {
namespace {

using testing::HasSubstr;

// A process whose holdings are a function of the rounds that it has done.
Outcome over_rounds(const std::function<void(int64_t done, Held&)>& holds) {
  int64_t done = 0;
  return stays_flat(
      100, [&](int64_t n) { return done += n, pass(1); },
      [&] {
        Held out;
        holds(done, out);
        return out;
      });
}

TEST(Flat, ALeakOfOneSmallBlockARoundIsFound) {
  const Outcome out = over_rounds([](int64_t done, Held& h) { h.heap_bytes = 24 * done; });
  EXPECT_EQ(out.verdict, Verdict::fail);
  EXPECT_THAT(out.text, HasSubstr("bytes of the C heap: want as many after 820 rounds as after "
                                  "420, 9600 more are held (24 a round)"));
}

TEST(Flat, ADescriptorNowAndThenIsFound) {
  const Outcome out = over_rounds([](int64_t done, Held& h) { h.descriptors = done / 90; });
  EXPECT_THAT(out.text, HasSubstr("open descriptors"));
}

TEST(Flat, ACacheThatFillsUpIsNoLeak) {
  // 7 blocks of each of 64 sizes: what the C library keeps for a thread.
  const Outcome out = over_rounds(
      [](int64_t done, Held& h) { h.heap_bytes = std::min<int64_t>(7 * 64 * 24, 30 * done); });
  EXPECT_EQ(out.verdict, Verdict::pass) << out.text;
}

TEST(Flat, ThingsThatGrowInTurnAreNoLeak) {
  const Outcome out = over_rounds([](int64_t done, Held& h) {
    h.threads = done > 150, h.descriptors = done > 250, h.host_blocks = done > 450;
  });
  EXPECT_EQ(out.verdict, Verdict::pass) << out.text;
}

TEST(Flat, WhatARoundFailsByIsTheOutcome) {
  const Outcome out = stays_flat(
      10, [](int64_t n) { return n == 10 ? fail("it broke") : pass(1); }, [] { return Held(); });
  EXPECT_EQ(out.text, "it broke");
}

}  // namespace
}  // namespace ferrule::conformance::test
