// A program under construction: buffers, windows and instructions, within what the machine has.
#pragma once

#include "plugin-api/sdk/error.h"
#include "plugins/tpu-sim/program.h"

namespace tpu_sim {

constexpr size_t kMostInstructions = size_t{1} << 21;
constexpr int64_t kBufferWords = 128;  // buffers start and end at whole registers' rows

constexpr int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

// Two buffers that tiles use in turn, so that one is filled while the other is worked on.
struct Pair {
  BufferId each[2] = {kNoBuffer, kNoBuffer};
  BufferId operator[](int64_t turn) const { return each[turn & 1]; }
};

class Emitter {
 public:
  Emitter(const Machine& machine, const frl::Region& region) : machine_(machine), region_(region) {}

  const Machine& machine() const { return machine_; }
  const frl::Region& region() const { return region_; }

  // errors  throws FRL_NO_ROOM where VMEM ends
  BufferId buffer(int64_t words);
  Pair pair(int64_t words) { return {{buffer(words), buffer(words)}}; }
  int64_t free_words() const { return machine_.vmem_words() - program_.words; }

  WindowId window(const Window& window);
  uint32_t geometry(const Geometry& geometry);
  // An operand or result as it lies in memory; elements of a literal become the program's own.
  Window window_of(const frl::Operand& operand);

  // errors  throws FRL_NO_ROOM for programs beyond kMostInstructions
  template <class T>
  void emit(const T& instruction) {
    if (program_.code.size() >= kMostInstructions)
      throw frl::Failure(FRL_NO_ROOM, "program: want at most " + std::to_string(kMostInstructions) +
                                          " instructions");
    program_.code.emplace_back(instruction);
  }
  // All of a window to or from the start of a buffer.
  void load(BufferId to, WindowId from, int64_t base = 0);
  void store(BufferId from, WindowId to, int64_t base = 0);
  // One word of this value.
  BufferId scalar(float value);

  Program finish() &&;

 private:
  const Machine& machine_;
  const frl::Region& region_;
  Program program_;
  std::vector<std::pair<float, BufferId>> scalars_;
};

// Strides of v's elements over the last axes of an index space of `rank`: 0 where v repeats.
frl::Extents strides_over(const frl::Value& v, const frl::Extents& strides, uint32_t rank);

// Joins neighbouring axes that every list of strides walks as one, and drops those of extent 1.
//   returns  the new rank
uint32_t merge_axes(frl::Extents& extents, uint32_t rank, std::span<frl::Extents> strides);

// The program of a region.
//   errors  throws FRL_NO_ROOM, FRL_NO_SHAPE, FRL_NO_BODY, FRL_NO_TYPE: what the claims cannot say
Program lower(const Machine& machine, const frl::Region& region);

// One function for each family of kinds; each emits the whole region.
void lower_pointwise(Emitter& out);  // gated_residual too
void lower_swiglu(Emitter& out);
void lower_product(Emitter& out);  // matmul, conv, their fused kinds, epilogue
void lower_pool(Emitter& out);
void lower_resize(Emitter& out);
void lower_softmax(Emitter& out);
void lower_norm(Emitter& out);
void lower_reduce(Emitter& out);
void lower_attention(Emitter& out);
void lower_move(Emitter& out);  // reshape, transpose, broadcast, slice
void lower_concat(Emitter& out);
void lower_pad(Emitter& out);
void lower_gather(Emitter& out);

}  // namespace tpu_sim
