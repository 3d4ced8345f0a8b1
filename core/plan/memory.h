// Lifetimes to offsets.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/status.h"

namespace ferrule {

// Bytes that are needed from position `first` to `last`, both included.
struct MemoryItem {
  uint64_t size_bytes = 0;
  int64_t first = 0, last = 0;
  uint32_t block = 0;   // result
  uint64_t offset = 0;  // result
};

struct MemoryLimits {
  uint64_t align_bytes = 64;
  uint64_t max_block_bytes = UINT64_MAX;
};

// Greedy by size: the largest item first, each at the lowest free offset of the first block that
// has room (Pisarchyk and Lee, Efficient Memory Management for Deep Neural Net Inference, section
// 5). Returns the size of each block.
//   errors  no_memory for an item larger than a block may be
Result<std::vector<uint64_t>> assign_offsets(std::vector<MemoryItem>& items,
                                             const MemoryLimits& limits);

// The most bytes alive at one position: no assignment can need less.
uint64_t most_live_bytes(const std::vector<MemoryItem>& items);

}  // namespace ferrule
