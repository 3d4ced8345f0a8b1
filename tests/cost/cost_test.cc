// The gate's modes and estimates, what a node is charged for, and the file of measured rates.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "core/base/text.h"
#include "core/cost/calibration.h"
#include "core/cost/gate.h"

namespace ferrule {
namespace {

using testing::HasSubstr;

// ---- the gate ----

TEST(Gate, ModesDecide) {
  Cost cost;
  cost.dispatch_ps = 1000, cost.minimum_gain_ps = 1000;
  const Profile two{.launches = 2}, one{.launches = 1};
  const auto fuses = [&](GateMode mode, const Profile& before, const Profile& after) {
    return ask_gate(cost, before, after, {.mode = mode}).fuse;
  };
  for (GateMode mode : {GateMode::plugin, GateMode::calibrated, GateMode::always})
    EXPECT_TRUE(fuses(mode, two, one)) << gate_mode_name(mode);
  EXPECT_FALSE(fuses(GateMode::never, two, one));
  for (GateMode mode : {GateMode::plugin, GateMode::calibrated, GateMode::never})
    EXPECT_FALSE(fuses(mode, one, one)) << gate_mode_name(mode);
  EXPECT_TRUE(fuses(GateMode::always, one, two));
}

TEST(Gate, EstimatesStandForKernelsAlone) {
  Cost cost;
  cost.dispatch_ps = 1000, cost.memory_ps_per_kib = 1000, cost.readback_ps_per_kib = 3000;
  const Profile before{.launches = 9, .host_output_bytes = 2048, .device_bytes = 1 << 20};
  const Profile after{.launches = 1, .one_time_bytes = 1 << 20};
  const GateAnswer answer = ask_gate(cost, before, after, {.expected_runs = 1024}, {500, 700});
  EXPECT_EQ(answer.before_ps, 500 + 2 * 3000);
  EXPECT_EQ(answer.after_ps, 700 + 1000);
}

// ---- the estimate ----

Profile profile_of(const char* text) {
  const auto graph = parse_graph(text);
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  return profile_node(*graph, graph->node(NodeId(graph->n_nodes() - 1)));
}

TEST(Estimate, AProductHasAStartAndAnEnd) {
  const Profile p = profile_of(R"(graph "g"
    %x = input f32[2,3] "x"
    %w = input f32[3,4] "w"
    %y = matmul %x, %w
    return %y "y")");
  EXPECT_EQ(p.flops[FRL_F32], 2 * 2 * 3 * 4 + 24'000);
  EXPECT_EQ(p.device_bytes, 4 * (2 * 3 + 3 * 4 + 2 * 4));
}

TEST(Estimate, ARegionPaysForWhatItMovesInside) {
  const Profile p = profile_of(R"(graph "g"
    %x = input f32[2,8] "x"
    %y = swiglu %x
    return %y "y")");
  EXPECT_EQ(p.device_bytes, 4 * (16 + 8) + 2 * 2 * 4 * 8);
  EXPECT_EQ(p.launches, 1);
}

// ---- the file ----

Calibration some() {
  Calibration out;
  out.date = "2026-11-30";
  out.identity = {"a.b", "1.0", "b0 00ff", "dev \"0\"", "00", "550", 7, uint64_t(-1)};
  out.cost.dispatch_ps = 1, out.cost.round_trip_ps = 2, out.cost.memory_ps_per_kib = 3;
  out.cost.to_device_ps_per_kib = 4, out.cost.from_device_ps_per_kib = 5;
  out.cost.readback_ps_per_kib = 6, out.cost.host_thunk_ps = 7, out.cost.minimum_gain_ps = 8;
  out.cost.arithmetic = {{FRL_F32, FRL_COMPUTE_IEEE, 9}, {FRL_F32, FRL_COMPUTE_BF16X3, 10}};
  return out;
}

TEST(CalibrationFile, ReadsBackWhatWasWritten) {
  const auto read = parse_calibration(to_toml(some()), "f");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(difference(read->identity, some().identity), "");
  EXPECT_EQ(read->date, "2026-11-30");
  auto rates = cost_rates(read->cost), want = cost_rates(some().cost);
  EXPECT_EQ(rates.size(), 10u);
  std::sort(rates.begin(), rates.end()), std::sort(want.begin(), want.end());
  EXPECT_EQ(rates, want);
}

TEST(CalibrationFile, AnyOtherIdentityIsStale) {
  const DeviceIdentity now = some().identity;
  const auto with = [&](auto field, auto value) {
    DeviceIdentity other = now;
    other.*field = value;
    return difference(other, now);
  };
  EXPECT_EQ(with(&DeviceIdentity::plugin, "x"), "plugin: want a.b, got x");
  EXPECT_EQ(with(&DeviceIdentity::version, "x"), "version: want 1.0, got x");
  EXPECT_EQ(with(&DeviceIdentity::build, "x"), "build: want b0 00ff, got x");
  EXPECT_EQ(with(&DeviceIdentity::device, "x"), "device: want dev \"0\", got x");
  EXPECT_EQ(with(&DeviceIdentity::uuid, "x"), "uuid: want 00, got x");
  EXPECT_EQ(with(&DeviceIdentity::driver, "x"), "driver: want 550, got x");
  EXPECT_THAT(with(&DeviceIdentity::fingerprint, 8u),
              HasSubstr("fingerprint: want 0000000000000007"));
  EXPECT_THAT(with(&DeviceIdentity::claims_hash, 8u), HasSubstr("claims: want ffffffffffffffff"));
}

struct Broken {
  const char* from;
  const char* to;
  const char* message;
};
class BrokenFile : public testing::TestWithParam<Broken> {};

TEST_P(BrokenFile, IsASentence) {
  std::string text = to_toml(some());
  const size_t at = text.find(GetParam().from);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, std::strlen(GetParam().from), GetParam().to);
  const auto read = parse_calibration(text, "f");
  ASSERT_FALSE(read.ok());
  EXPECT_THAT(read.status().message(), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    CalibrationFile, BrokenFile,
    testing::Values(
        Broken{"format = 1", "format = 2", "f: format: want 1, got 2"},
        Broken{"dispatch_ps = 1\n", "", "f: want one value of dispatch_ps, got 0"},
        Broken{"dispatch_ps = 1", "dispatch_ps = -1", "f: dispatch_ps: want 0 to"},
        Broken{"dispatch_ps = 1", "dispatch_ps = 1.5", "f: dispatch_ps: want 0 to"},
        Broken{"dispatch_ps = 1", "dispatch_ps = 9000000000000000000", "f: dispatch_ps: want 0 to"},
        Broken{"dispatch_ps = 1", "dispatch_ps = [1, 2]",
               "f: want one value of dispatch_ps, got 2"},
        Broken{"date =", "date", "f:3:"},
        Broken{"date =", "dates =", "f: want one value of date, got 0"},
        Broken{"0000000000000007", "7x", "f: fingerprint: want sixteen hexadecimal digits, got 7x"},
        Broken{"arithmetic.f32.ieee", "arithmetic.f31.ieee", "want arithmetic.TYPE.MODE"},
        Broken{"arithmetic.f32.ieee", "arithmetic.f32.fast", "want arithmetic.TYPE.MODE"},
        Broken{"date =", "more = 1\ndate =", "f: want known keys, got more"}));

TEST(CalibrationFile, OfADeviceHasAPlaceOfItsOwn) {
  EXPECT_EQ(calibration_path("d", some().identity), "d/a.b-dev__0_.toml");
}

TEST(CalibrationFile, IsWrittenIntoANewFolder) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "ferrule_cost_test";
  std::filesystem::remove_all(folder);
  const std::string path = (folder / "a" / "b.toml").string();
  ASSERT_TRUE(write_calibration(path, some()).ok());
  EXPECT_TRUE(read_calibration(path).ok());
  std::ofstream(path) << std::string(1 << 17, '#');
  EXPECT_EQ(read_calibration(path).status().code(), Code::out_of_limits);
  EXPECT_EQ(read_calibration((folder / "none").string()).status().code(), Code::not_found);
  EXPECT_FALSE(write_calibration((folder / "a" / "b.toml" / "c").string(), some()).ok());
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace ferrule
