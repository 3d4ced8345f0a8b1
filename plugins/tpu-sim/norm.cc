// Norms of rows, with a residual before them and factors behind.
#include <algorithm>

#include "plugins/tpu-sim/rows.h"

namespace tpu_sim {
namespace {

struct NormRow {
  uint32_t kind;
  bool centres, has_residual, adapts;  // adapts: scale + 1 is the factor
  uint32_t first_factor;               // operand
};
constexpr NormRow kNorms[] = {
    {FRL_OP_layer_norm, true, false, false, 1},
    {FRL_OP_rms_norm, false, false, false, 1},
    {FRL_OP_residual_layer_norm, true, true, false, 2},
    {FRL_OP_residual_rms_norm, false, true, false, 2},
    {FRL_OP_ada_layer_norm, true, false, true, 1},
    {FRL_OP_group_norm, true, false, false, 1},
};
// Slots that norms share; group_norm has groups and ada_layer_norm rms where others have axes_n.
constexpr uint32_t kFirst = FRL_AT_layer_norm_axes_n, kEpsilon = FRL_AT_layer_norm_epsilon,
                   kSum = FRL_AT_residual_layer_norm_sum;

// A factor: one for each column, loaded once, or a block with each tile.
struct Factor {
  uint32_t op;  // mul or add
  Window window;
  bool repeats, adapts;
  BufferId row = kNoBuffer;
  Pair block;
};

class Norm {
 public:
  Norm(Emitter& out, const NormRow& kind)
      : out_(out), region_(out.region()), kind_(kind), x_(region_.operand(0)) {
    centres_ = kind.kind == FRL_OP_ada_layer_norm ? region_.attribute_i(kFirst) == 0 : kind.centres;
    epsilon_ = static_cast<float>(region_.attribute_f(kEpsilon));
  }

  void emit() {
    if (x_.value.n_elements() == 0) return;
    view();
    count_ = out_.scalar(static_cast<float>(columns_)), least_ = out_.scalar(epsilon_);
    one_ = kind_.adapts ? out_.scalar(1) : kNoBuffer;
    int64_t blocks = 2 + kind_.has_residual;
    for (Factor& f : factors_) {
      blocks += !f.repeats;
      if (!f.repeats) continue;
      f.row = out_.buffer(columns_);
      out_.emit(Load{f.row, out_.window(f.window), 0, 0, columns_});
      if (f.adapts) adapt(f.row, 1);
    }
    const int64_t most = tile_rows(out_, n_rows_, columns_, blocks, 1);
    block_ = out_.pair(most * columns_), square_ = out_.pair(most * columns_);
    word_ = out_.pair(most);
    if (kind_.has_residual) residual_block_ = out_.pair(most * columns_);
    for (Factor& f : factors_)
      if (!f.repeats) f.block = out_.pair(most * columns_);
    for (int64_t r = 0, turn = 0; r < n_rows_; r += most, ++turn)
      emit_tile(turn, r, std::min(most, n_rows_ - r));
  }

 private:
  // Everything as [rows, columns]: the axes that stay, then those that are normalised.
  void view() {
    if (kind_.kind == FRL_OP_group_norm) return view_groups();
    const int64_t axes_n = kind_.kind == FRL_OP_ada_layer_norm ? 1 : region_.attribute_i(kFirst);
    const Rows rows(out_, x_.value, last_axes(x_.value, axes_n));
    n_rows_ = rows.n_rows(), columns_ = rows.columns();
    from_ = rows.in_rows(x_), to_ = rows.in_rows(region_.result(0));
    if (kind_.has_residual) {
      residual_ = rows.in_rows(region_.operand(1));
      if (region_.attribute_i(kSum) != 0) sums_.push_back(rows.in_rows(region_.result(1)));
    }
    const auto kept = static_cast<uint32_t>(int64_t(x_.value.rank) - axes_n);
    for (size_t i = kind_.first_factor; i < region_.n_operands(); ++i)
      if (region_.operand(i).present()) add_factor(i, rows.in_rows(region_.operand(i)), kept);
  }
  // Rows are (image, group), columns (channel of the group, place).
  void view_groups() {
    const frl::Value& x = x_.value;
    const int64_t groups = region_.attribute_i(kFirst), each = x.extents[1] / groups;
    const int64_t places = x.n_elements() / (x.extents[0] * x.extents[1]);
    n_rows_ = x.extents[0] * groups, columns_ = each * places;
    const auto grouped = [&](const frl::Operand& o, const frl::Extents& strides) {
      Window w = out_.window_of(o);
      w.rank = 4, w.extents = {x.extents[0], groups, each, places}, w.strides = strides;
      return w;
    };
    const frl::Extents dense = {x.extents[1] * places, each * places, places, 1};
    from_ = grouped(x_, dense), to_ = grouped(region_.result(0), dense);
    for (size_t i = 1; i < region_.n_operands(); ++i)
      if (region_.operand(i).present())
        add_factor(i, grouped(region_.operand(i), {0, each, 1, 0}), 2);
  }
  void add_factor(size_t operand, const Window& window, uint32_t kept) {
    const bool scales = operand == kind_.first_factor;
    Factor f{scales ? uint32_t(FRL_OP_mul) : uint32_t(FRL_OP_add),
             window,
             true,
             scales && kind_.adapts,
             kNoBuffer,
             {}};
    for (uint32_t d = 0; d < kept; ++d)
      f.repeats &= window.extents[d] == 1 || window.strides[d] == 0;
    factors_.push_back(f);
  }

