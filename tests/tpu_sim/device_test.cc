// What the simulated machine computes, how long it says that takes, and what it says no to.
#include <cmath>

#include "tests/tpu_sim/simulator.h"

namespace ferrule::test {
namespace {

using testing::HasSubstr;

// x to eight bits of significand, ties to even; by arithmetic, not by bits.
double to_eight_bits(double x) {
  if (x == 0) return 0;
  int exponent;
  const double fraction = std::frexp(x, &exponent) * 256;
  return std::ldexp(std::nearbyint(fraction), exponent - 8);
}

// y[m,n], and the sum of the terms' sizes, of operands that `round` has changed.
struct Exact {
  double value, size;
};
template <class Round>
Exact product_at(const Tensor& a, const Tensor& b, int64_t i, int64_t j, Round&& round) {
  const int64_t k = a.shape().back(), n = b.shape().back();
  Exact out{0, 0};
  for (int64_t t = 0; t < k; ++t) {
    const double term = round(a.at_f64(i * k + t)) * round(b.at_f64(t * n + j));
    out.value += term, out.size += std::fabs(term);
  }
  return out;
}

struct Mode {
  uint32_t compute;
  double eps;  // of the sum of the terms' sizes, from the exact product
};

TEST(TpuSim, ProductsAreAsExactAsTheirMode) {
  const Simulator sim;
  ASSERT_TRUE(sim.ok());
  const Graph graph = parse(product("f32", 17, 19, 130));
  const std::vector<Tensor> in = {ramp({Type::f32, {17, 130}}, 1), ramp({Type::f32, {130, 19}}, 2)};
  for (const Mode& mode : {Mode{FRL_COMPUTE_IEEE, 0x1p-21}, Mode{FRL_COMPUTE_BF16X3, 0x1p-15},
                           Mode{FRL_COMPUTE_REDUCED, 0x1p-7}}) {
    const auto run = sim.run(graph, in, mode.compute);
    ASSERT_TRUE(run.ok()) << run.status().message();
    double worst = 0;
    for (int64_t i = 0; i < 17; ++i)
      for (int64_t j = 0; j < 19; ++j) {
        const Exact want = product_at(in[0], in[1], i, j, [](double x) { return x; });
        const double off = std::fabs(run->results[0].at_f64(i * 19 + j) - want.value) / want.size;
        worst = std::max(worst, off);
      }
    EXPECT_LE(worst, mode.eps) << mode.compute;
    EXPECT_GE(worst, mode.eps / 4096) << "want the mode's own rounding, not a better one";
  }
}

TEST(TpuSim, ReducedProductsRoundTheirOperandsToBf16) {
  const Simulator sim;
  const Graph graph = parse(product("f32", 9, 11, 300));
  const std::vector<Tensor> in = {ramp({Type::f32, {9, 300}}, 3), ramp({Type::f32, {300, 11}}, 4)};
  const auto run = sim.run(graph, in, FRL_COMPUTE_REDUCED);
  ASSERT_TRUE(run.ok()) << run.status().message();
  for (int64_t i = 0; i < 9; ++i)
    for (int64_t j = 0; j < 11; ++j) {
      const Exact want = product_at(in[0], in[1], i, j, to_eight_bits);
      EXPECT_NEAR(run->results[0].at_f64(i * 11 + j), want.value, 0x1p-20 * want.size);
    }
}

constexpr const char* kTiled[] = {
    R"(graph "g"
  %a = input f32[3,70,333] "a"
  %b = input f32[333,65] "b"
  %y = matmul %a, %b
  return %y "y"
)",
    R"(graph "g"
  %x = input f32[37,1,500] "x"
  %b = input f32[5,500] "b"
  %y = pointwise %x, %b
  body
    %p = input f32[37,1,500] "p"
    %q = input f32[5,500] "q"
    %s = add %p, %q
    %r = relu %s
    %m = mul %r, %p
    return %m "m"
  return %y "y"
)",
    R"(graph "g"
  %x = input f32[19,3,400] "x"
  %y = softmax %x {axis=-1}
  return %y "y"
)",
    R"(graph "g"
  %x = input f32[90,300] "x"
  %s = input f32[300] "s"
  %t = input f32[300] "t"
  %y = layer_norm %x, %s, %t
  return %y "y"
)",
    R"(graph "g"
  %q = input f32[2,2,50,24] "q"
  %k = input f32[2,2,60,24] "k"
  %v = input f32[2,2,60,20] "v"
  %y = attention %q, %k, %v {mask=1}
  return %y "y"
)",
    R"(graph "g"
  %x = input f32[40,30,20] "x"
  %y = reduce %x {by=49, axes=[-3,-1], keep=0}
  return %y "y"
)",
    R"(graph "g"
  %x = input f32[2,6,19,17] "x"
  %w = input f32[8,3,3,3] "w"
  %b = input f32[8] "b"
  %r = input f32[2,8,10,17] "r"
  %y = conv_bias_act %x, %w, %b, %r {strides=[2,1], pads=[1,1,1,1], groups=2, activation=30}
  return %y "y"
)",
    R"(graph "g"
  %x = input f32[3,5,40,37] "x"
  %y, %p = max_pool %x {kernel=[3,3], strides=[2,2], pads=[1,1,1,1]}
  return %y "y", %p "p"
)",
    R"(graph "g"
  %x = input f32[3,5,40,37] "x"
  %y = avg_pool %x {kernel=[3,2], strides=[2,1], pads=[1,0,0,1], count_pads=1}
  return %y "y"
)",
    R"(graph "g"
  %x = input f32[1,3,40,36] "x"
  %s = parameter f64[4] "s" = 1 1 2 1.5
  %y = resize %x, %s {sizes=[1,3,80,54], mode=1}
  return %y "y"
)",
    R"(graph "g"
  %x = input f32[70,300] "x"
  %r = input f32[70,300] "r"
  %s = input f32[300] "s"
  %y, %z = residual_rms_norm %x, %r, %s {sum=1}
  return %y "y", %z "z"
)",
    R"(graph "g"
  %x = input f32[3,12,9,11] "x"
  %s = input f32[12] "s"
  %t = input f32[12] "t"
  %y = group_norm %x, %s, %t {groups=4}
  return %y "y"
)",
    R"(graph "g"
  %x = input f32[70,2,300] "x"
  %y = swiglu %x {gate_first=1}
  return %y "y"
)",
    R"(graph "g"
  %q = input f32[2,4,50,24] "q"
  %k = input f32[2,1,60,24] "k"
  %v = input f32[2,1,60,20] "v"
  %m = input bool[50,60] "m"
  %y = attention %q, %k, %v, %m {mask=3, window=40, soft_cap=2.5}
  return %y "y"
)",
    R"(graph "g"
  %x = input f32[40,30,20] "x"
  %y = transpose %x {order=[-1,-3,-2]}
  return %y "y"
)"};

