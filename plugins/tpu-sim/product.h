// Products with POINTWISE nodes behind them: what the tile loop (product.cc) needs to know of a
// matrix product or a convolution (operands.cc).
#pragma once

#include <algorithm>

#include "plugins/tpu-sim/chain.h"

namespace tpu_sim {

// How often the array runs for a product of this type in the region's compute mode: 1 for bf16, or
// where reduced products are allowed, 3 for bf16x3, else 6, which keeps all bits of f32.
int passes_of(const frl::Region& region, uint32_t type);

// An operand, or a result, of [batches.., rows, columns].
struct Matrix {
  Window window;  // of rows and columns
  frl::Extents batch{};
  int64_t rows = 1, columns = 1;
  int32_t geometry = -1;  // of patches; -1: elements as they lie

  bool is_same_in_all() const {
    return std::all_of(batch.begin(), batch.end(), [](int64_t s) { return s == 0; });
  }
};

// acc [m, n] = a [m, k] x b [k, n] (+ bias [m]) for each batch.
struct ProductShape {
  Matrix a, b;
  std::vector<Matrix> edges;   // of the chain: what it loads, then what it stores
  std::vector<Matrix> biases;  // one or none: [m, 1]
  frl::Extents batches{};
  uint32_t batch_rank = 0;
  int64_t m = 0, n = 0, k = 0;

  int64_t n_batches() const;
  int64_t offset(const Matrix& matrix, int64_t batch) const;
};

// errors  throws FRL_NO_SHAPE where an edge does not follow the product's rows and columns
ProductShape matmul_shape(Emitter& out, const frl::Node& node, Chain& chain);
ProductShape conv_shape(Emitter& out, const frl::Node& node, Chain& chain);

}  // namespace tpu_sim
