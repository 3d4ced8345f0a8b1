// Placement of graphs on made-up devices: what moves, what stays, and what it is said to take.
#include "core/place/place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "tests/pass/device.h"

namespace ferrule {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Graph parse(const std::string& text) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  return std::move(*graph);
}

const std::vector<std::string> kOps = {"matmul", "softmax", "pointwise", "matmul_bias_act"};

// Shares the host's memory; the numbers of test::device_claiming.
DeviceRow near_device(const std::vector<std::string>& claims = kOps) {
  return test::device_claiming(claims);
}

// Memory of its own, behind a bus: a round trip of 20 us, 1 us a KiB each way.
DeviceRow far_device(const std::vector<std::string>& claims = kOps) {
  DeviceRow row = test::device_claiming(claims);
  row.spaces[0].flags = FRL_SPACE_DEVICE;
  row.cost.round_trip_ps = 20'000'000;
  row.cost.to_device_ps_per_kib = row.cost.from_device_ps_per_kib = 1'000'000;
  return row;
}

// As `row`, with everything that a kernel does `times` as fast.
DeviceRow faster(DeviceRow row, uint64_t times) {
  row.cost.dispatch_ps /= times, row.cost.memory_ps_per_kib /= times;
  for (frl_rate& rate : row.cost.arithmetic) rate.ps_per_mflop /= times;
  return row;
}

std::vector<int32_t> devices_of(const Placement& placement) {
  std::vector<int32_t> out;
  for (const PlacedNode& node : placement.nodes) out.push_back(node.device);
  return out;
}

std::vector<int32_t> placed(const std::string& text, std::span<const Target> targets,
                            const FuseOptions& options = {}) {
  Graph graph = parse(text);
  const auto placement = place(graph, targets, options);
  EXPECT_TRUE(placement.ok()) << placement.status().message();
  if (!placement.ok()) return {};
  std::vector<int32_t> in_graph;
  for (const Node& node : graph.nodes()) in_graph.push_back(node.device);
  EXPECT_EQ(devices_of(*placement), in_graph);
  return in_graph;
}

// softmax counts arithmetic and transpose memory: one likes the far device, the other the host.
TEST(Place, AZigZagStaysOnOneDeviceWhereTransfersAreDear) {
  const std::vector<std::string> claims = {"softmax", "transpose"};
  DeviceRow host = near_device(claims), far = far_device(claims), free = near_device(claims);
  host.cost.memory_ps_per_kib = 10'000;
  for (DeviceRow* row : {&far, &free}) {
    row->cost.memory_ps_per_kib = 500'000;
    row->cost.arithmetic[0].ps_per_mflop = 100'000'000;
  }
  const std::string text = R"(graph "g"
    %x = input f32[64,64] "x"
    %a = softmax %x
    %b = transpose %a {order=[-1,-2]}
    %c = softmax %b
    %d = transpose %c {order=[-1,-2]}
    return %d "d")";
  const Target dear[] = {{"host", &host}, {"far", &far}}, cheap[] = {{"host", &host}, {"b", &free}};
  EXPECT_THAT(placed(text, dear), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(placed(text, cheap), ElementsAre(1, 0, 1, 0));
}

TEST(Place, ATinyIslandStaysWhereTheDataIs) {
  // Only the far device knows softmax; the exp between two of them would be as fast on the host.
  const DeviceRow host = faster(near_device({"matmul", "pointwise"}), 100), far = far_device();
  const Target targets[] = {{"host", &host}, {"far", &far}};
  EXPECT_THAT(placed(R"(graph "g"
    %x = input f32[64,64] "x"
    %a = softmax %x
    %b = exp %a
    %c = softmax %b
    return %c "c")",
                     targets),
              ElementsAre(1, 1, 1));
}

TEST(Place, ABigMatmulMovesAndASmallOneDoesNot) {
  const DeviceRow host = near_device(), far = faster(far_device(), 20);
  const Target targets[] = {{"host", &host}, {"far", &far}};
  const auto matmul = [](const std::string& n) {
    return "graph \"g\"\n %x = input f32[" + n + "," + n + "] \"x\"\n %w = parameter f32[" + n +
           "," + n + "] \"w\" = random 1\n %a = matmul %x, %w\n return %a \"a\"";
  };
  EXPECT_THAT(placed(matmul("16"), targets), ElementsAre(0));
  EXPECT_THAT(placed(matmul("256"), targets), ElementsAre(1));
}

