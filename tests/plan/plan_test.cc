// Plans: offsets, residency, and a checker that notices when they are wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "core/plan/memory.h"
#include "core/plan/plan.h"

namespace ferrule {
namespace {

using testing::HasSubstr;

Graph parse(std::string_view text) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  graph->compact();
  return std::move(*graph);
}

std::vector<PlanKernel> kernels_for(const Graph& graph, uint64_t scratch = 0,
                                    bool in_place = false) {
  std::vector<PlanKernel> out(graph.n_nodes());
  for (size_t i = 0; i < out.size(); ++i)
    if (graph.node(NodeId(i)).op != FRL_OP_reshape) {
      out[i] = {true, scratch, {}, {}};
      if (in_place) out[i].aliases = {{0, 0}};
    }
  return out;
}

// A random chain-and-join graph of equal shapes, on random devices.
Graph random_graph(uint32_t seed, int n_devices) {
  std::mt19937 random(seed);
  Graph graph("g");
  std::vector<ValueId> values = {graph.add_input({Type::f32, {4, 16}}, "x"),
                                 graph.add_input({Type::f32, {4, 16}}, "y")};
  for (int i = 0; i < 30; ++i) {
    const ValueId a = values[random() % values.size()], b = values[random() % values.size()];
    graph.set_device(int32_t(random() % uint32_t(n_devices)));
    if (random() % 5 == 0)
      values.push_back(*graph.emit(
          FRL_OP_reshape, Attributes(FRL_OP_reshape).set_list(FRL_AT_reshape_shape, {4, 16}), {a}));
    else
      values.push_back(*graph.emit(FRL_OP_add, {a, b}));
  }
  graph.set_device(0);
  for (int i = 0; i < 3; ++i)
    graph.add_output(*graph.emit(FRL_OP_identity, {values[values.size() - 1 - size_t(i)]}),
                     "out" + std::to_string(i));
  graph.compact();
  return graph;
}

TEST(Memory, ReusesWhatIsFree) {
  std::vector<MemoryItem> items = {{100, 0, 1}, {100, 2, 3}, {50, 1, 2}};
  const auto blocks = assign_offsets(items, {64, UINT64_MAX});
  ASSERT_TRUE(blocks.ok());
  EXPECT_EQ(items[0].offset, items[1].offset);
  EXPECT_EQ(blocks->at(0), 128u + 50u);
  EXPECT_EQ(most_live_bytes(items), 150u);
}

TEST(Memory, SplitsIntoBlocksAndRefusesTheTooLarge) {
  std::vector<MemoryItem> items = {{100, 0, 9}, {100, 0, 9}, {100, 0, 9}};
  const auto blocks = assign_offsets(items, {64, 256});
  ASSERT_TRUE(blocks.ok());
  EXPECT_EQ(blocks->size(), 2u);
  std::vector<MemoryItem> large = {{300, 0, 1}};
  EXPECT_THAT(assign_offsets(large, {64, 256}).status().message(),
              HasSubstr("want values of at most 256 bytes, got 300"));
}

TEST(Memory, RandomItemsNeverOverlap) {
  std::mt19937 random(7);
  std::vector<MemoryItem> items;
  for (int i = 0; i < 300; ++i) {
    const int64_t first = random() % 100;
    items.push_back({1 + random() % 5000, first, first + int64_t(random() % 20)});
  }
  const auto blocks = assign_offsets(items, {64, UINT64_MAX});
  ASSERT_TRUE(blocks.ok());
  for (size_t i = 0; i < items.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      const bool alive_together =
          items[i].first <= items[j].last && items[j].first <= items[i].last;
      const bool overlap = items[i].offset < items[j].offset + items[j].size_bytes &&
                           items[j].offset < items[i].offset + items[i].size_bytes;
      EXPECT_FALSE(alive_together && overlap) << i << " and " << j;
    }
  EXPECT_LE(blocks->at(0), most_live_bytes(items) * 3 / 2);
}

struct DeviceSet {
  const char* name;
  std::vector<PlanDevice> devices;
};

class Plans : public testing::TestWithParam<int> {};

TEST_P(Plans, RandomGraphsPassTheChecker) {
  const PlanDevice host{true, true, 64, UINT64_MAX}, apart{false, false, 256, UINT64_MAX};
  const std::vector<std::vector<PlanDevice>> sets = {
      {host}, {apart}, {host, apart}, {apart, apart}, {host, apart, host}};
  for (const auto& devices : sets)
    for (const bool in_place : {false, true}) {
      const Graph graph = random_graph(uint32_t(GetParam()), int(devices.size()));
      const auto kernels = kernels_for(graph, 128, in_place);
      const auto plan = make_plan(graph, devices, kernels);
      ASSERT_TRUE(plan.ok()) << plan.status().message();
      const Status checked = check_plan(graph, *plan, kernels);
      EXPECT_TRUE(checked.ok()) << checked.message() << "\n" << to_text(graph);
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Plans, testing::Range(0, 40));

// The checker must notice each kind of damage.
class BrokenPlan : public testing::Test {
 protected:
  BrokenPlan()
      : graph_(random_graph(3, 1)),
        kernels_(kernels_for(graph_, 128)),
        plan_(*make_plan(graph_, devices_, kernels_)) {}
  Status check() { return check_plan(graph_, plan_, kernels_); }
  std::vector<KernelStep>& steps() { return std::get<SubmitStep>(plan_.steps[0]).kernels; }

  std::vector<PlanDevice> devices_ = {{true, true, 64, UINT64_MAX}};
  Graph graph_;
  std::vector<PlanKernel> kernels_;
  Plan plan_;
};

TEST_F(BrokenPlan, IntactIsFine) { EXPECT_TRUE(check().ok()) << check().message(); }

TEST_F(BrokenPlan, StepsSwapped) {
  std::swap(steps().front(), steps()[steps().size() / 2]);
  EXPECT_THAT(check().message(), HasSubstr("overwritten or never written"));
}

TEST_F(BrokenPlan, StepMissing) {
  steps().erase(steps().begin());
  EXPECT_FALSE(check().ok());
}

TEST_F(BrokenPlan, ResultOnAnOperand) {
  for (KernelStep& step : steps())
    if (step.args[0].kind == Place::Kind::arena) {
      step.args[2] = step.args[0];
      break;
    }
  EXPECT_FALSE(check().ok());
}

TEST_F(BrokenPlan, OutsideTheArena) {
  plan_.arena_bytes[0][0] /= 2;
  EXPECT_THAT(check().message(), HasSubstr("inside the arena"));
}

TEST_F(BrokenPlan, ScratchOnAnArgument) {
  for (KernelStep& step : steps())
    if (step.args[0].kind == Place::Kind::arena) {
      step.args.back() = step.args[0];
      break;
    }
  EXPECT_THAT(check().message(), HasSubstr("scratch overlaps"));
}

TEST(Plan, InPlaceSavesMemory) {
  const Graph graph = parse(R"(graph "g"
    %x = input f32[1024] "x"
    %a = exp %x
    %b = neg %a
    %c = tanh %b
    return %c "c")");
  const std::vector<PlanDevice> devices = {{true, true, 64, UINT64_MAX}};
  auto on = graph;
  for (size_t i = 0; i < on.n_nodes(); ++i) on.node(NodeId(i)).device = 0;
  const auto apart = make_plan(on, devices, kernels_for(on)),
             in_place = make_plan(on, devices, kernels_for(on, 0, true));
  ASSERT_TRUE(apart.ok() && in_place.ok());
  EXPECT_EQ(apart->planned_bytes(), 8192u);
  EXPECT_EQ(in_place->planned_bytes(), 4096u);
}

TEST(Plan, ViewsCostNothing) {
  Graph graph = parse(R"(graph "g"
    %x = input f32[8,8] "x"
    %a = exp %x
    %r = reshape %a {shape=[64]}
    %b = neg %r
    return %b "b")");
  for (size_t i = 0; i < graph.n_nodes(); ++i) graph.node(NodeId(i)).device = 0;
  const std::vector<PlanDevice> devices = {{true, true, 64, UINT64_MAX}};
  const auto plan = make_plan(graph, devices, kernels_for(graph));
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->planned_bytes(), 256u);
  EXPECT_EQ(std::get<SubmitStep>(plan->steps[0]).kernels.size(), 2u);
}

}  // namespace
}  // namespace ferrule
