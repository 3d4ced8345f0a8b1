// The team: every worker runs, barriers hold, nested and concurrent calls run alone.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "core/driver/team.h"

namespace ferrule {
namespace {

struct Sum {
  std::vector<int> values = std::vector<int>(1000, 1);
  std::atomic<int> total{0};
  std::atomic<uint32_t> ran{0};
};

void FRL_CALL add(void* arg, const frl_worker* worker) {
  auto* sum = static_cast<Sum*>(arg);
  ++sum->ran;
  int mine = 0;
  for (size_t i = worker->id; i < sum->values.size(); i += worker->n) mine += sum->values[i];
  sum->total += mine;
}

TEST(Team, EveryWorkerRunsOnce) {
  Team team(4);
  for (int i = 0; i < 200; ++i) {
    Sum sum;
    ASSERT_EQ(team.run(4, 0, add, &sum), FRL_OK);
    EXPECT_EQ(sum.total, 1000);
    EXPECT_EQ(sum.ran, 4u);
  }
}

TEST(Team, NeverMoreThanWanted) {
  Team team(4);
  Sum sum;
  ASSERT_EQ(team.run(2, 0, add, &sum), FRL_OK);
  EXPECT_EQ(sum.ran, 2u);
}

struct Phases {
  std::atomic<int> arrived[50]{};
  std::atomic<int> early{0};
};

void FRL_CALL phases(void* arg, const frl_worker* worker) {
  auto* p = static_cast<Phases*>(arg);
  for (auto& count : p->arrived) {
    ++count;
    Team::barrier(worker);
    if (count != int(worker->n)) ++p->early;
    Team::barrier(worker);
  }
}

TEST(Team, BarrierHoldsEverybody) {
  Team team(3);
  for (int i = 0; i < 20; ++i) {
    Phases p;
    ASSERT_EQ(team.run(3, 0, phases, &p), FRL_OK);
    EXPECT_EQ(p.early, 0);
  }
}

struct Nested {
  Team* team;
  std::atomic<uint32_t> inner{0};
};

void FRL_CALL count_alone(void* arg, const frl_worker* worker) {
  if (worker->n == 1) ++*static_cast<std::atomic<uint32_t>*>(arg);
}
void FRL_CALL nest(void* arg, const frl_worker*) {
  auto* nested = static_cast<Nested*>(arg);
  nested->team->run(4, 64, count_alone, &nested->inner);
}

TEST(Team, NestedCallsRunAlone) {
  Team team(2);
  Nested nested{&team};
  ASSERT_EQ(team.run(2, 0, nest, &nested), FRL_OK);
  EXPECT_EQ(nested.inner, 2u);
}

void FRL_CALL fill(void*, const frl_worker* worker) {
  ASSERT_GE(worker->scratch_bytes, 4096u);
  auto* bytes = static_cast<unsigned char*>(worker->scratch);
  for (int i = 0; i < 4096; ++i) bytes[i] = uint8_t(worker->id + 1);
  Team::barrier(worker);
  for (int i = 0; i < 4096; ++i) ASSERT_EQ(bytes[i], worker->id + 1);
}

TEST(Team, ScratchIsEachWorkersOwn) {
  Team team(4);
  EXPECT_EQ(team.run(4, 4096, fill, nullptr), FRL_OK);
  EXPECT_EQ(team.run(1, 4096, fill, nullptr), FRL_OK);
}

TEST(Team, ManyCallersAtOnce) {
  Team team(3);
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 8; ++t)
    callers.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        Sum sum;
        team.run(3, 256, add, &sum);
        if (sum.total != 1000) ++wrong;
      }
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Team, ProcessorsAreCounted) { EXPECT_GE(available_processors(), 1u); }

}  // namespace
}  // namespace ferrule