  void adapt(BufferId factor, int64_t rows) {
    out_.emit(lane(FRL_OP_add, factor, rows, columns_, {factor, Form::full}, {one_, Form::scalar}));
  }

  void emit_tile(int64_t turn, int64_t r, int64_t n) {
    const int64_t begin = r * columns_, words = n * columns_;
    const LaneOperand x{block_[turn], Form::full};
    out_.emit(Load{block_[turn], out_.window(from_), 0, begin, words});
    if (kind_.has_residual) {
      const BufferId residual = residual_block_[turn];
      out_.emit(Load{residual, out_.window(residual_), 0, begin, words});
      Lane add = lane(FRL_OP_add, block_[turn], n, columns_, x, {residual, Form::full});
      add.rounds = x_.value.type == FRL_BF16;
      out_.emit(add);
      for (const Window& sum : sums_)
        out_.emit(Store{block_[turn], out_.window(sum), 0, begin, words});
    }
    normalise({block_[turn], word_[turn], n, columns_}, square_[turn]);
    for (const Factor& f : factors_) {
      if (!f.repeats) {
        out_.emit(Load{f.block[turn], out_.window(f.window), 0, begin, words});
        if (f.adapts) adapt(f.block[turn], n);
      }
      out_.emit(
          lane(f.op, block_[turn], n, columns_, x,
               f.repeats ? LaneOperand{f.row, Form::row} : LaneOperand{f.block[turn], Form::full}));
    }
    out_.emit(Store{block_[turn], out_.window(to_), 0, begin, words});
  }

  void normalise(const Block& at, BufferId square) {
    const LaneOperand x{at.x, Form::full}, word{at.word, Form::column};
    const LaneOperand words{at.word, Form::full};
    const auto mean_of = [&](BufferId from) {
      out_.emit(Fold{Folding::add, from, at.word, at.rows, at.columns});
      out_.emit(lane(FRL_OP_div, at.word, 1, at.rows, words, {count_, Form::scalar}));
    };
    if (centres_) {
      mean_of(at.x);
      out_.emit(lane(FRL_OP_sub, at.x, at.rows, at.columns, x, word));
    }
    out_.emit(lane(FRL_OP_mul, square, at.rows, at.columns, x, x));
    mean_of(square);
    out_.emit(lane(FRL_OP_add, at.word, 1, at.rows, words, {least_, Form::scalar}));
    out_.emit(lane(FRL_OP_sqrt, at.word, 1, at.rows, words));
    out_.emit(lane(FRL_OP_div, at.x, at.rows, at.columns, x, word));
  }

  Emitter& out_;
  const frl::Region& region_;
  const NormRow& kind_;
  frl::Operand x_;
  bool centres_ = true;
  float epsilon_ = 0;
  int64_t n_rows_ = 0, columns_ = 0;
  Window from_, to_, residual_;
  std::vector<Window> sums_;
  std::vector<Factor> factors_;
  BufferId count_ = kNoBuffer, least_ = kNoBuffer, one_ = kNoBuffer;
  Pair block_, square_, word_, residual_block_;
};

}  // namespace

void lower_norm(Emitter& out) {
  for (const NormRow& row : kNorms)
    if (row.kind == out.region().kind()) return Norm(out, row).emit();
}

}  // namespace tpu_sim