// Inputs come from the host and outputs go back to it: what that costs can keep a node there.
TEST(Place, InputsAndOutputsLieOnTheHost) {
  const DeviceRow host = near_device(), far = faster(far_device(), 1000);
  const Target targets[] = {{"host", &host}, {"far", &far}};
  // 400 KiB: 183 us on the host, but 840 us on the bus.
  EXPECT_THAT(
      placed("graph \"g\"\n %x = input f32[102400] \"x\"\n %a = neg %x\n return %a \"a\"", targets),
      ElementsAre(0));
  // As a parameter they move free, and only a row of the product comes back.
  EXPECT_THAT(placed(R"(graph "g"
    %x = input f32[1,256] "x"
    %w = parameter f32[256,400] "w" = random 1
    %a = matmul %x, %w
    return %a "a")",
                     targets),
              ElementsAre(1));
}

TEST(Place, AStateLivesWithItsUpdater) {
  Graph graph = parse(R"(graph "g"
    %x = input f32[4] "x"
    %s = state f32[25600] "s"
    %a = softmax %s
    return %a "a")");
  graph.add_state_pair({graph.inputs()[1], 0});
  DeviceRow host = near_device();
  const DeviceRow far = far_device();
  host.cost.dispatch_ps += 50'000'000;
  const Target targets[] = {{"host", &host}, {"far", &far}};
  // 100 KiB would take 120 us each way; 50 us are saved.
  const auto placement = place(graph, targets, {});
  ASSERT_TRUE(placement.ok()) << placement.status().message();
  EXPECT_THAT(devices_of(*placement), ElementsAre(1));
}

TEST(Place, ViewsFollowTheirProducer) {
  const DeviceRow host = near_device({"pointwise"}), far = far_device({"softmax"});
  const Target targets[] = {{"host", &host}, {"far", &far}};
  EXPECT_THAT(placed(R"(graph "g"
    %x = input f32[8] "x"
    %v = reshape %x {shape=[2,4]}
    %a = softmax %v
    %r = reshape %a {shape=[8]}
    %b = exp %r
    return %b "b")",
                     targets),
              ElementsAre(1, 1, 1, 0));
}

TEST(Place, EqualsFollowTheOrder) {
  const DeviceRow a = near_device(), b = near_device();
  const std::string text = "graph \"g\"\n %x = input f32[8] \"x\"\n %a = exp %x\n return %a \"a\"";
  const Target ab[] = {{"a", &a}, {"b", &b}}, three[] = {{"c", &b}, {"a", &a}, {"b", &b}};
  EXPECT_THAT(placed(text, ab), ElementsAre(0));
  EXPECT_THAT(placed(text, three), ElementsAre(0));
}

// Alone, each node of the chain is cheaper on the near device; as one kernel the far one wins.
TEST(Place, AChainIsPricedAsFused) {
  DeviceRow host = near_device(), far = near_device();
  host.claims.back().max_nodes = far.claims.back().max_nodes = 64;
  const std::string chain = R"(graph "g"
    %x = input f32[8] "x"
    %a = exp %x
    %b = neg %a
    %c = exp %b
    %d = neg %c
    return %d "d")";
  for (Claim& claim : host.claims) claim.max_nodes = 1;  // fuses nothing
  far.cost.dispatch_ps *= 2;
  const Target targets[] = {{"host", &host}, {"far", &far}};
  EXPECT_THAT(placed(chain, targets), ElementsAre(1, 1, 1, 1));
  FuseOptions unfused;
  unfused.fusion = false;
  EXPECT_THAT(placed(chain, targets, unfused), ElementsAre(0, 0, 0, 0));
}

TEST(Place, ARegionsTimeIsSpreadOverItsMembers) {
  const DeviceRow a = near_device(), b = near_device();
  const Target targets[] = {{"a", &a}, {"b", &b}};
  Graph graph = parse(R"(graph "g"
    %x = input f32[256] "x"
    %a = exp %x
    %b = neg %a
    return %b "b")");
  const auto placement = place(graph, targets, {});
  ASSERT_TRUE(placement.ok());
  // One launch (1 us), 2 KiB of memory (0.2 us), 256 * (8 + 1) flops at 1 ns: 2.304 us.
  const int64_t first = placement->nodes[0].options[0].time_ps,
                second = placement->nodes[1].options[0].time_ps;
  EXPECT_EQ(first + second, 3'504'000);
  EXPECT_GT(first, second);
  EXPECT_EQ(placement->predicted_ps, 3'504'000);
}

TEST(Place, WhatAPluginRefusesIsPricedAlone) {
  const DeviceRow a = near_device(), b = near_device();
  const auto never = [](const Block&) { return Refusal{Code::no_benefit, "not today"}; };
  const Target targets[] = {{"a", &a, false, never}, {"b", &b}};
  EXPECT_THAT(placed(R"(graph "g"
    %x = input f32[256] "x"
    %a = exp %x
    %b = neg %a
    return %b "b")",
                     targets),
              ElementsAre(1, 1));
}

