// The array's cycles beside closed forms that are written out here, beside SCALE-Sim's figures, and
// beside what the device says of whole products.
#include <cmath>
#include <fstream>
#include <sstream>

#include "plugins/tpu-sim/machine.h"
#include "tests/tpu_sim/simulator.h"

namespace ferrule::test {
namespace {

struct Figure {
  int64_t m, n, k, os, ws;
};
std::vector<Figure> figures() {
  std::vector<Figure> out;
  std::ifstream file(FRL_TEST_DATA "/tpu_sim/scalesim.txt");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    if (Figure f; words >> f.m >> f.n >> f.k >> f.os >> f.ws) out.push_back(f);
  }
  return out;
}

tpu_sim::Machine machine(tpu_sim::Dataflow dataflow) {
  tpu_sim::Machine out;
  out.dataflow = dataflow;
  return out;
}
const tpu_sim::Machine kOutput = machine(tpu_sim::Dataflow::output_stationary);
const tpu_sim::Machine kWeight = machine(tpu_sim::Dataflow::weight_stationary);

// Steps an array that is fed in skew until it is done, fold by fold, with nothing but the rule of
// when an operand is where.
int64_t stepped(bool output, int64_t m, int64_t n, int64_t k) {
  constexpr int64_t kSide = 128;
  int64_t total = 0;
  for (int64_t r = 0; r < (output ? m : k); r += kSide)
    for (int64_t c = 0; c < n; c += kSide) {
      // Output stationary: element (i, j) meets operand t at cycle i + j + t. Weight stationary:
      // row t of the input meets weight (i, j) at cycle kSide + i + j + t.
      int64_t last = 0;
      for (int64_t i : {int64_t{0}, kSide - 1})
        for (int64_t j : {int64_t{0}, kSide - 1})
          last = std::max(last, output ? i + j + k - 1 : kSide + i + j + m - 1);
      total += last + 1;
    }
  return total;
}

TEST(Systolic, TwentyShapesAreRecorded) { EXPECT_GE(figures().size(), 20u); }

TEST(Systolic, CyclesAreThoseOfAnArrayStepByStep) {
  for (const Figure& f : figures()) {
    EXPECT_EQ(tpu_sim::systolic_cycles(kOutput, f.m, f.n, f.k), stepped(true, f.m, f.n, f.k));
    EXPECT_EQ(tpu_sim::systolic_cycles(kWeight, f.m, f.n, f.k), stepped(false, f.m, f.n, f.k));
  }
}

// The published forms: output stationary (2R + C + k - 2) a fold with its drain, weight stationary
// (2R + C + m - 2).
TEST(Systolic, CyclesAreThoseOfTheClosedForms) {
  for (const Figure& f : figures()) {
    const double rows = std::ceil(double(f.m) / 128), columns = std::ceil(double(f.n) / 128),
                 depth = std::ceil(double(f.k) / 128);
    const double output = rows * columns * (2 * 128 + 128 + double(f.k) - 2);
    const double weight = depth * columns * (2 * 128 + 128 + double(f.m) - 2);
    EXPECT_EQ(double(tpu_sim::systolic_cycles(kOutput, f.m, f.n, f.k)) +
                  rows * columns * double(tpu_sim::drain_cycles(kOutput)),
              output);
    EXPECT_EQ(double(tpu_sim::systolic_cycles(kWeight, f.m, f.n, f.k)), weight);
  }
}

TEST(Systolic, CyclesAreWithinFivePercentOfScaleSim) {
  for (const Figure& f : figures()) {
    const std::string shape = testing::PrintToString(std::vector<int64_t>{f.m, f.n, f.k});
    EXPECT_NEAR(double(tpu_sim::systolic_cycles(kOutput, f.m, f.n, f.k)), double(f.os),
                0.05 * double(f.os))
        << shape;
    EXPECT_NEAR(double(tpu_sim::systolic_cycles(kWeight, f.m, f.n, f.k)), double(f.ws),
                0.05 * double(f.ws))
        << shape;
  }
}

// A product whose memory costs next to nothing takes what the array takes, and the drain of its
// last fold.
TEST(Systolic, WholeProductsTakeTheArraysTime) {
  for (const bool output : {true, false}) {
    const Simulator sim(Settings{{"hbm_gib_s", "10000000"},
                                 {"frequency_mhz", "1000"},
                                 {"dataflow", output ? "output" : "weight"}});
    ASSERT_TRUE(sim.ok());
    for (const Figure& f : figures()) {
      const uint64_t ps = sim.estimate_ps(block_of(parse(product("bf16", f.m, f.n, f.k))));
      const double cycles = double(ps - uint64_t(sim.cost().dispatch_ps)) / 1000;
      const double least = double(output ? f.os : f.ws);
      EXPECT_GE(cycles, least) << f.m << " " << f.n << " " << f.k;
      // 128 cycles of drain, and few for issuing three transfers and a product.
      EXPECT_LE(cycles, 1.05 * least + 128 + 100) << f.m << " " << f.n << " " << f.k;
    }
  }
}

TEST(Systolic, PiecesOfF32TakeAsManyPasses) {
  const Simulator sim(Settings{{"hbm_gib_s", "10000000"}});
  const Graph f32 = parse(product("f32", 512, 512, 512));
  const auto ps = [&](const Graph& graph, uint32_t compute) {
    return double(sim.estimate_ps(block_of(graph, compute)) - uint64_t(sim.cost().dispatch_ps));
  };
  const double one = ps(parse(product("bf16", 512, 512, 512)), FRL_COMPUTE_IEEE);
  EXPECT_NEAR(ps(f32, FRL_COMPUTE_REDUCED) / one, 1, 0.05);
  EXPECT_NEAR(ps(f32, FRL_COMPUTE_BF16X3) / one, 3, 0.1);
  EXPECT_NEAR(ps(f32, FRL_COMPUTE_IEEE) / one, 6, 0.2);
}

}  // namespace
}  // namespace ferrule::test
