// The simulated accelerator's array beside SCALE-Sim: cycles of twenty matrix products, closed
// forms, and what a whole step takes with its transfers. Reads tests/tpu_sim/scalesim.txt.
//   bench_simulator FOLDER_OF_PLUGIN FIGURES
#include <cmath>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "core/base/text.h"
#include "core/driver/loader.h"
#include "core/graph/block.h"

namespace {

using namespace ferrule;

struct Figure {
  int64_t m, n, k, recorded[2];  // output, weight stationary
};

Result<Block> product(const Figure& f) {
  FRL_LET(const Graph graph,
          parse_graph(cat("graph \"g\"\n  %a = input bf16[", f.m, ",", f.k,
                          "] \"a\"\n  %b = input bf16[", f.k, ",", f.n,
                          "] \"b\"\n  %y = matmul %a, %b\n  return %y \"y\"\n")));
  const std::vector<Placed> operands(2), results(1);
  return encode_region(graph, graph.node(NodeId(0)), operands, results, FRL_COMPUTE_IEEE);
}

// The device's own answer in microseconds, and in cycles of a machine whose memory is no limit.
struct Answer {
  double us = 0, cycles = 0;
};
Result<Answer> ask(const std::string& path, const Figure& f, const char* dataflow) {
  const auto picoseconds = [&](const char* bandwidth) -> Result<double> {
    Verdict verdict;
    LoadPolicy policy;
    policy.optional_folders = {path};
    policy.settings["org.ferrule.tpu-sim"] = {{"dataflow", dataflow}, {"hbm_gib_s", bandwidth}};
    const Loaded loaded = load_plugins(policy, std::make_shared<Team>(1), {});
    if (loaded.drivers.empty())
      return Status(Code::no_device, cat("tpu-sim: want it in ", path, ", got no plugin"));
    const Driver& driver = *loaded.drivers[0];
    FRL_LET(const Block block, product(f));
    return double(driver.estimate_ps(0, block)) - double(driver.devices()[0].cost.dispatch_ps);
  };
  constexpr double kMhz = 700;
  FRL_LET(const double usual, picoseconds("326"));
  FRL_LET(const double unlimited, picoseconds("10000000"));
  return Answer{usual / 1e6, unlimited * kMhz / 1e6};
}

int fail(const Status& status) {
  std::fprintf(stderr, "bench_simulator: %s\n", status.message().c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return fail(Status(Code::invalid_argument, "want FOLDER_OF_PLUGIN and FIGURES"));
  std::ifstream file(argv[2]);
  std::printf("%18s  %-7s %9s %9s %7s %12s %10s\n", "m x n x k", "keeps", "SCALE-Sim", "formula",
              "off", "with drain", "step us");
  double worst = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    Figure f;
    if (!(words >> f.m >> f.n >> f.k >> f.recorded[0] >> f.recorded[1])) continue;
    for (const bool weight : {false, true}) {
      const double folds =
          std::ceil(double(weight ? f.k : f.m) / 128) * std::ceil(double(f.n) / 128);
      const double formula = folds * double(weight ? 382 + f.m : 254 + f.k);
      const double off = formula / double(f.recorded[weight]) - 1;
      worst = std::max(worst, std::fabs(off));
      const auto answer = ask(argv[1], f, weight ? "weight" : "output");
      if (!answer.ok()) return fail(answer.status());
      std::printf("%5lld x %4lld x %4lld  %-7s %9lld %9.0f %6.2f%% %12.0f %10.2f\n", (long long)f.m,
                  (long long)f.n, (long long)f.k, weight ? "weight" : "output",
                  (long long)f.recorded[weight], formula, 100 * off, answer->cycles, answer->us);
    }
  }
  std::printf("largest difference %.2f %%\n", 100 * worst);
  return worst <= 0.05 ? 0 : 1;
}