TEST(Place, TargetsOfAlsoRunOnlyWhatIsImpossibleOtherwise) {
  const DeviceRow slow = near_device({"softmax"}), fast = faster(near_device(), 1000);
  const Target targets[] = {{"slow", &slow}, {"fast", &fast, true}};
  EXPECT_THAT(placed(R"(graph "g"
    %x = input f32[8] "x"
    %a = softmax %x
    %b = exp %a
    return %b "b")",
                     targets),
              ElementsAre(0, 1));
}

TEST(Place, AllThatNoTargetRunsIsNamed) {
  const DeviceRow a = near_device({"softmax"}), b = near_device({"matmul"});
  const Target targets[] = {{"a", &a}, {"b", &b, true}};
  Graph graph = parse(R"(graph "g"
    %x = input f32[8] "x"
    %a = exp %x
    %b = neg %a
    return %b "b")");
  const auto placement = place(graph, targets, {});
  ASSERT_FALSE(placement.ok());
  EXPECT_EQ(placement.status().code(), Code::no_device);
  EXPECT_THAT(placement.status().message(), HasSubstr("got 2 without one"));
  EXPECT_THAT(placement.status().message(), HasSubstr("exp as exp; a: exp is not claimed; b: exp"));
  EXPECT_THAT(placement.status().message(), HasSubstr("neg as neg"));
  EXPECT_THAT(placement.status().message(), HasSubstr("targets.also"));
}

// ---- random graphs, all assignments ----

// Nodes of several ops over values of 1 to 4 KiB; views, parameters, a state and outputs among
// them.
Graph random_graph(uint32_t seed) {
  std::mt19937 random(seed);
  Graph graph("g");
  std::vector<ValueId> values;
  const auto type = [&] { return TensorType{Type::f32, {int64_t(random() % 4 + 1) * 256}}; };
  for (int i = 0; i < 2; ++i) values.push_back(graph.add_input(type(), std::to_string(i)));
  values.push_back(graph.add_parameter(Tensor(type()), "p"));
  values.push_back(graph.add_state({Type::f32, {512}}, "s"));
  const ValueId state = values.back();
  const size_t n_nodes = 2 + seed % 10;
  for (size_t i = 0; i < n_nodes; ++i) {
    const ValueId x = values[random() % values.size()];
    const OpId ops[] = {FRL_OP_exp, FRL_OP_softmax, FRL_OP_neg, FRL_OP_reshape};
    const OpId op = ops[random() % 4];
    Attributes attributes(op);
    if (op == FRL_OP_reshape) {
      const int64_t n = graph.shape(x).n_elements();
      attributes.slot(0).list =
          graph.shape(x).rank() == 1 ? std::vector<int64_t>{n / 256, 256} : std::vector<int64_t>{n};
    }
    auto made = graph.emit(op, std::move(attributes), {x});
    EXPECT_TRUE(made.ok()) << made.status().message();
    values.push_back(*made);
  }
  const auto next = graph.emit(FRL_OP_exp, {state});
  graph.add_output(*next, "next");
  graph.add_state_pair({state, 0});
  // Nothing is dead, and an output is made by a kernel.
  const auto uses = graph.count_uses();
  for (size_t v = 4; v < values.size(); ++v)
    if (uses[index(values[v])] == 0 || random() % 5 == 0)
      graph.add_output(*graph.emit(FRL_OP_neg, {values[v]}), std::to_string(v));
  return graph;
}

struct Rates {
  int64_t dispatch, memory, round_trip, to, from;
  bool host;
};

// The design's words again, from the graph: launches and bytes, each value moved once.
double oracle_ps(const Graph& graph, std::span<const Rates> rates, const std::vector<int>& at) {
  double ps = 0;
  const auto kib = [&](ValueId v) { return double(graph.shape(v).n_elements()) * 4 / 1024; };
  const auto lies_in = [&](ValueId v) {
    while (graph.maker(v) && graph.maker(v)->op == FRL_OP_reshape) v = graph.maker(v)->operands[0];
    return v;
  };
  std::map<ValueId, std::set<int>> read_on;
  for (size_t i = 0; i < graph.n_nodes(); ++i) {
    const Node& node = graph.node(NodeId(i));
    if (node.op == FRL_OP_reshape) continue;
    const Rates& r = rates[size_t(at[i])];
    ps += double(r.dispatch) + double(r.memory) * (kib(node.operands[0]) + kib(node.results[0]));
    // exp and softmax count arithmetic, of which the devices here take none.
    read_on[lies_in(node.operands[0])].insert(at[i]);
  }
  std::set<ValueId> outputs;
  for (size_t j = 1; j < graph.outputs().size(); ++j) outputs.insert(graph.outputs()[j].value);
  for (size_t v = 0; v < graph.n_values(); ++v) {
    const ValueId id{uint32_t(v)};
    if (graph.value(id).role == Role::parameter) continue;
    int home = -1;
    if (graph.value(id).role == Role::state)
      home = at[index(graph.value(graph.outputs()[0].value).maker)];
    if (graph.maker(id)) home = at[index(graph.value(id).maker)];
    if (graph.maker(id) && graph.maker(id)->op == FRL_OP_reshape) continue;
    bool leaves = home >= 0 && outputs.count(id) && !rates[size_t(home)].host;
    for (int d : read_on[id]) {
      const Rates& to = rates[size_t(d)];
      if (d == home || (home < 0 && to.host)) continue;
      leaves |= home >= 0;
      ps += double(to.round_trip) + (to.host ? 0 : double(to.to) * kib(id));
    }
    if (!leaves) continue;
    const Rates& from = rates[size_t(home)];
    ps += double(from.round_trip) + (from.host ? 0 : double(from.from) * kib(id));
  }
  return ps;
}

