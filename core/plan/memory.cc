#include "core/plan/memory.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "core/base/bytes.h"
#include "core/base/text.h"
#include "core/plan/plan.h"

namespace ferrule {
namespace {

// Lowest aligned offset at which `size` bytes fit between the items in `taken` (sorted by offset).
uint64_t lowest_gap(const std::vector<const MemoryItem*>& taken, uint64_t size, uint64_t align) {
  uint64_t at = 0;
  for (const MemoryItem* item : taken) {
    if (item->offset >= at + size) break;
    at = std::max(at, align_up(item->offset + item->size_bytes, align));
  }
  return at;
}

}  // namespace

Result<std::vector<uint64_t>> assign_offsets(std::vector<MemoryItem>& items,
                                             const MemoryLimits& limits) {
  std::vector<size_t> order(items.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return items[a].size_bytes > items[b].size_bytes; });
  std::vector<uint64_t> blocks;
  std::vector<std::vector<size_t>> placed;  // by block, in the order of offset
  for (size_t i : order) {
    MemoryItem& item = items[i];
    if (item.size_bytes > limits.max_block_bytes)
      return Status(Code::no_memory, cat("arena: want values of at most ", limits.max_block_bytes,
                                         " bytes, got ", item.size_bytes));
    for (uint32_t block = 0;; ++block) {
      if (block == blocks.size()) blocks.push_back(0), placed.emplace_back();
      std::vector<const MemoryItem*> taken;
      for (size_t other : placed[block])
        if (items[other].last >= item.first && items[other].first <= item.last)
          taken.push_back(&items[other]);
      const uint64_t offset = lowest_gap(taken, item.size_bytes, limits.align_bytes);
      if (offset + item.size_bytes > limits.max_block_bytes) continue;
      item.block = block, item.offset = offset;
      blocks[block] = std::max(blocks[block], offset + item.size_bytes);
      auto& row = placed[block];
      row.insert(
          std::upper_bound(row.begin(), row.end(), i,
                           [&](size_t a, size_t b) { return items[a].offset < items[b].offset; }),
          i);
      break;
    }
  }
  return blocks;
}

uint64_t most_live_bytes(const std::vector<MemoryItem>& items) {
  std::map<int64_t, int64_t> change;
  for (const MemoryItem& item : items) {
    change[item.first] += int64_t(item.size_bytes);
    change[item.last + 1] -= int64_t(item.size_bytes);
  }
  int64_t now = 0, most = 0;
  for (const auto& [position, delta] : change) most = std::max(most, now += delta);
  return uint64_t(most);
}

uint64_t Plan::planned_bytes() const {
  uint64_t total = 0;
  for (const auto& blocks : arena_bytes)
    for (uint64_t bytes : blocks) total += bytes;
  return total;
}

}  // namespace ferrule
