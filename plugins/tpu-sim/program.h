// What a kernel is on this machine: a list of instructions over buffers in VMEM, and what it takes.
//
// Shapes are static and no instruction's time depends on data, so a program is timed when it is
// made (schedule.cc) and only executed when it runs (execute.cc).
#pragma once

#include <array>
#include <cstddef>
#include <variant>
#include <vector>

#include "plugin-api/sdk/region.h"
#include "plugin-api/sdk/window.h"
#include "plugins/tpu-sim/machine.h"

namespace tpu_sim {

// A tensor in HBM as an index space: element (i0, i1, ..) lies at base + i . strides.
struct Window {
  int argument = -1;  // of the kernel; -1: literal number `literal` of the program
  uint32_t literal = 0;
  uint32_t type = FRL_F32;
  uint32_t rank = 0;
  frl::Extents extents{}, strides{};  // elements

  bool operator==(const Window&) const = default;
  int64_t n_elements() const {
    int64_t n = 1;
    for (uint32_t d = 0; d < rank; ++d) n *= extents[d];
    return n;
  }
};

using WindowId = uint32_t;
using BufferId = uint32_t;
constexpr BufferId kNoBuffer = UINT32_MAX;
struct Area {
  int64_t at, words;  // in VMEM, 32 bits each
};

// ---- sliding windows ----

struct Geometry : frl::Window {
  int64_t channels = 1;  // of the operand that a window sees
  bool operator==(const Geometry&) const = default;
};

// ---- instructions ----

// Elements begin .. begin + n of a window, its origin moved by `base` elements, between HBM and
// the start of a buffer. On the way they become floats, and the window's type again: 16-bit floats
// are rounded to nearest even, truth values are 0 and 1.
struct Load {
  BufferId to;
  WindowId window;
  int64_t base, begin, n;
};
struct Store {
  BufferId from;
  WindowId window;
  int64_t base, begin, n;
};
// A matrix of patches: rows are (channel, tap), columns (plane, place) of a sliding window, a place
// that of the result. What lies beside the operand is `outside`.
struct Patch {
  // The operand's element; its place in the flat operand; 1 where a tap is inside, or inside or on
  // a pad.
  enum What : uint8_t { value, place, inside, padded };
  BufferId to;
  WindowId window;  // the operand, dense
  uint32_t geometry;
  int64_t base, row, rows, column, columns;
  What what = value;
  bool by_columns = false;  // one column after the other, not one row
  float outside = 0;
};
// Elements begin .. begin + n of a resized tensor: sums over neighbours in the operand, at places
// that the scales (f64, one an axis) say.
struct Sample {
  BufferId to;
  WindowId window, scales;
  int64_t begin, n;
  int64_t mode, coordinate, nearest;  // as the attributes of resize
  double cubic_a;
  bool excludes;           // what lies beside the operand
  uint32_t rank, resized;  // bits: axes whose extent changes
  frl::Extents sizes;      // of the result
};
// HBM to HBM: all of one window into one of the same extents.
struct Move {
  WindowId from, to;
  int64_t from_base, to_base;
};
// HBM to HBM: blocks of `inner` elements, chosen by an index.
//   to [outer, n_indices, inner] = from [outer, index, inner], of `extent` blocks
struct Take {
  WindowId from, indices, to;  // flat ones
  int64_t outer, extent, n_indices, inner;
};
// acc [m, n] (+)= a [m, k] x b [k, n], or b [n, k] where it is transposed. Both are rounded to bf16
// in as many pieces as `passes` needs: 1 one piece, 3 two, 6 three (products of pieces that would
// be under the last bit of a float are left out).
struct Multiply {
  BufferId a, b, acc;
  int64_t m, n, k;
  int passes;
  bool adds, b_transposed;
};
// How an operand of a vector instruction meets [rows, columns].
enum class Form : uint8_t { full, row, column, scalar };
struct LaneOperand {
  BufferId buffer = kNoBuffer;
  Form form = Form::full;
};
struct Lane {
  uint32_t op;  // FRL_OP_* of a POINTWISE op
  BufferId to;
  std::array<LaneOperand, 3> in;
  int64_t rows, columns;
  float p0 = 0, p1 = 0;
  bool rounds = false;  // the result to bf16
};
// Each row of [rows, columns] becomes one word.
enum class Folding : uint8_t { add, mul, max, min, place_of_max, place_of_min };
struct Fold {
  Folding by;
  BufferId from, to;
  int64_t rows, columns;
  bool last = false;  // of equals, the last place
};
struct Fill {
  BufferId to;
  int64_t n;
  float value;
};
// Adds -infinity to [rows, columns] where a row may not see a column: row r stands at column
// r + place, sees none behind it that is farther than `window` (0: all), and none before it where
// it is causal.
struct Hide {
  BufferId to;
  int64_t rows, columns, place;
  bool causal;
  int64_t window;
};

using Instruction =
    std::variant<Load, Store, Patch, Sample, Move, Take, Multiply, Lane, Fold, Fill, Hide>;

// ---- programs ----

// How long each unit works.
struct Busy {
  int64_t array_cycles = 0, lane_cycles = 0, hbm_bytes = 0;
};

struct Program {
  std::vector<Window> windows;
  std::vector<Geometry> geometries;
  std::vector<std::vector<std::byte>> literals;
  std::vector<Area> buffers;
  std::vector<Instruction> code;
  int64_t words = 0;  // of VMEM
  Busy busy;
  uint64_t ps = 0;  // from the first instruction's start to the last one's end
};

// Fills `busy` and `ps`. Units work in order, each beside the others; an instruction starts when
// its unit is free and the buffers that it reads are written, and those that it writes are read.
void schedule(const Machine& machine, Program& program);

// Runs a program. `vmem` has room for program.words; args are HBM addresses by place.
//   errors  throws FRL_INVALID for an index out of range
void execute(const Program& program, std::byte* const* args, float* vmem);

int64_t taps_of(const Sample& sample);  // that each element has at most
void run_sample(const Sample& sample, const Window& window, const std::byte* from,
                const double* scales, float* to);
void run_patch(const Patch& patch, const Geometry& geometry, const Window& window,
               const std::byte* from, float* to);

// The lanes' own op table: steps on a register; 0 if they do not have the op.
int lane_weight(uint32_t op);
void run_lane(const Lane& lane, float* to, std::array<const float*, 3> in);
void run_multiply(const Multiply& multiply, float* acc, const float* a, const float* b);

// Bits of the nearest bf16, ties to even.
inline uint16_t bf16_bits(float x) {
  uint32_t bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  if ((bits & 0x7FFFFFFF) > 0x7F800000) return static_cast<uint16_t>(bits >> 16 | 0x40);  // NaN
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}
inline float from_bf16(uint16_t bits) {
  const uint32_t wide = uint32_t{bits} << 16;
  float x;
  __builtin_memcpy(&x, &wide, sizeof x);
  return x;
}
inline float to_bf16(float x) { return from_bf16(bf16_bits(x)); }

}  // namespace tpu_sim
