// Matrix products, alone or with POINTWISE nodes behind them: tiles of the result, each the sum of
// products of tiles that fit VMEM twice.
#include "plugins/tpu-sim/product.h"

#include <algorithm>
#include <cmath>

#include "plugins/tpu-sim/chain.h"

namespace tpu_sim {
namespace {

// Of tiles. What streams past what is stationary stays whole as far as it goes: an end of it costs
// the array a fill and a drain.
constexpr int64_t kLargestSide = 512, kLongestStream = 4096, kLeastSide = 8;

// Where the next batch lies, for each operand.
struct Batches {
  frl::Extents extents{};
  uint32_t rank = 0;
  std::vector<frl::Extents> strides;  // by operand
  int64_t n() const {
    int64_t n = 1;
    for (uint32_t d = 0; d < rank; ++d) n *= extents[d];
    return n;
  }
  int64_t offset(size_t operand, int64_t batch) const {
    int64_t at = 0;
    for (uint32_t d = rank; d-- > 0; batch /= extents[d])
      at += batch % extents[d] * strides[operand][d];
    return at;
  }
};

// An operand of [.., rows, columns] as this product walks it.
struct Matrix {
  Window window;  // the last two axes
  frl::Extents batch{};
  int64_t rows, columns;
  bool is_same_in_all() const {
    return std::all_of(batch.begin(), batch.end(), [](int64_t s) { return s == 0; });
  }
};

Matrix matrix_of(Emitter& out, const frl::Operand& o, uint32_t rank) {
  Window w = out.window_of(o);
  frl::Extents over = strides_over(o.value, w.strides, rank);
  Matrix m{w, over, rank >= 2 && o.value.rank >= 2 ? w.extents[w.rank - 2] : 1,
           o.value.rank ? w.extents[w.rank - 1] : 1};
  m.window.rank = 2, m.window.extents = {m.rows, m.columns};
  m.window.strides = {over[rank - 2], over[rank - 1]};
  m.batch[rank - 2] = m.batch[rank - 1] = 0;
  return m;
}

// A tile of a matrix: its window, and where it begins.
Load load_of(Emitter& out, const Matrix& m, BufferId to, int64_t base, int64_t row, int64_t column,
             int64_t rows, int64_t columns) {
  Window w = m.window;
  w.extents = {rows, columns};
  const int64_t at = base + row * w.strides[0] + column * w.strides[1];
  return {to, out.window(w), at, 0, rows * columns};
}

class Product {
 public:
  // `main` is the node of the product; those behind it are its epilogue.
  Product(Emitter& out, uint32_t main)
      : out_(out),
        node_(out.region().node(main)),
        result_(out.region().value(node_.results[0])),
        end_(out.region().body(0).first_node + out.region().n_nodes()),
        chain_(out, main + 1, end_, result_.id) {
    const frl::Region& region = out_.region();
    const uint32_t rank = result_.rank;
    a_ = matrix_of(out_, region.operand_of(region.value(node_.operands[0])), rank);
    b_ = matrix_of(out_, region.operand_of(region.value(node_.operands[1])), rank);
    k_ = a_.columns, n_ = b_.columns, m_ = a_.rows;
    passes_ = passes_of(region, a_.window.type);
    for (auto* list : {&chain_.loads(), &chain_.stores()})
      for (Chain::Edge& edge : *list) {
        if (edge.operand.value.rank > rank)
          throw frl::Failure(FRL_NO_SHAPE, "epilogue: want the shape of the product");
        edges_.push_back(matrix_of(out_, edge.operand, rank));
        edges_.back().window.extents = {m_, n_};
      }
    batches_.extents = result_.extents, batches_.rank = rank - 2;
    batches_.strides = {a_.batch, b_.batch};
    for (const Matrix& edge : edges_) batches_.strides.push_back(edge.batch);
    for (const Chain::Edge& edge : chain_.stores())
      if (!std::ranges::equal(edge.operand.value.shape(), result_.shape()))
        throw frl::Failure(FRL_NO_SHAPE, "epilogue: want the shape of the product");
    join_rows();
  }

  void emit() {
    if (result_.n_elements() == 0) return;
    choose_tiles();
    a_pair_ = out_.pair(tm_ * tk_), b_pair_ = out_.pair(tk_ * tn_), acc_ = out_.pair(tm_ * tn_);
    chain_.allocate(tm_ * tn_);
    for (int64_t batch = 0; batch < batches_.n(); ++batch)
      for (int64_t i = 0; i < m_; i += tm_)
        for (int64_t j = 0; j < n_; j += tn_) emit_tile(batch, i, j);
  }

