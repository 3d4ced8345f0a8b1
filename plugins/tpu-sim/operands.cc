// Matrix products and convolutions as the tile loop sees them.
#include <algorithm>

#include "plugins/tpu-sim/product.h"

namespace tpu_sim {
namespace {

frl::Operand operand_of(const Emitter& out, const frl::Node& node, size_t i) {
  const frl::Region& region = out.region();
  if (i >= node.operands.size() || node.operands[i] == FRL_NO_VALUE) return {};
  return region.operand_of(region.value(node.operands[i]));
}

// The last two axes are rows and columns, those before them batches.
Matrix last_two(Emitter& out, const frl::Operand& o, uint32_t rank) {
  Matrix m;
  m.window = out.window_of(o);
  m.batch = strides_over(o.value, m.window.strides, rank);
  if (o.value.rank >= 2) m.rows = o.value.extents[o.value.rank - 2];
  if (o.value.rank >= 1) m.columns = o.value.extents[o.value.rank - 1];
  m.window.rank = 2, m.window.extents = {};
  m.window.strides = {m.batch[rank - 2], m.batch[rank - 1]};
  m.batch[rank - 2] = m.batch[rank - 1] = 0;
  return m;
}

std::vector<Chain::Edge*> edges_of(Chain& chain, const frl::Value& result) {
  std::vector<Chain::Edge*> out;
  for (auto* list : {&chain.loads(), &chain.stores()})
    for (Chain::Edge& edge : *list) {
      const frl::Value& v = edge.operand.value;
      const bool stored = list == &chain.stores();
      if (v.rank > result.rank || (stored && !std::ranges::equal(v.shape(), result.shape())))
        throw frl::Failure(FRL_NO_SHAPE, "epilogue: want the shape of the product");
      out.push_back(&edge);
    }
  return out;
}

// Rows of all batches are rows of one product where the second operand is the same for all and the
// others lie so.
void join_rows(ProductShape& s) {
  if (s.batch_rank == 0 || !s.b.is_same_in_all()) return;
  const auto step = [&](const Matrix& m) {  // from row to row
    if (s.m > 1) return m.window.strides[0];
    for (uint32_t d = s.batch_rank; d-- > 0;)
      if (s.batches[d] != 1) return m.batch[d];
    return int64_t{0};
  };
  const auto joins = [&](const Matrix& m) {
    int64_t want = step(m) * s.m;
    for (uint32_t d = s.batch_rank; d-- > 0; want *= s.batches[d])
      if (s.batches[d] != 1 && m.batch[d] != want) return false;
    return true;
  };
  if (!joins(s.a) || !std::all_of(s.edges.begin(), s.edges.end(), joins)) return;
  for (Matrix& edge : s.edges) edge.window.strides[0] = step(edge);
  s.a.window.strides[0] = step(s.a);
  s.m *= s.n_batches();
  s.batch_rank = 0;
}

// An edge of a convolution: rows are channels, columns all places, batches images and groups.
Matrix planes(const Chain::Edge& edge, const frl::Value& y, int64_t group_rows) {
  Matrix m;
  m.window = edge.window;
  const frl::Extents over = strides_over(edge.operand.value, edge.window.strides, y.rank);
  int64_t want = 0;
  bool first = true;
  for (uint32_t d = y.rank; d-- > 2;) {
    if (y.extents[d] == 1) continue;
    if (first) m.window.strides[1] = want = over[d];
    if (over[d] != want) throw frl::Failure(FRL_NO_SHAPE, "epilogue: want whole planes, or none");
    want *= y.extents[d], first = false;
  }
  if (first) m.window.strides[1] = 0;
  m.window.rank = 2, m.window.extents = {}, m.window.strides[0] = over[1];
  m.batch[0] = over[0], m.batch[1] = over[1] * group_rows;
  return m;
}

}  // namespace

int64_t ProductShape::n_batches() const {
  int64_t n = 1;
  for (uint32_t d = 0; d < batch_rank; ++d) n *= batches[d];
  return n;
}
int64_t ProductShape::offset(const Matrix& matrix, int64_t batch) const {
  int64_t at = 0;
  for (uint32_t d = batch_rank; d-- > 0; batch /= batches[d])
    at += batch % batches[d] * matrix.batch[d];
  return at;
}

ProductShape matmul_shape(Emitter& out, const frl::Node& node, Chain& chain) {
  const frl::Value y = out.region().value(node.results[0]);
  ProductShape s;
  s.a = last_two(out, operand_of(out, node, 0), y.rank);
  s.b = last_two(out, operand_of(out, node, 1), y.rank);
  s.m = s.a.rows, s.n = s.b.columns, s.k = s.a.columns;
  for (const Chain::Edge* edge : edges_of(chain, y))
    s.edges.push_back(last_two(out, edge->operand, y.rank));
  s.batches = y.extents, s.batch_rank = y.rank - 2;
  join_rows(s);
  return s;
}

ProductShape conv_shape(Emitter& out, const frl::Node& node, Chain& chain) {
  const frl::Operand x = operand_of(out, node, 0), w = operand_of(out, node, 1),
                     bias = operand_of(out, node, 2);
  const frl::Value y = out.region().value(node.results[0]);
  const int64_t groups = node.attributes.i(FRL_AT_conv_groups);
  std::vector<int64_t> kernel(w.value.extents.begin() + 2, w.value.extents.begin() + w.value.rank);
  Geometry g{frl::read_window(node.attributes, FRL_AT_conv_strides, x.value, y, kernel)};
  g.channels = w.value.extents[1];
  ProductShape s;
  s.m = y.extents[1] / groups, s.n = g.out(), s.k = g.channels * g.taps();
  s.batches = {y.extents[0], groups}, s.batch_rank = 2;
  s.a.window = out.window_of(w);
  s.a.window.rank = 2, s.a.window.extents = {}, s.a.window.strides = {s.k, 1};
  s.a.batch = {0, s.m * s.k};
  s.b.window = out.window_of(x);
  s.b.batch = {x.value.extents[1] * g.in(), g.channels * g.in()};
  s.b.geometry = out.geometry(g);
  for (const Chain::Edge* edge : edges_of(chain, y)) s.edges.push_back(planes(*edge, y, s.m));
  if (!bias.present()) return s;
  Matrix& b = s.biases.emplace_back();
  b.window = out.window_of(bias);
  b.window.strides = {b.window.strides[0], 0};
  b.batch = {0, s.m * b.window.strides[0]};
  b.window.rank = 2, b.window.extents = {};
  return s;
}

}  // namespace tpu_sim
