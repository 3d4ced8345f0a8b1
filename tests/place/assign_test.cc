// Assignments of made-up items to made-up devices, against all assignments there are.
#include "core/place/assign.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

namespace ferrule {
namespace {

// The total as the header words it, value by value: a naive walk that shares nothing with the code.
double oracle_ps(const Problem& problem, const Devices& at) {
  double ps = 0;
  for (size_t item = 0; item < at.size(); ++item)
    ps += double(problem.run_ps[item][size_t(at[item])]);
  for (const Traffic& t : problem.traffic) {
    const double kib = double(t.size_bytes) / 1024;
    const auto out_of = [&](int d) {
      const Lane& lane = problem.lanes[size_t(d)];
      return double(lane.round_trip_ps) +
             (lane.host_memory ? 0 : kib * double(lane.from_device_ps_per_kib));
    };
    const auto into = [&](int d) {
      const Lane& lane = problem.lanes[size_t(d)];
      return double(lane.round_trip_ps) +
             (lane.host_memory ? 0 : kib * double(lane.to_device_ps_per_kib));
    };
    std::set<int> others;
    for (uint32_t reader : t.readers) others.insert(at[reader]);
    if (t.maker == kHost) {
      for (int d : others)
        if (!problem.lanes[size_t(d)].host_memory) ps += into(d);
      continue;
    }
    const int home = at[size_t(t.maker)];
    others.erase(home);
    for (int d : others) ps += into(d);
    const bool to_caller = t.host_reads && !problem.lanes[size_t(home)].host_memory;
    if (!others.empty() || to_caller) ps += out_of(home);
  }
  return ps;
}

// The least total of all assignments.
double least_ps(const Problem& problem) {
  const size_t n = problem.run_ps.size(), n_devices = problem.lanes.size();
  Devices at(n, 0);
  double least = -1;
  for (bool more = true; more;) {
    bool fits = true;
    for (uint32_t i = 0; i < n; ++i) fits &= problem.run_ps[i][size_t(at[i])] != kNever;
    if (fits) {
      const double ps = oracle_ps(problem, at);
      if (least < 0 || ps < least) least = ps;
    }
    more = false;
    for (size_t i = n; i-- > 0 && !more;) {
      more = ++at[i] < int32_t(n_devices);
      if (!more) at[i] = 0;
    }
  }
  return least;
}

// Item by item, each on the device where it and the values that it reads come cheapest: what a
// placement without foresight would do.
Devices greedy(const Problem& problem) {
  Devices at;
  for (uint32_t item = 0; item < problem.run_ps.size(); ++item) {
    int32_t best = -1;
    double least = 0;
    for (int32_t device = 0; device < int32_t(problem.lanes.size()); ++device) {
      if (problem.run_ps[item][size_t(device)] == kNever) continue;
      Problem so_far = problem;
      so_far.run_ps.resize(item + 1);
      std::erase_if(so_far.traffic, [&](const Traffic& t) { return t.maker > int32_t(item); });
      for (Traffic& t : so_far.traffic)
        std::erase_if(t.readers, [&](uint32_t r) { return r > item; });
      at.push_back(device);
      const double ps = oracle_ps(so_far, at);
      at.pop_back();
      if (best < 0 || ps < least) best = device, least = ps;
    }
    at.push_back(best);
  }
  return at;
}

// Sizes are whole KiB and prices whole, so that sums are exact in both.
Problem random_problem(uint32_t seed, size_t n_items, size_t n_devices) {
  std::mt19937 random(seed);
  const auto below = [&](uint32_t n) { return int64_t(random() % n); };
  Problem out;
  for (size_t d = 0; d < n_devices; ++d)
    out.lanes.push_back({below(2) == 0, below(30), below(20), below(20)});
  for (size_t i = 0; i < n_items; ++i) {
    std::vector<int64_t> times;
    for (size_t d = 0; d < n_devices; ++d) times.push_back(below(8) == 0 ? kNever : below(100));
    times[size_t(below(uint32_t(n_devices)))] = below(100);
    out.run_ps.push_back(times);
    out.traffic.push_back({int32_t(i), {}, below(4) == 0, 1024 * below(5)});
  }
  for (int i = 0; i < 3; ++i) out.traffic.push_back({kHost, {}, false, 1024 * below(5)});
  for (Traffic& t : out.traffic)
    for (uint32_t reader = uint32_t(t.maker + 1); reader < n_items; ++reader)
      if (below(3) == 0) t.readers.push_back(reader);
  // A state: made by the last item, read by earlier ones.
  out.traffic.push_back({int32_t(n_items) - 1, {0, uint32_t(n_items / 2)}, false, 1024 * below(5)});
  return out;
}

TEST(Assign, TwoDevicesAreExact) {
  int beaten = 0;
  for (uint32_t seed = 0; seed < 220; ++seed) {
    const Problem problem = random_problem(seed, 2 + seed % 11, 2);
    const Devices found = assign(problem);
    const double least = least_ps(problem);
    ASSERT_EQ(double(total_ps(problem, found)), least) << seed;
    ASSERT_EQ(oracle_ps(problem, found), least) << seed;
    const double swept = oracle_ps(problem, greedy(problem));
    ASSERT_GE(swept, least) << seed;
    beaten += swept > least;
  }
  EXPECT_GT(beaten, 50);  // going item by item would not do
}

// Drawn: three items in a row, of which the first is a little faster at home and the others much
// faster away. Going item by item, the first stays, and then each move alone is too dear.
TEST(Assign, ForesightBeatsGreed) {
  Problem problem;
  problem.lanes = {{true, 0, 0, 0}, {false, 0, 10, 10}};
  problem.run_ps = {{10, 9}, {20, 11}, {20, 11}, {20, 11}};
  problem.traffic = {{kHost, {0}, false, 1024},
                     {0, {1}, false, 1024},
                     {1, {2}, false, 1024},
                     {2, {3}, false, 1024},
                     {3, {}, true, 1024}};
  EXPECT_THAT(greedy(problem), testing::ElementsAre(0, 0, 0, 0));
  EXPECT_EQ(oracle_ps(problem, greedy(problem)), 70);
  EXPECT_THAT(assign(problem), testing::ElementsAre(1, 1, 1, 1));
  EXPECT_EQ(oracle_ps(problem, assign(problem)), 62);
}

TEST(Assign, ThreeDevicesAreSeldomFarOff) {
  int best = 0;
  double sum = 0, least_sum = 0, greedy_sum = 0;
  constexpr int kProblems = 200;
  for (uint32_t seed = 0; seed < kProblems; ++seed) {
    const Problem problem = random_problem(seed, 2 + seed % 6, 3);
    const Devices found = assign(problem);
    const double ps = oracle_ps(problem, found), least = least_ps(problem);
    ASSERT_EQ(double(total_ps(problem, found)), ps) << seed;
    best += ps == least;
    sum += ps, least_sum += least, greedy_sum += oracle_ps(problem, greedy(problem));
  }
  EXPECT_GT(best, kProblems * 9 / 10);
  EXPECT_LT(sum, least_sum * 1.01);
  EXPECT_GT(greedy_sum, least_sum * 1.03);
}

// Groups on one device that would be cheaper elsewhere, as a whole, do not remain.
TEST(Assign, ThreeDevicesLeaveNoIslandThatWouldGain) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    const Problem problem = random_problem(seed, 8, 3);
    const Devices found = assign(problem);
    const double ps = oracle_ps(problem, found);
    for (uint32_t group = 1; group < 1 << 8; ++group)
      for (int32_t to = 0; to < 3; ++to) {
        Devices moved = found;
        std::set<int32_t> from;
        bool may = true;
        for (uint32_t i = 0; i < 8; ++i)
          if (group >> i & 1)
            from.insert(found[i]), moved[i] = to, may &= problem.run_ps[i][size_t(to)] != kNever;
        if (!may || from.size() != 1) continue;
        ASSERT_GE(oracle_ps(problem, moved), ps) << seed;
      }
  }
}

