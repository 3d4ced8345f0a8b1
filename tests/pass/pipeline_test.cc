// Pipelines out of claims: targets/*.txt say what a kind of target claims and costs, and which
// passes the reference runs for it by default. No hardware, no plugin.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "core/base/text.h"
#include "tests/pass/device.h"

namespace ferrule {
namespace {

using testing::ElementsAreArray;

struct TargetFile {
  std::string name;
  std::vector<std::string> claims, pipeline;
  DeviceRow row;
  FuseOptions options;
};

constexpr std::pair<const char*, uint64_t Cost::*> kRates[] = {
    {"dispatch_ps", &Cost::dispatch_ps},
    {"round_trip_ps", &Cost::round_trip_ps},
    {"memory_ps_per_kib", &Cost::memory_ps_per_kib},
    {"readback_ps_per_kib", &Cost::readback_ps_per_kib},
    {"host_thunk_ps", &Cost::host_thunk_ps},
    {"minimum_gain_ps", &Cost::minimum_gain_ps},
};

// "dispatch_ps=50000"
void set_rate(Cost& cost, const std::string& text) {
  const size_t at = text.find('=');
  for (const auto& [name, field] : kRates)
    if (text.substr(0, at) == name) {
      cost.*field = uint64_t(*parse_int(text.substr(at + 1)));
      return;
    }
  ADD_FAILURE() << "unknown rate " << text;
}

TargetFile read_target(const std::filesystem::path& path) {
  TargetFile out{path.stem().string(), {}, {}, {}, {}};
  std::ifstream file(path);
  std::vector<std::string> costs;
  for (std::string line; std::getline(file, line);) {
    const auto words = split(std::string(trim(line)), ' ');
    const std::vector<std::string> rest(words.begin() + 1, words.end());
    if (line[0] == '#') continue;
    if (line[0] == ' ') out.pipeline.push_back(words[0]);
    if (words[0] == "claims") out.claims = rest;
    if (words[0] == "cost") costs = rest;
    if (words[0] == "off") out.options.passes_off.insert(rest.begin(), rest.end());
    if (words[0] == "options") out.options.pointwise = rest[0] != "pointwise=off";
  }
  out.row = test::device_claiming(out.claims);
  for (const std::string& cost : costs) set_rate(out.row.cost, cost);
  return out;
}

std::vector<TargetFile> all_targets() {
  std::vector<TargetFile> out;
  for (const auto& entry : std::filesystem::directory_iterator(FRL_TEST_DATA "/pass/targets"))
    out.push_back(read_target(entry.path()));
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return out;
}

const TargetFile& target(const std::string& name) {
  static const std::vector<TargetFile> kAll = all_targets();
  return *std::find_if(kAll.begin(), kAll.end(), [&](const auto& t) { return t.name == name; });
}

// The passes that the reference has: those whose doc says its name for them. The others serve this
// graph's form: constants, composites, one-node regions.
std::vector<std::string> passes_of(const DeviceRow& row, const FuseOptions& options) {
  std::vector<std::string> out;
  for (const std::string& name : pipeline(row, options))
    for (const Pass* pass : all_passes())
      if (pass->name == name && std::isupper(pass->doc[0])) out.push_back(name);
  return out;
}

class Pipelines : public testing::TestWithParam<std::string> {};

TEST_P(Pipelines, AreTheReferences) {
  const TargetFile& t = target(GetParam());
  EXPECT_THAT(passes_of(t.row, t.options), ElementsAreArray(t.pipeline));
}

TEST_P(Pipelines, LoseWhatAMissingClaimCarries) {
  const TargetFile& t = target(GetParam());
  // Which claims each pass needs; pipelines of region passes need any region kind.
  const std::multimap<std::string, std::string> needs = {
      {"matmul", "fuse_shared_input"},
      {"matmul_bias_act", "fuse_matmul_bias_act"},
      {"conv_bias_act", "fuse_conv_bias_act"},
      {"conv_bias_act", "fuse_conv_affine_act"},
      {"attention_block", "fuse_attention_block"},
      {"residual_layer_norm", "fuse_residual_layer_norm"},
      {"residual_rms_norm", "fuse_residual_rms_norm"},
      {"ada_layer_norm", "fuse_ada_layer_norm"},
      {"gated_residual", "fuse_gated_residual"},
      {"swiglu", "fuse_swiglu_matmuls"},
      {"swiglu", "fuse_swiglu"}};
  for (const std::string& claim : t.claims) {
    if (find_op(claim)->form == Form::open) continue;
    std::vector<std::string> fewer = t.claims, want = t.pipeline;
    std::erase(fewer, claim);
    const auto [first, last] = needs.equal_range(claim);
    for (auto it = first; it != last; ++it) std::erase(want, it->second);
    DeviceRow row = t.row;
    row.claims = test::device_claiming(fewer).claims;
    EXPECT_THAT(passes_of(row, t.options), ElementsAreArray(want)) << "without " << claim;
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Pipelines,
                         testing::Values("cpu", "cuda", "metal", "mlx", "rocm", "tpu", "wgpu"));

TEST(Pipelines, HaveTheReferencesLengths) {
  EXPECT_EQ(target("cpu").pipeline.size(), 19u);
  EXPECT_EQ(target("metal").pipeline.size(), 17u);
  EXPECT_EQ(target("mlx").pipeline.size(), 17u);
  EXPECT_EQ(target("wgpu").pipeline.size(), 18u);
  EXPECT_EQ(target("cuda").pipeline.size(), 17u);
  EXPECT_EQ(target("rocm").pipeline.size(), 15u);
  EXPECT_EQ(target("tpu").pipeline.size(), 14u);
}

TEST(Pipelines, WithoutFusionOnlyLower) {
  FuseOptions off;
  off.fusion = false;
  EXPECT_THAT(passes_of(target("metal").row, off),
              testing::ElementsAre("lower_dot_general", "drop_dead"));
}

// The reference's case: a spectrum that is not read back, for one launch and a step of the host
// more.
GateAnswer ask(const std::string& name) {
  Profile before, after;
  before.launches = 3, before.host_output_bytes = 33'554'432, before.device_bytes = 184'549'376;
  after.launches = 4, after.syncs = 1, after.host_output_bytes = 1'048'576,
  after.device_bytes = 219'152'384;
  return ask_gate(target(name).row.cost, before, after, {});
}

TEST(Gate, FusesOnOneTargetAndRefusesOnAnother) {
  // Nanoseconds as the reference states them; rates are rounded to whole picoseconds a KiB.
  const auto near = [](const GateAnswer& answer, double ns) {
    return std::abs(double(answer.gain_ps) / 1000 - ns) < std::abs(ns) * 1e-4;
  };
  EXPECT_TRUE(ask("metal").fuse && near(ask("metal"), 30'327'340.96)) << ask("metal").gain_ps;
  EXPECT_TRUE(!ask("cuda").fuse && near(ask("cuda"), -14'415'136.64)) << ask("cuda").gain_ps;
  EXPECT_TRUE(!ask("wgpu").fuse && near(ask("wgpu"), -24'566'383.68)) << ask("wgpu").gain_ps;
  // With a readback rate of its own, and not that of unified memory taken for 1 byte a nanosecond.
  EXPECT_TRUE(!ask("cpu").fuse && near(ask("cpu"), -692'110.16 + 32'505'856 / 50.0))
      << ask("cpu").gain_ps;
}

TEST(Gate, ModesOverruleTheSum) {
  const Cost& cost = target("cuda").row.cost;
  Profile dear, cheap;
  dear.launches = 100;
  EXPECT_FALSE(ask_gate(cost, cheap, dear, {}).fuse);
  EXPECT_TRUE(ask_gate(cost, cheap, dear, {.mode = GateMode::always}).fuse);
  EXPECT_TRUE(ask_gate(cost, dear, cheap, {}).fuse);
  EXPECT_FALSE(ask_gate(cost, dear, cheap, {.mode = GateMode::never}).fuse);
}

TEST(Gate, OneTimeBytesAreSpreadOverTheRuns) {
  const Cost& cost = target("cuda").row.cost;
  Profile before, after;
  before.device_bytes = 1 << 20;
  after.one_time_bytes = 64 << 20;
  EXPECT_FALSE(ask_gate(cost, before, after, {.expected_runs = 1}).gain_ps > 0);
  EXPECT_TRUE(ask_gate(cost, before, after, {.expected_runs = 1000}).gain_ps > 0);
}

}  // namespace
}  // namespace ferrule
