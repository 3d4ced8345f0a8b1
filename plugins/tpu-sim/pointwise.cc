// Pointwise regions: flat tiles of the result's elements, loaded, computed, stored.
#include <algorithm>

#include "plugins/tpu-sim/chain.h"

namespace tpu_sim {
namespace {

constexpr int64_t kRegisterWords = kSublanes * kLanes;
constexpr int64_t kMostTileWords = 64 * 1024;

// Gives all edges windows over the same merged axes.
void merge(Chain& chain, const frl::Value& shape) {
  std::vector<frl::Extents> strides;
  std::vector<Chain::Edge*> edges;
  for (auto* list : {&chain.loads(), &chain.stores()})
    for (Chain::Edge& edge : *list) {
      edges.push_back(&edge);
      strides.push_back(strides_over(edge.operand.value, edge.window.strides, shape.rank));
    }
  frl::Extents extents = shape.extents;
  const uint32_t rank = merge_axes(extents, shape.rank, strides);
  for (size_t i = 0; i < edges.size(); ++i) {
    Window& w = edges[i]->window;
    w.rank = rank, w.extents = {}, w.strides = {};
    std::copy_n(extents.begin(), rank, w.extents.begin());
    std::copy_n(strides[i].begin(), rank, w.strides.begin());
  }
}

// Elements of a tile, so that two of each slot fit.
int64_t tile_words(const Emitter& out, size_t n_slots, int64_t n) {
  const int64_t fits = n_slots ? out.free_words() / (2 * int64_t(n_slots)) : kMostTileWords;
  if (fits < std::min(kRegisterWords, round_up(n, kBufferWords)))
    throw frl::Failure(FRL_NO_ROOM,
                       "pointwise: want fewer values at once, got " + std::to_string(n_slots));
  if (n <= fits && n <= kMostTileWords) return n;
  return std::min(kMostTileWords, fits / kRegisterWords * kRegisterWords);
}

}  // namespace

void lower_pointwise(Emitter& out) {
  const frl::Region& region = out.region();
  const frl::Value shape = region.output(0);
  const int64_t n = shape.n_elements();
  for (size_t i = 1; i < region.n_outputs(); ++i)
    if (!std::ranges::equal(region.output(i).shape(), shape.shape()))
      throw frl::Failure(FRL_NO_SHAPE, "pointwise: want results of one shape", int32_t(i));
  if (n == 0) return;
  const uint32_t first = region.body(0).first_node;
  Chain chain(out, first, first + region.n_nodes(), FRL_NO_VALUE);
  merge(chain, shape);
  const int64_t words = tile_words(out, chain.n_slots(), n);
  chain.allocate(words);
  for (int64_t begin = 0, turn = 0; begin < n; begin += words, ++turn) {
    const Tile tile{turn, 1, std::min(words, n - begin), kNoBuffer};
    for (const Chain::Edge& e : chain.loads())
      out.emit(Load{chain.buffer_of(e, tile), out.window(e.window), 0, begin, tile.columns});
    chain.emit(tile);
    for (const Chain::Edge& e : chain.stores())
      out.emit(Store{chain.buffer_of(e, tile), out.window(e.window), 0, begin, tile.columns});
  }
}

// Halves of the last axis are two windows of one operand.
void lower_swiglu(Emitter& out) {
  const frl::Region& region = out.region();
  const frl::Operand x = region.operand(0), y = region.result(0);
  const int64_t n = y.value.n_elements(), half = y.value.rank ? y.value.extent(-1) : 0;
  if (n == 0) return;
  const int64_t gate_at = region.attribute_i(FRL_AT_swiglu_gate_first) != 0 ? 0 : half;
  Window from = out.window_of(x), to = out.window_of(y);
  from.extents = y.value.extents;
  const int64_t step = from.strides[from.rank - 1];
  frl::Extents strides[] = {from.strides, to.strides};
  from.rank = to.rank = merge_axes(to.extents, to.rank, strides);
  from.extents = to.extents, from.strides = strides[0], to.strides = strides[1];
  const int64_t words = tile_words(out, 2, n);
  const Pair up = out.pair(words), gate = out.pair(words);
  for (int64_t begin = 0, turn = 0; begin < n; begin += words, ++turn) {
    const int64_t count = std::min(words, n - begin);
    const bool rounds = y.value.type == FRL_BF16;
    const LaneOperand left{up[turn], Form::full}, right{gate[turn], Form::full};
    out.emit(Load{up[turn], out.window(from), (half - gate_at) * step, begin, count});
    out.emit(Load{gate[turn], out.window(from), gate_at * step, begin, count});
    out.emit(Lane{FRL_OP_silu, gate[turn], {right, right, right}, 1, count, 0, 0, rounds});
    out.emit(Lane{FRL_OP_mul, up[turn], {left, right, left}, 1, count, 0, 0, rounds});
    out.emit(Store{up[turn], out.window(to), 0, begin, count});
  }
}

}  // namespace tpu_sim
