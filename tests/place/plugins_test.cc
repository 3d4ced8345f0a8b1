// Placement over devices of real plugins: cpu, the discrete test device, and a made-up third.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/session/compile.h"
#include "tests/pass/device.h"

namespace ferrule {
namespace {

using testing::HasSubstr;

std::shared_ptr<Runtime> runtime(const std::map<std::string, std::string>& settings = {}) {
  Config config;
  EXPECT_TRUE(config.set("targets.order", "cpu,discrete:0", "test").ok());
  for (const auto& [key, value] : settings) EXPECT_TRUE(config.set(key, value, "test").ok());
  RuntimeOptions options;
  options.folders = {FRL_BUILD_DIR "/test_plugins", FRL_BUILD_DIR "/plugins"};
  options.check_plans = true;
  auto out = Runtime::open(config, options);
  EXPECT_TRUE(out.ok()) << out.status().message();
  return *out;
}

Graph parse(const char* text) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  return std::move(*graph);
}

constexpr const char* kMixed = R"(graph "g"
    %x = input f32[3,4] "x"
    %w = parameter f32[4,5] "w" = random 1
    %p = matmul %x, %w
    %a = relu %p
    %s = softmax %a {axis=-1}
    %m = mul %s, %a
    return %m "m")";

TEST(PlaceOverPlugins, ThreeDevicesShareAGraph) {
  const auto loaded = runtime();
  std::vector<Target> targets;
  for (const char* id : {"cpu", "discrete:0"})
    targets.push_back({id, &loaded->find(id)->row(), false, {}});
  // The third is the only one that knows erf, and so dear to reach that nothing else goes there.
  DeviceRow third = test::device_claiming({"erf", "pointwise", "matmul"});
  third.spaces[0].flags = FRL_SPACE_DEVICE;
  third.cost.round_trip_ps = 1'000'000'000;
  targets.push_back({"third", &third, false, {}});
  Graph graph = parse(kMixed);
  const auto cheap = place(graph, targets, {});
  ASSERT_TRUE(cheap.ok()) << cheap.status().message();
  for (const PlacedNode& node : cheap->nodes) EXPECT_EQ(node.device, 0) << node.op;
  // Without work to save, a device that is asked for first keeps what it can run.
  std::swap(targets[0], targets[2]);
  targets[1].also = targets[2].also = true;
  const auto strict = place(graph, targets, {});
  ASSERT_TRUE(strict.ok()) << strict.status().message();
  for (const PlacedNode& node : strict->nodes)
    EXPECT_EQ(node.device, node.op == "softmax" ? 2 : 0) << node.op;
}

// A lock moves the matmul to the discrete device; the plan copies, and the numbers hold.
TEST(PlaceOverPlugins, ALockIsFollowedToTheResult) {
  const auto path = std::string(FRL_BUILD_DIR) + "/place_test.lock";
  std::remove(path.c_str());
  const Graph graph = parse(kMixed);
  {
    const auto loaded = runtime({{"placement.lock", path}});
    auto context = make_compile_context(*loaded);
    ASSERT_TRUE(context.ok()) << context.status().message();
    const auto executable = compile_graph(graph, *context);
    ASSERT_TRUE(executable.ok()) << executable.status().message();
  }
  auto lock = PlacementLock::read(path);
  ASSERT_TRUE(lock.ok()) << lock.status().message();
  std::string text = lock->text();
  const std::string line = "node matmul 0 \"matmul\" = \"";
  const size_t at = text.find(line + "cpu\"");
  ASSERT_NE(at, std::string::npos) << text;
  ASSERT_TRUE(PlacementLock::parse(text.replace(at + line.size(), 3, "discrete:0"), "edited")
                  ->write(path)
                  .ok());
  const auto loaded = runtime({{"placement.lock", path}});
  auto context = make_compile_context(*loaded);
  ASSERT_TRUE(context.ok()) << context.status().message();
  const auto executable = compile_graph(graph, *context);
  std::remove(path.c_str());
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  EXPECT_EQ((*executable)->report().placement.nodes[0].device, 1);
  auto run = (*executable)->make_context();
  ASSERT_TRUE(run.ok()) << run.status().message();
  Tensor x({Type::f32, {3, 4}}), y({Type::f32, {3, 5}});
  for (int64_t i = 0; i < 12; ++i) x.set_f64(i, double(i % 5) - 2);
  const void* const inputs[] = {x.bytes().data()};
  void* const outputs[] = {y.mutable_data()};
  const Status status = (*run)->run(inputs, outputs);
  ASSERT_TRUE(status.ok()) << status.message();
  const Tensor wanted = (*evaluate(graph, std::vector<Tensor>{x}))[0];
  for (int64_t i = 0; i < 15; ++i) EXPECT_NEAR(y.at_f64(i), wanted.at_f64(i), 1e-5);
}

// Bodies of control flow are placed and locked too, under the name of the node around them.
TEST(PlaceOverPlugins, BodiesAreLockedInTheirScope) {
  const auto path = std::string(FRL_BUILD_DIR) + "/place_bodies.lock";
  std::remove(path.c_str());
  const Graph graph = parse(R"(graph "g"
    %c = input bool[] "c"
    %x = input f32[4] "x"
    %e = exp %x
    %y = if %c, %e
    body
      %a = input f32[4] "a"
      %r = exp %a
      return %r "r"
    body
      %a = input f32[4] "a"
      %r = neg %a
      return %r "r"
    return %y "y")");
  std::string texts[2];
  for (std::string& text : texts) {
    const auto loaded = runtime({{"placement.lock", path}});
    auto context = make_compile_context(*loaded);
    ASSERT_TRUE(context.ok()) << context.status().message();
    const auto executable = compile_graph(graph, *context);
    ASSERT_TRUE(executable.ok()) << executable.status().message();
    text = PlacementLock::read(path)->text();
  }
  std::remove(path.c_str());
  EXPECT_EQ(texts[0], texts[1]);
  EXPECT_THAT(texts[0], HasSubstr("exp 0 \"exp\" = "));
  EXPECT_THAT(texts[0], HasSubstr("exp 0 \"if/0: exp\" = "));
  EXPECT_THAT(texts[0], HasSubstr("neg 0 \"if/1: neg\" = "));
}

}  // namespace
}  // namespace ferrule
