// Matrix products, alone or with POINTWISE nodes behind them: tiles of the result, each the sum of
// products of tiles that fit VMEM twice.
#include "plugins/tpu-sim/product.h"

#include <algorithm>

namespace tpu_sim {
namespace {

// Of tiles. What streams past what is stationary stays whole as far as it goes: an end of it costs
// the array a fill and a drain.
constexpr int64_t kLargestSide = 512, kLongestStream = 4096, kLeastSide = 8;

class Product {
 public:
  // `main` is the node of the product; those behind it are its epilogue.
  Product(Emitter& out, uint32_t main)
      : out_(out),
        node_(out.region().node(main)),
        result_(out.region().value(node_.results[0])),
        end_(out.region().body(0).first_node + out.region().n_nodes()),
        is_alone_(main + 1 == end_),
        chain_(out, main + 1, end_, result_.id),
        shape_(node_.op == FRL_OP_conv ? conv_shape(out, node_, chain_)
                                       : matmul_shape(out, node_, chain_)),
        passes_(passes_of(out.region(), result_.type)) {}

  void emit() {
    if (result_.n_elements() == 0) return;
    choose_tiles();
    a_pair_ = out_.pair(tm_ * tk_), b_pair_ = out_.pair(tk_ * tn_), acc_ = out_.pair(tm_ * tn_);
    if (!shape_.biases.empty()) bias_ = out_.pair(tm_);
    chain_.allocate(tm_ * tn_);
    for (int64_t batch = 0; batch < shape_.n_batches(); ++batch)
      for (int64_t i = 0; i < shape_.m; i += tm_)
        for (int64_t j = 0; j < shape_.n; j += tn_) emit_tile(batch, i, j);
  }

 private:
  // The largest tiles that fit, halved where they are largest.
  void choose_tiles() {
    const bool output = out_.machine().dataflow == Dataflow::output_stationary;
    tm_ = std::min(shape_.m, output ? kLargestSide : kLongestStream);
    tn_ = std::min(shape_.n, kLargestSide);
    tk_ = std::min(shape_.k, output ? kLongestStream : kLargestSide);
    int64_t &stream = output ? tk_ : tm_, &side = output ? tm_ : tk_;
    const auto words = [&] {
      const int64_t slots = 1 + int64_t(chain_.n_slots());
      const auto whole = [](int64_t n) { return round_up(std::max<int64_t>(n, 1), kBufferWords); };
      return 2 * (whole(tm_ * tk_) + whole(tk_ * tn_) + slots * whole(tm_ * tn_) + whole(tm_));
    };
    while (words() > out_.free_words()) {
      int64_t& largest = stream > 4 * std::max(side, tn_) ? stream : side >= tn_ ? side : tn_;
      if (largest <= kLeastSide)
        throw frl::Failure(FRL_NO_ROOM, "product: want more VMEM than " +
                                            std::to_string(out_.machine().vmem_kib) + " KiB");
      largest = largest > kLanes ? round_up(largest / 2, kLanes) : (largest + 1) / 2;
    }
  }

  void emit_tile(int64_t batch, int64_t i, int64_t j) {
    const int64_t rows = std::min(tm_, shape_.m - i), columns = std::min(tn_, shape_.n - j);
    const BufferId acc = acc_[++turn_];
    const Tile tile{turn_, rows, columns, acc};
    if (shape_.k == 0) out_.emit(Fill{acc, rows * columns, 0});
    for (int64_t k = 0; k < shape_.k; k += tk_) {
      const int64_t depth = std::min(tk_, shape_.k - k);
      const Place left{shape_.offset(shape_.a, batch), i, k, rows, depth};
      const Place right{shape_.offset(shape_.b, batch), k, j, depth, columns};
      const BufferId a = fetch(shape_.a, a_pair_, last_a_, left);
      const BufferId b = fetch(shape_.b, b_pair_, last_b_, right);
      out_.emit(Multiply{a, b, acc, rows, columns, depth, passes_, k > 0, false});
    }
    for (const Matrix& bias : shape_.biases) {
      load(bias, bias_[turn_], {shape_.offset(bias, batch), i, 0, rows, 1});
      Lane add{FRL_OP_add, acc, {}, rows, columns};
      add.in = {LaneOperand{acc, Form::full}, {bias_[turn_], Form::column}, {}};
      out_.emit(add);
    }
    if (result_.type == FRL_BF16 && !is_alone_) {
      Lane round{FRL_OP_identity, acc, {}, rows, columns, 0, 0, true};
      round.in.fill({acc, Form::full});
      out_.emit(round);
    }
    emit_chain(tile, batch, i, j);
  }

  void emit_chain(const Tile& tile, int64_t batch, int64_t i, int64_t j) {
    auto edge = shape_.edges.begin();
    const auto place = [&] {
      return Place{shape_.offset(*edge, batch), i, j, tile.rows, tile.columns};
    };
    for (const Chain::Edge& e : chain_.loads()) {
      load(*edge, chain_.buffer_of(e, tile), place());
      ++edge;
    }
    chain_.emit(tile);
    for (const Chain::Edge& e : chain_.stores()) {
      const Load at = load_of(*edge, chain_.buffer_of(e, tile), place());
      out_.emit(Store{at.to, at.window, at.base, 0, at.n});
      ++edge;
    }
  }

  // A tile of a matrix.
  struct Place {
    int64_t base = -1, row = 0, column = 0, rows = 0, columns = 0;
    bool operator==(const Place&) const = default;
  };
  Load load_of(const Matrix& m, BufferId to, const Place& at) {
    Window w = m.window;
    w.extents = {at.rows, at.columns};
    const int64_t base = at.base + at.row * w.strides[0] + at.column * w.strides[1];
    return {to, out_.window(w), base, 0, at.rows * at.columns};
  }
  void load(const Matrix& m, BufferId to, const Place& at) {
    if (m.geometry < 0) return out_.emit(load_of(m, to, at));
    out_.emit(Patch{to, out_.window(m.window), uint32_t(m.geometry), at.base, at.row, at.rows,
                    at.column, at.columns});
  }

  // The buffer with a tile of an operand; what was loaded last is not loaded again.
  struct Loaded {
    Place place;
    int64_t turn = 0;
  };
  BufferId fetch(const Matrix& m, const Pair& pair, Loaded& last, const Place& place) {
    if (place == last.place) return pair[last.turn];
    last = {place, last.turn + 1};
    load(m, pair[last.turn], place);
    return pair[last.turn];
  }

  Emitter& out_;
  frl::Node node_;
  frl::Value result_;
  uint32_t end_;
  bool is_alone_;
  Chain chain_;
  ProductShape shape_;
  int passes_;
  int64_t tm_ = 0, tn_ = 0, tk_ = 0, turn_ = 0;
  Pair a_pair_, b_pair_, acc_, bias_;
  Loaded last_a_, last_b_;
};

}  // namespace

int passes_of(const frl::Region& region, uint32_t type) {
  if (type == FRL_BF16 || region.compute() == FRL_COMPUTE_REDUCED) return 1;
  return region.compute() == FRL_COMPUTE_BF16X3 ? 3 : 6;
}

void lower_product(Emitter& out) {
  const frl::Region& region = out.region();
  const uint32_t main = region.body(0).first_node;
  const uint32_t op = region.n_nodes() ? region.node(main).op : 0;
  if (op != FRL_OP_matmul && op != FRL_OP_conv)
    throw frl::Failure(FRL_NO_BODY, "product: want a body that begins with matmul or conv");
  Product(out, main).emit();
}

}  // namespace tpu_sim
