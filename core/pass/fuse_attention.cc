// Attention with its projections: one packed product before it, one behind it.
#include "core/base/text.h"
#include "core/pass/match.h"

namespace ferrule {
namespace {

// ---- attention block: slots 0 the packed projection, 1 x, 2 qkv weights, 3 qkv bias, 4 attention,
// 5 out weights, 6 out bias, 7 to 9 heads of q, k and v ----

Pattern projection() { return as(0, pat(FRL_OP_matmul_bias_act, {any(1), any(2), any(3)})); }
Pattern heads(uint32_t slot, Pattern packed) {
  return as(slot,
            pat(FRL_OP_transpose, {pat(FRL_OP_reshape, {pat(FRL_OP_slice, {std::move(packed)})})}));
}
Pattern block() {
  const Pattern attended =
      as(4, pat(FRL_OP_attention, {heads(7, projection()), heads(8, any(0)), heads(9, any(0))}));
  return pat(FRL_OP_matmul_bias_act,
             {pat(FRL_OP_reshape, {pat(FRL_OP_transpose, {attended})}), any(5), any(6)});
}

bool moves_heads(const Node& transpose, size_t rank) {
  const auto& order = transpose.attributes.list(FRL_AT_transpose_order);
  for (size_t axis = 0; axis < rank; ++axis) {
    const auto from_end = int64_t(axis) - int64_t(rank);
    const int64_t want = from_end == -3 ? -2 : from_end == -2 ? -3 : from_end;
    if (order[axis] != want) return false;
  }
  return true;
}

// Part `which` of three along the last axis, split into heads.
std::string fits_heads(const Match& m, size_t slot, int64_t which) {
  const Graph& graph = m.graph;
  const Node& transpose = m.maker(slot);
  const Node& reshape = *graph.maker(graph.resolve(transpose.operands[0]));
  const Node& slice = *graph.maker(graph.resolve(reshape.operands[0]));
  const Shape &packed = graph.shape(m[0]), &split = graph.shape(m[slot]);
  const int64_t h = packed.back() / 3;
  const auto& starts = slice.attributes.list(FRL_AT_slice_starts);
  if (!slice.attributes.list(FRL_AT_slice_steps).empty() || starts.back() != which * h ||
      graph.shape(slice.results[0]).back() != h ||
      graph.shape(slice.results[0]).n_elements() * 3 != graph.shape(m[0]).n_elements())
    return "slices: want the thirds of the projection in order";
  if (split.rank() != packed.rank() + 1 || split.rank() < 3 ||
      !moves_heads(transpose, split.rank()) || split.from_end(-3) * split.back() != h ||
      split.from_end(-2) != packed.from_end(-2))
    return "heads: want [.., s, heads, d] with heads moved in front of s";
  return {};
}

std::string fits_block(const Match& m) {
  const Node& attention = m.maker(4);
  if (m.maker(0).attributes.i(0) != 0 || m.graph.node(m.root).attributes.i(0) != 0)
    return "projections: want no activation";
  if (attention.attributes.i(FRL_AT_attention_window) != 0 ||
      attention.attributes.f(FRL_AT_attention_soft_cap) != 0)
    return "attention: want no window and no cap";
  for (int64_t i = 0; i < 3; ++i)
    if (std::string reason = fits_heads(m, size_t(7 + i), i); !reason.empty()) return reason;
  const Node& back = *m.graph.maker(m.graph.resolve(
      m.graph.maker(m.graph.resolve(m.graph.node(m.root).operands[0]))->operands[0]));
  return moves_heads(back, m.graph.shape(m[4]).rank())
             ? std::string()
             : std::string("heads: want them moved back as they came");
}

Result<NodeId> emit_block(const Match& m) {
  const Node& attention = m.maker(4);
  Attributes attributes(FRL_OP_attention_block);
  attributes.set_i(FRL_AT_attention_block_heads, m.graph.shape(m[7]).from_end(-3));
  attributes.set_i(FRL_AT_attention_block_mask, attention.attributes.i(FRL_AT_attention_mask));
  attributes.set_f(FRL_AT_attention_block_scale, attention.attributes.f(FRL_AT_attention_scale));
  const ValueId mask = attention.operands.size() > 3 ? attention.operands[3] : kNoValue;
  return m.graph.emit_node(FRL_OP_attention_block, std::move(attributes),
                           {m[1], m[2], m[5], mask, m[3], m[6]});
}

const FusionRow kBlockRows[] = {{block(), fits_block, emit_block, {}}};

}  // namespace

extern const Pass fuse_attention_block = {
    .name = "fuse_attention_block",
    .doc = "FuseAttentionBlock: one packed projection, attention by heads, the projection back",
    .claim = FRL_OP_attention_block,
    .rows = kBlockRows,
};

}  // namespace ferrule
