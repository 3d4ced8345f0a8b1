// Buffers for the slots of a tile program, by linear scan over its steps.
#include <algorithm>

#include "plugins/cpu/pointwise.h"

namespace cpu {

size_t first_write_of(const TileProgram& program, uint32_t slot) {
  for (size_t i = 0; i < program.steps.size(); ++i)
    if (program.steps[i].dst == slot) return i;
  return program.steps.size();
}

void assign_buffers(TileProgram& program, std::vector<uint32_t> slots) {
  const size_t end = program.steps.size();
  std::vector<size_t> last_use(program.n_slots, 0), first_use(program.n_slots, 0);
  for (size_t i = 0; i < end; ++i) {
    const TileStep& s = program.steps[i];
    for (uint32_t slot : {s.dst, s.a, s.b, s.c}) last_use[slot] = i;
  }
  for (uint32_t slot = 0; slot < program.n_slots; ++slot)
    first_use[slot] = first_write_of(program, slot);
  for (const Leaf& leaf : program.leaves) {
    first_use[leaf.slot] = 0;
    if (leaf.form == Leaf::splat) last_use[leaf.slot] = end;  // filled once, for all tiles
  }
  for (const TileOutput& o : program.outputs) last_use[o.slot] = end;
  std::ranges::sort(slots, {}, [&](uint32_t slot) { return first_use[slot]; });
  // Leaves of the first step are all loaded before it, so they share nothing with each other.
  std::vector<std::pair<size_t, uint32_t>> live;  // last use, buffer
  std::vector<uint32_t> free;
  for (uint32_t slot : slots) {
    const bool is_leaf = slot < program.leaves.size();
    std::erase_if(live, [&](const auto& l) {
      if (is_leaf || l.first >= first_use[slot]) return false;
      free.push_back(l.second);
      return true;
    });
    uint32_t buffer = program.n_buffers;
    if (free.empty())
      ++program.n_buffers;
    else
      buffer = free.back(), free.pop_back();
    live.emplace_back(last_use[slot], buffer);
    program.buffers.emplace_back(slot, buffer);
  }
}

}  // namespace cpu