TEST(Assign, EqualsGoToTheFrontOfTheOrder) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    // Few different prices, so that many assignments are equal.
    Problem problem = random_problem(seed, 7, 2);
    for (auto& times : problem.run_ps)
      for (int64_t& ps : times) ps = ps == kNever ? kNever : ps % 2 * 10;
    const Devices found = assign(problem);
    const double least = least_ps(problem);
    const auto at_second = [](const Devices& at) { return std::count(at.begin(), at.end(), 1); };
    for (uint32_t bits = 0; bits < 1 << 7; ++bits) {
      Devices other(7);
      bool may = true;
      for (uint32_t i = 0; i < 7; ++i)
        other[i] = bits >> i & 1, may &= problem.run_ps[i][size_t(other[i])] != kNever;
      if (!may || oracle_ps(problem, other) != least) continue;
      ASSERT_LE(at_second(found), at_second(other)) << seed;
    }
  }
}

TEST(Assign, HugePricesStayInRange) {
  Problem problem = random_problem(1, 10, 2);
  for (auto& times : problem.run_ps) times = {INT64_MAX, INT64_MAX};
  for (Lane& lane : problem.lanes) lane = {false, INT64_MAX, INT64_MAX, INT64_MAX};
  for (Traffic& t : problem.traffic) t.size_bytes = INT64_MAX;
  const int64_t total = total_ps(problem, assign(problem));
  EXPECT_GT(total, INT64_MAX / 100);
  EXPECT_LT(total, INT64_MAX / 2);
  EXPECT_LE(problem.price_ps(0, 0), INT64_MAX / 100);
}

TEST(Assign, IsDeterministic) {
  const Problem problem = random_problem(3, 200, 3);
  EXPECT_EQ(assign(problem), assign(problem));
}

}  // namespace
}  // namespace ferrule