// A machine with 64 KiB cuts everything into small tiles.
TEST(TpuSim, TilesOfALittleVmemGiveTheSameResults) {
  const Simulator little(Settings{{"vmem_kib", "64"}});
  ASSERT_TRUE(little.ok());
  const Simulator usual;
  for (const char* text : kTiled) {
    const Graph graph = parse(text);
    std::vector<Tensor> in;
    for (ValueId id : graph.inputs()) in.push_back(ramp(graph.type(id), int(in.size())));
    const auto want = evaluate(graph, in);
    ASSERT_TRUE(want.ok()) << want.status().message();
    for (const Simulator* sim : {&little, &usual}) {
      const auto run = sim->run(graph, in);
      ASSERT_TRUE(run.ok()) << run.status().message();
      for (size_t r = 0; r < want->size(); ++r)
        for (int64_t i = 0; i < (*want)[r].n_elements(); ++i) {
          const double w = (*want)[r].at_f64(i);
          ASSERT_NEAR(run->results[r].at_f64(i), w, 1e-4 + 1e-5 * std::fabs(w))
              << text << "result " << r << ", element " << i;
        }
    }
  }
}

TEST(TpuSim, WhatDoesNotFitVmemIsRefusedWithTheRoom) {
  const Simulator little(Settings{{"vmem_kib", "64"}}), usual;
  const Block row = block_of(parse(R"(graph "g"
  %x = input f32[2,20000] "x"
  %y = softmax %x {axis=-1}
  return %y "y"
)"));
  const Refusal no = little.refuse(row);
  EXPECT_EQ(no.code, Code::no_room);
  EXPECT_THAT(no.text, HasSubstr("rows: want at most"));
  EXPECT_EQ(little.estimate_ps(row), 0u);
  EXPECT_FALSE(usual.refuse(row).refused());
}

TEST(TpuSim, StepsTakeWhatWasEstimatedEveryTime) {
  const Simulator sim;
  for (int64_t n : {1, 100, 513}) {
    const Graph graph = parse(product("f32", n, 64, 65));
    const std::vector<Tensor> in = {ramp({Type::f32, {n, 65}}, 1), ramp({Type::f32, {65, 64}}, 2)};
    const uint64_t want = (sim.estimate_ps(block_of(graph)) + 999) / 1000;
    for (int round = 0; round < 3; ++round) {
      const auto run = sim.run(graph, in);
      ASSERT_TRUE(run.ok()) << run.status().message();
      EXPECT_EQ(run->ns, want);
    }
  }
  EXPECT_GT(sim.device().telemetry().busy_ns, 0u);
}

// Units work beside each other: a large product takes less than the sum of its parts, and no less
// than the longest.
TEST(TpuSim, TransfersLieBesideTheArraysWork) {
  const Graph graph = parse(product("bf16", 2048, 2048, 2048));
  const auto ps = [&](const Settings& settings) {
    const Simulator sim(settings);
    return double(sim.estimate_ps(block_of(graph)) - uint64_t(sim.cost().dispatch_ps));
  };
  const double both = ps({}), array = ps({{"hbm_gib_s", "10000000"}}),
               memory = ps({{"frequency_mhz", "100000"}});
  EXPECT_GE(both, std::max(array, memory) * 0.999);
  EXPECT_LT(both, 0.9 * (array + memory));
}

TEST(TpuSim, AProfileAnswersWithoutADevice) {
  auto runtime = open_runtime({});
  ASSERT_TRUE(runtime.ok());
  const DeviceEntry *one = (*runtime)->find("tpu-sim"),
                    *two = (*runtime)->find("tpu-sim:two-arrays");
  ASSERT_TRUE(one && two);
  EXPECT_EQ(two->row().state, uint32_t(FRL_DEVICE_PROFILE));
  const Block block = block_of(parse(product("bf16", 1024, 1024, 1024)));
  const auto ps = [&](const DeviceEntry& e) { return e.driver->estimate_ps(e.number, block); };
  EXPECT_LT(ps(*two), ps(*one));
  EXPECT_GT(ps(*two), ps(*one) / 2);
  EXPECT_FALSE(two->driver->open(two->number).ok());
}

TEST(TpuSim, OptionsThatAreNoneAreSentences) {
  const struct {
    const char *key, *value, *why;
  } kCases[] = {
      {"frequency_mhz", "0", "frequency_mhz: want 1 to 100000, got 0"},
      {"hbm_gib_s", "fast", "hbm_gib_s: want 1 to 10000000, got fast"},
      {"vmem_kib", "99999999999999999999", "vmem_kib: want 64 to 1048576"},
      {"dataflow", "row", "dataflow: want output or weight, got row"},
  };
  for (const auto& c : kCases) {
    auto runtime = open_runtime({{c.key, c.value}});
    ASSERT_TRUE(runtime.ok());
    EXPECT_THAT((*runtime)->allowed().status().message(), HasSubstr(c.why));
  }
}

}  // namespace
}  // namespace ferrule::test