DeviceRow device_of(const Rates& rates, const std::vector<std::string>& claims) {
  DeviceRow row = test::device_claiming(claims);
  row.spaces[0].flags =
      rates.host ? FRL_SPACE_DEVICE | FRL_SPACE_HOST_VISIBLE | FRL_SPACE_ADDRESS : FRL_SPACE_DEVICE;
  row.cost.dispatch_ps = uint64_t(rates.dispatch);
  row.cost.memory_ps_per_kib = uint64_t(rates.memory);
  row.cost.round_trip_ps = uint64_t(rates.round_trip);
  row.cost.to_device_ps_per_kib = uint64_t(rates.to);
  row.cost.from_device_ps_per_kib = uint64_t(rates.from);
  row.cost.arithmetic.clear();
  return row;
}

TEST(Place, TwoDevicesAreExactOnRandomGraphs) {
  FuseOptions unfused;
  unfused.fusion = false;
  int mixed = 0;
  for (uint32_t seed = 0; seed < 100; ++seed) {
    Graph graph = random_graph(seed);
    if (graph.n_nodes() > 11) continue;
    std::mt19937 random(seed);
    const auto below = [&](uint32_t n) { return int64_t(random() % n); };
    Rates rates[2];
    for (Rates& r : rates)
      r = {below(60), below(20), below(20), below(10), below(10), below(2) == 0};
    const bool knows_softmax = below(2) == 0;
    const DeviceRow rows[] = {
        device_of(rates[0], {"softmax", "pointwise"}),
        device_of(rates[1], knows_softmax ? std::vector<std::string>{"softmax", "pointwise"}
                                          : std::vector<std::string>{"pointwise"})};
    const Target targets[] = {{"a", &rows[0]}, {"b", &rows[1]}};
    const auto placement = place(graph, targets, unfused);
    ASSERT_TRUE(placement.ok()) << placement.status().message();
    const std::vector<int> found = devices_of(*placement);
    double least = 1e300;
    for (uint32_t bits = 0; bits < 1u << graph.n_nodes(); ++bits) {
      std::vector<int> at(graph.n_nodes());
      bool may = true;
      for (size_t i = 0; i < at.size(); ++i) {
        at[i] = int(bits >> i & 1);
        may &= at[i] == 0 || knows_softmax || graph.node(NodeId(i)).op != FRL_OP_softmax;
        may &= at[i] == 0 || graph.node(NodeId(i)).op != FRL_OP_reshape;  // no choice of its own
      }
      if (may) least = std::min(least, oracle_ps(graph, rates, at));
    }
    ASSERT_EQ(oracle_ps(graph, rates, found), least) << seed << "\n" << to_text(graph);
    ASSERT_EQ(double(placement->predicted_ps), least) << seed << "\n" << to_text(graph);
    mixed += std::count(found.begin(), found.end(), 0) && std::count(found.begin(), found.end(), 1);
  }
  EXPECT_GT(mixed, 5);  // the easy answers, all on one device, would not do
}

TEST(Place, TheSameGraphIsPlacedTheSameWay) {
  const DeviceRow host = near_device(), far = faster(far_device(), 30), other = far_device();
  const Target targets[] = {{"host", &host}, {"far", &far}, {"other", &other}};
  for (uint32_t seed = 0; seed < 20; ++seed) {
    Graph one = random_graph(seed), two = random_graph(seed);
    const auto a = place(one, targets, {}), b = place(two, targets, {});
    ASSERT_TRUE(a.ok() && b.ok());
    EXPECT_EQ(devices_of(*a), devices_of(*b));
    EXPECT_EQ(a->predicted_ps, b->predicted_ps);
  }
}

}  // namespace
}  // namespace ferrule
