// Region blocks: the one form in which a region crosses the C ABI.
#pragma once

#include <span>
#include <vector>

#include "core/base/bytes.h"
#include "core/graph/graph.h"

namespace ferrule {

// What is known of a tensor that a region reads or writes, beside its type.
struct Placed {
  bool parameter = false;
  bool state = false;
  uint32_t align_bytes = 1;      // guaranteed for the first element
  std::vector<int64_t> strides;  // in elements; empty: dense, row-major
};

// The bytes of one block; 8-byte aligned, position-independent.
class Block {
 public:
  Block() = default;
  explicit Block(std::vector<uint64_t> words) : words_(std::move(words)) {}
  const frl_region* region() const { return reinterpret_cast<const frl_region*>(words_.data()); }
  Bytes bytes() const { return std::as_bytes(std::span(words_)); }
  uint64_t key() const { return hash_bytes(words_.data(), words_.size() * 8); }
  bool operator==(const Block&) const = default;

 private:
  std::vector<uint64_t> words_;
};

// A literal operand of a region is an input like any other (so it has an argument) and is sent
// along as a value if it has at most this many bytes.
constexpr int64_t kMostLiteralBytes = 4096;

// The block of one node of `graph`: a plain op as a region of its own kind, a closed kind with its
// expansion, an open or vendor's kind with its body. `operands` and `results` are as long as the
// node's; compute is one FRL_COMPUTE_*.
//   errors  those of expand(); out_of_limits for a block of more than 64 MiB
Result<Block> encode_region(const Graph& graph, const Node& node, std::span<const Placed> operands,
                            std::span<const Placed> results, uint32_t compute);

// Checks a block of unknown origin: every number in it may be wrong.
//   errors  invalid_argument naming the first fault
Status check_block(Bytes bytes);

}  // namespace ferrule
