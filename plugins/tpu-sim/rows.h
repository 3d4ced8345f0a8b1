// Kernels that work row by row: the axes that stay, flattened, by those that are worked along.
#pragma once

#include "plugins/tpu-sim/emit.h"

namespace tpu_sim {

// How many rows fit at once when a row needs `full` buffers of its columns and `single` of one
// word, all twice.
//   errors  throws FRL_NO_ROOM if one row does not fit
int64_t tile_rows(const Emitter& out, int64_t n_rows, int64_t columns, int64_t full,
                  int64_t single);

class Rows {
 public:
  // `along`: for each axis of x, whether it is worked along.
  Rows(Emitter& out, const frl::Value& x, const std::vector<bool>& along);

  int64_t n_rows() const { return n_rows_; }
  int64_t columns() const { return columns_; }
  // A window of x's index space, or of a result that has it, in rows.
  Window in_rows(const frl::Operand& operand) const;

  // How many rows a tile has that needs `full` buffers of whole rows and one of a word each.
  int64_t tile(int64_t full) const { return tile_rows(out_, n_rows_, columns_, full, 1); }

 private:
  Emitter& out_;
  frl::Value x_;
  std::vector<uint32_t> order_;  // axes: those that stay, then those worked along
  int64_t n_rows_ = 1, columns_ = 1;
};

// Trailing axes.
std::vector<bool> last_axes(const frl::Value& x, int64_t n);
std::vector<bool> one_axis(const frl::Value& x, int64_t axis_from_end);

// Steps that softmax and attention share, on [rows, columns] at `x`; `word` has room for rows.
struct Block {
  BufferId x, word;
  int64_t rows, columns;
};
// x = exp(x - max) / sum, or x - max - log(sum).
void emit_softmax(Emitter& out, const Block& block, bool logarithm, BufferId other);

Lane lane(uint32_t op, BufferId to, int64_t rows, int64_t columns, LaneOperand a,
          LaneOperand b = {});

}  // namespace tpu_sim
