#include "plugins/tpu-sim/machine.h"

#include <algorithm>
#include <charconv>

#include "plugin-api/sdk/error.h"

namespace tpu_sim {
namespace {

constexpr frl_option kOptions[] = {
    {frl::str("frequency_mhz"), frl::str("700"), frl::str("clock of array and lanes")},
    {frl::str("hbm_gib_s"), frl::str("326"), frl::str("bandwidth of device memory, GiB a second")},
    {frl::str("dma_gib_s"), frl::str("14"),
     frl::str("bandwidth to and from the host, GiB a second")},
    {frl::str("vmem_kib"), frl::str("16384"), frl::str("on-chip memory that kernels work in, KiB")},
    {frl::str("dataflow"), frl::str("output"),
     frl::str("output or weight: what stays in the array")},
};

struct NumberRow {
  const char* key;
  int64_t Machine::*field;
  int64_t least, most;
};
constexpr NumberRow kNumbers[] = {
    {"frequency_mhz", &Machine::frequency_mhz, 1, 100'000},
    {"hbm_gib_s", &Machine::hbm_gib_s, 1, 10'000'000},
    {"dma_gib_s", &Machine::dma_gib_s, 1, 10'000'000},
    {"vmem_kib", &Machine::vmem_kib, 64, 1 << 20},
};

constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Bytes at GiB a second, without overflow for any tensor that fits HBM.
uint64_t bytes_ps(int64_t bytes, int64_t gib_s) {
  constexpr double kPsPerByteAtOneGib = 1e12 / (1 << 30);
  return static_cast<uint64_t>(static_cast<double>(bytes) * kPsPerByteAtOneGib /
                               static_cast<double>(gib_s));
}

}  // namespace

std::span<const frl_option> options() { return kOptions; }

Machine machine_of(const frl_host* host) {
  Machine out;
  for (const NumberRow& row : kNumbers) {
    const std::string text = frl::setting(host, row.key, "");
    if (text.empty()) continue;
    const char* end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, out.*row.field);
    if (error != std::errc() || at != end || out.*row.field < row.least ||
        out.*row.field > row.most)
      throw frl::Failure(FRL_INVALID, std::string(row.key) + ": want " + std::to_string(row.least) +
                                          " to " + std::to_string(row.most) + ", got " + text);
  }
  const std::string dataflow = frl::setting(host, "dataflow", "output");
  if (dataflow != "output" && dataflow != "weight")
    throw frl::Failure(FRL_INVALID, "dataflow: want output or weight, got " + dataflow);
  if (dataflow == "weight") out.dataflow = Dataflow::weight_stationary;
  return out;
}

int64_t systolic_cycles(const Machine& machine, int64_t m, int64_t n, int64_t k) {
  const bool output = machine.dataflow == Dataflow::output_stationary;
  const int64_t folds = ceil_div(output ? m : k, kArrayRows) * ceil_div(n, kArrayColumns);
  const int64_t fold =
      output ? kArrayRows + kArrayColumns + k - 2 : 2 * kArrayRows + kArrayColumns + m - 2;
  return ceil_div(folds, machine.arrays) * fold;
}

int64_t drain_cycles(const Machine& machine) {
  return machine.dataflow == Dataflow::output_stationary ? kArrayRows : 0;
}

int64_t vector_cycles(int64_t rows, int64_t columns, int64_t weight) {
  return ceil_div(rows, kSublanes) * ceil_div(columns, kLanes) * weight;
}

uint64_t cycles_ps(const Machine& machine, int64_t cycles) {
  return static_cast<uint64_t>(cycles) * 1'000'000 / static_cast<uint64_t>(machine.frequency_mhz);
}
uint64_t hbm_ps(const Machine& machine, int64_t bytes) {
  return bytes_ps(bytes, machine.hbm_gib_s);
}
uint64_t dma_ps(const Machine& machine, int64_t bytes) {
  return bytes_ps(bytes, machine.dma_gib_s);
}

}  // namespace tpu_sim
