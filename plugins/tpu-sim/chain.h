// POINTWISE nodes of a body on tiles in VMEM: one vector instruction each.
#pragma once

#include "plugins/tpu-sim/emit.h"

namespace tpu_sim {

// One tile of the index space that the nodes share.
struct Tile {
  int64_t turn = 0;               // which of two sets of buffers
  int64_t rows = 1, columns = 0;  // how the vector lanes see it
  BufferId seed = kNoBuffer;      // the seed's elements
};

// The nodes first .. end of a region's body. Values are given to buffers by linear scan, twice, so
// that tiles may follow each other without waiting.
class Chain {
 public:
  // `seed`: a value that comes in a buffer with each tile, or FRL_NO_VALUE.
  //   errors  throws FRL_NO_BODY for a node that is none of lanes.def
  Chain(Emitter& out, uint32_t first, uint32_t end, uint32_t seed);

  // Inputs that each tile loads, and outputs that it stores, all with the strides of `shape`.
  struct Edge {
    uint32_t value;
    frl::Operand operand;
    uint32_t slot = 0;
    Window window;
  };
  std::vector<Edge>& loads() { return loads_; }
  std::vector<Edge>& stores() { return stores_; }
  size_t n_slots() const { return n_slots_; }

  // Gives each slot two buffers of that many words.
  void allocate(int64_t words);
  // The buffer of an edge in this tile.
  BufferId buffer_of(const Edge& edge, const Tile& tile) const;
  // The instructions of a tile whose inputs are loaded.
  void emit(const Tile& tile) const;

 private:
  // Where an operand of a step is: a slot, the seed, or a word of its own.
  struct Source {
    enum Where : uint8_t { slot, seed, word } where = word;
    uint32_t number = 0;
  };
  struct Step {
    uint32_t op, to;
    std::vector<Source> in;
    float p0, p1;
    bool rounds;
  };
  void add_leaf(uint32_t value);
  void add_step(const frl::Node& node);
  void assign_slots(uint32_t first, uint32_t end);
  Source source_of(uint32_t value) const;
  LaneOperand operand_of(const Source& source, const Tile& tile) const;

  Emitter& out_;
  uint32_t seed_;
  std::vector<Edge> loads_, stores_;
  std::vector<Step> steps_;
  std::vector<std::pair<uint32_t, Source>> sources_;  // by value
  std::vector<Pair> buffers_;                         // by slot
  size_t n_slots_ = 0;
};

}  // namespace tpu_sim
