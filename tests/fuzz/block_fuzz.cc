// Region blocks: the checker refuses any bytes or finds them safe to walk.
#include <cstring>
#include <vector>

#include "core/graph/block.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<uint64_t> words((size + 7) / 8);
  if (size) std::memcpy(words.data(), data, size);
  const ferrule::Bytes bytes = std::as_bytes(std::span(words)).first(size);
  const auto status = ferrule::check_block(bytes);
  if (!status.ok()) return status.message().empty() ? __builtin_trap(), 0 : 0;
  // What was found safe can be read to the end.
  const auto* region = reinterpret_cast<const frl_region*>(words.data());
  for (uint32_t i = 0; i < region->nodes.n; ++i) {
    frl_node node;
    FRL_ROW(&node, region, nodes, i);
  }
  return 0;
}
