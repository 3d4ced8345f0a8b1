// What matrix products share.
#pragma once

#include "plugins/cpu/gemm.h"

namespace cpu {

// The product as a batch of [m, k] x [k, n], strides in elements.
struct MatmulShape {
  int64_t batch = 1, m = 0, n = 0, k = 0;
  int64_t a_row = 0, a_column = 0, b_row = 0, b_column = 0;
  std::vector<int64_t> a_offsets, b_offsets;  // of each member of the batch; C's follow each other

  MatmulShape(const frl::Operand& a, const frl::Operand& b, const frl::Value& c) {
    const frl::Extents sa = strides_of(a), sb = strides_of(b);
    const uint32_t ra = a.value.rank, rb = b.value.rank;
    m = c.extent(-2), n = c.extent(-1), k = a.value.extent(-1);
    a_row = sa[ra - 2], a_column = sa[ra - 1], b_row = sb[rb - 2], b_column = sb[rb - 1];
    for (uint32_t d = 0; d + 2 < c.rank; ++d) batch *= c.extents[d];
    for (int64_t i = 0; i < batch; ++i) {
      a_offsets.push_back(offset(a.value, sa, c, i));
      b_offsets.push_back(offset(b.value, sb, c, i));
    }
    fold();
  }

  // The same product as c^T = b^T a^T: a column becomes a row.
  void transpose() {
    std::swap(m, n), std::swap(a_offsets, b_offsets);
    std::swap(a_row, b_column), std::swap(a_column, b_row);
  }

 private:
  static frl::Extents strides_of(const frl::Operand& o) {
    return o.argument < 0 ? dense_strides(o.value) : o.value.strides;
  }
  static int64_t offset(const frl::Value& v, const frl::Extents& strides, const frl::Value& c,
                        int64_t i) {
    int64_t at = 0;
    for (uint32_t d = c.rank - 2; d-- > 0; i /= c.extents[d]) {
      const int64_t axis = static_cast<int64_t>(d) - static_cast<int64_t>(c.rank - v.rank);
      if (axis >= 0 && v.extents[static_cast<size_t>(axis)] != 1)
        at += i % c.extents[d] * strides[static_cast<size_t>(axis)];
    }
    return at;
  }
  // One matrix B for all members whose rows of A follow each other: a single tall product.
  void fold() {
    if (batch == 1) return;
    for (int64_t i = 0; i < batch; ++i)
      if (b_offsets[static_cast<size_t>(i)] != 0 ||
          a_offsets[static_cast<size_t>(i)] != i * m * a_row)
        return;
    m *= batch, batch = 1;
  }
};

// matmul of integers.
//   errors  throws FRL_NO_TYPE if they are none
KernelPtr make_integer_matmul(const Context& context, const Request& request);

}  // namespace cpu
