// Pointwise regions as a program over tiles: each step runs one op on a whole tile, operands lie in
// slots. A slot is a buffer of the tile, or the caller's memory where that has the right form.
#pragma once

#include "plugins/cpu/kernels.h"

namespace cpu {

// How elements of a type look in a tile.
Work work_of(uint32_t type);
int64_t work_bytes(Work work);
inline bool is_16_bit_float(uint32_t type) { return type == FRL_F16 || type == FRL_BF16; }

struct TileStep {
  TileFn fn;
  uint32_t dst, a, b, c;  // slots
  double p[2];
};

// Rows of this many elements have tiles of their own where a leaf has gaps.
constexpr int64_t kLongRow = 256;

// An input or a literal.
struct Leaf {
  enum Form : uint8_t {
    splat,
    direct,   // all of it is one run of memory
    by_rows,  // each row is, and no tile has two of them
    gathered
  };
  Place place;
  Form form;
  uint32_t slot;
  uint32_t type;
  TileFn convert;        // from storage into the tile, or null
  frl::Extents strides;  // elements, over the program's axes
};

struct TileOutput {
  int argument;
  uint32_t slot;
  int64_t bytes;   // of an element
  TileFn convert;  // from the tile into storage; null: the step writes there itself
};

struct TileProgram {
  std::vector<int64_t> axes;  // merged extents; the last one is the row
  std::vector<Leaf> leaves;
  std::vector<TileStep> steps;
  std::vector<TileOutput> outputs;
  std::vector<std::pair<uint32_t, uint32_t>> buffers;  // slot, number of its buffer
  uint32_t n_slots = 0, n_buffers = 0;
  int64_t buffer_bytes = 0;   // of each
  int64_t tile = 0;           // elements
  int64_t rows = 0, row = 0;  // tiles do not reach over the end of a row
  double tile_ns = 0;
};

// errors  throws FRL_NO_BODY or FRL_NO_TYPE for what the program cannot express
TileProgram compile_tiles(const Context& context, const frl::Region& region);
// The first step that writes a slot; the number of steps if none does.
size_t first_write_of(const TileProgram& program, uint32_t slot);
// Gives each of these slots a buffer that no other slot uses at the same time.
void assign_buffers(TileProgram& program, std::vector<uint32_t> slots);
void run_tiles(const TileProgram& program, const frl::Call& call);

}  // namespace cpu
