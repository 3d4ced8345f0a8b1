// A body as a row of kernels: pointwise neighbours as one part, runs of nodes that mean a closed
// kind as another, any other node alone.
#pragma once

#include "plugins/cpu/kernels.h"

namespace cpu {

// Where a value of the body is while the kernel runs.
struct Home {
  int argument = -1;             // of the region; -1: in scratch
  uint64_t offset = UINT64_MAX;  // in scratch
};

// What a value of the body is to its region.
enum class Access : uint8_t {
  inside,     // in scratch, though it may be an input or output
  whole,      // an argument as it is
  by_slices,  // an argument that moves from run to run: never packed
};

struct Step {
  KernelPtr kernel;
  std::vector<Home> args;  // inputs, outputs, then scratch
};

struct Program {
  std::vector<Step> steps;
  std::vector<frl_pack> packs;  // of one step side by side, by the region's inputs
  std::vector<size_t> owners;   // by pack: its step
  std::vector<Home> homes;      // by value
  uint64_t scratch_bytes = 0;

  void run(std::byte* const* args, std::byte* scratch, const frl::Call& call) const;
  // As frl::Kernel::pack.
  void pack(uint32_t input, const std::byte* source, std::byte* target, const frl_host* host) const;
};

// Whether every use of a body's value reads it by strides.
bool takes_strides(const frl::Region& region, uint32_t id);

// Splits the region's body into parts and compiles them.
//   access  by value; an input that is not dense must take strides, or be inside
Program build_program(const Context& context, const frl::Region& region,
                      const std::vector<Access>& access);

}  // namespace cpu