 private:
  // Rows of all batches are rows of one product where the second operand is the same for all and
  // the others lie so.
  void join_rows() {
    if (batches_.rank == 0 || !b_.is_same_in_all()) return;
    const auto step = [&](const Matrix& m) {  // from row to row
      if (m_ > 1) return m.window.strides[0];
      for (uint32_t d = batches_.rank; d-- > 0;)
        if (batches_.extents[d] != 1) return m.batch[d];
      return int64_t{0};
    };
    const auto joins = [&](const Matrix& m) {
      int64_t want = step(m) * m_;
      for (uint32_t d = batches_.rank; d-- > 0; want *= batches_.extents[d])
        if (batches_.extents[d] != 1 && m.batch[d] != want) return false;
      return true;
    };
    if (!joins(a_) || !std::all_of(edges_.begin(), edges_.end(), joins)) return;
    for (Matrix& edge : edges_) edge.window.strides[0] = step(edge);
    a_.window.strides[0] = step(a_);
    m_ *= batches_.n();
    batches_.rank = 0;
  }

  // The largest tiles that fit, halved where they are largest.
  void choose_tiles() {
    const bool output = out_.machine().dataflow == Dataflow::output_stationary;
    tm_ = std::min(m_, output ? kLargestSide : kLongestStream), tn_ = std::min(n_, kLargestSide);
    tk_ = std::min(k_, output ? kLongestStream : kLargestSide);
    int64_t &stream = output ? tk_ : tm_, &side = output ? tm_ : tk_;
    const auto words = [&] {
      const int64_t slots = 1 + int64_t(chain_.n_slots());
      const auto whole = [](int64_t n) { return round_up(std::max<int64_t>(n, 1), kBufferWords); };
      return 2 * (whole(tm_ * tk_) + whole(tk_ * tn_) + slots * whole(tm_ * tn_));
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
    const int64_t rows = std::min(tm_, m_ - i), columns = std::min(tn_, n_ - j);
    const BufferId acc = acc_[++turn_];
    const Tile tile{turn_, rows, columns, acc};
    if (k_ == 0) out_.emit(Fill{acc, rows * columns, 0});
    for (int64_t k = 0; k < k_; k += tk_) {
      const int64_t depth = std::min(tk_, k_ - k);
      const BufferId a =
          fetch(a_, a_pair_, last_a_, {batches_.offset(0, batch), i, k, rows, depth});
      const BufferId b =
          fetch(b_, b_pair_, last_b_, {batches_.offset(1, batch), k, j, depth, columns});
      out_.emit(Multiply{a, b, acc, rows, columns, depth, passes_, k > 0, false});
    }
    if (result_.type == FRL_BF16 && end_ - out_.region().body(0).first_node > 1) {
      Lane round{FRL_OP_identity, acc, {}, rows, columns, 0, 0, true};
      round.in.fill({acc, Form::full});
      out_.emit(round);
    }
    size_t edge = 0;
    const auto place = [&](const Chain::Edge& e) {
      const Matrix& m = edges_[edge];
      const int64_t base = batches_.offset(2 + edge++, batch);
      return load_of(out_, m, chain_.buffer_of(e, tile), base, i, j, rows, columns);
    };
    for (const Chain::Edge& e : chain_.loads()) out_.emit(place(e));
    chain_.emit(tile);
    for (const Chain::Edge& e : chain_.stores()) {
      const Load at = place(e);
      out_.emit(Store{at.to, at.window, at.base, 0, at.n});
    }
  }

  // The buffer with a tile of an operand; what was loaded last is not loaded again.
  struct Place {
    int64_t base = -1, row = 0, column = 0, rows = 0, columns = 0;
    bool operator==(const Place&) const = default;
  };
  struct Loaded {
    Place place;
    int64_t turn = 0;
  };
  BufferId fetch(const Matrix& m, const Pair& pair, Loaded& last, const Place& place) {
    if (place == last.place) return pair[last.turn];
    last = {place, last.turn + 1};
    out_.emit(load_of(out_, m, pair[last.turn], place.base, place.row, place.column, place.rows,
                      place.columns));
    return pair[last.turn];
  }

  Emitter& out_;
  frl::Node node_;
  frl::Value result_;
  uint32_t end_;
  Chain chain_;
  Matrix a_{}, b_{};
  std::vector<Matrix> edges_;  // of the chain: loads, then stores
  Batches batches_;
  int64_t m_ = 0, n_ = 0, k_ = 0, tm_ = 0, tn_ = 0, tk_ = 0, turn_ = 0;
  int passes_ = 1;
  Pair a_pair_, b_pair_, acc_;
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
  if (region.n_nodes() == 0 || region.node(main).op != FRL_OP_matmul)
    throw frl::Failure(FRL_NO_BODY, "product: want a body that begins with matmul");
  Product(out, main).emit();
}

}  // namespace tpu_sim
