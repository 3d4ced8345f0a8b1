// The simulated machine: its sizes and rates, and what each kind of work takes on it.
//
// One core: a 128 x 128 systolic array for products of bf16 with sums in f32, 8 x 128 vector lanes
// of 32 bits, VMEM as the only memory that both work from, and HBM behind DMA. All times follow
// from integers, so the same program takes the same time everywhere.
#pragma once

#include <cstdint>
#include <string>

#include "plugin-api/sdk/rows.h"

namespace tpu_sim {

constexpr int64_t kArrayRows = 128, kArrayColumns = 128;
constexpr int64_t kSublanes = 8, kLanes = 128;
constexpr int64_t kBurstBytes = 64;   // the least that HBM moves
constexpr int64_t kIssueCycles = 16;  // of each instruction, on its unit
constexpr uint64_t kDispatchPs = 3'000'000, kRoundTripPs = 30'000'000;
constexpr uint64_t kHbmBytes = uint64_t{8} << 30, kLargestBytes = uint64_t{2} << 30;

enum class Dataflow : uint8_t { output_stationary, weight_stationary };

// What the options set. The fallbacks are about one core of a TPU v2: 700 MHz, half of 700 GB/s,
// PCIe 3.0 x16 (Norrie et al., "The Design Process for Google's Training Chips", IEEE Micro 2021).
struct Machine {
  int64_t frequency_mhz = 700;
  int64_t hbm_gib_s = 326;
  int64_t dma_gib_s = 14;
  int64_t vmem_kib = 16 * 1024;
  Dataflow dataflow = Dataflow::output_stationary;
  int64_t arrays = 1;  // systolic arrays that share the folds of a product

  bool operator==(const Machine&) const = default;
  int64_t vmem_words() const { return vmem_kib * 256; }
};

std::span<const frl_option> options();

// The machine that the host's settings ask for.
//   errors  throws FRL_INVALID: "key: want .., got .."
Machine machine_of(const frl_host* host);

// Cycles that the array is busy with [m, k] x [k, n]: folds * cycles of a fold.
//   output stationary  ceil(m/R) ceil(n/C) folds of R + C + k - 2: the last of R x C elements meets
//                      its last operands k - 1 cycles after its first, which it gets R - 1 + C - 1
//                      cycles after the corner. Results leave through registers of their own while
//                      the next fold runs; drain_cycles() are what the last fold adds.
//   weight stationary  ceil(k/R) ceil(n/C) folds of 2R + C + m - 2: R to load the weights, then m
//                      rows, of which the last leaves R + C - 2 cycles after it came
//   source             Samajdar et al., "A Systematic Methodology for Characterizing Scalability of
//                      DNN Accelerators using SCALE-Sim", ISPASS 2020, section III; there an output
//                      stationary fold does not overlap its drain: 2R + C + k - 2
int64_t systolic_cycles(const Machine& machine, int64_t m, int64_t n, int64_t k);
int64_t drain_cycles(const Machine& machine);

// Cycles of one vector instruction over [rows, columns]; `weight` steps on each register.
int64_t vector_cycles(int64_t rows, int64_t columns, int64_t weight);

// units  picoseconds
uint64_t cycles_ps(const Machine& machine, int64_t cycles);
uint64_t hbm_ps(const Machine& machine, int64_t bytes);
uint64_t dma_ps(const Machine& machine, int64_t bytes);

}  // namespace tpu_sim
