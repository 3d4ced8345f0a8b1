// Whole encoder layers with norms behind the sums, out of blocks that are fused already.
#include "core/base/text.h"
#include "core/pass/match.h"

namespace ferrule {
namespace {

// ---- transformer layer: slots 0 x, 1 the block, 2 the first norm, 3 the second product, 4 the
// first product, 5 w 1, 6 b 1, 7 w 2, 8 b 2, 9 to 12 scales and shifts ----

Pattern layer() {
  const Pattern first =
      as(2, pat(FRL_OP_residual_layer_norm,
                {as(1, pat(FRL_OP_attention_block, {any(0)})), any(0), any(9), any(10)}));
  const Pattern hidden = as(4, pat(FRL_OP_matmul_bias_act, {first, any(5), any(6)}));
  return pat(
      FRL_OP_residual_layer_norm,
      {as(3, pat(FRL_OP_matmul_bias_act, {hidden, any(7), any(8)})), any(2), any(11), any(12)});
}

std::string fits_layer(const Match& m) {
  const Node &first = m.maker(2), &last = m.graph.node(m.root), &block = m.maker(1);
  if (first.attributes != last.attributes || first.results.size() != 1 ||
      first.attributes.i(0) != 1)
    return "norms: want two of one axis with equal attributes and no second result";
  if (m.maker(3).attributes.i(0) != 0) return "second product: want no activation";
  if (m.maker(4).attributes.i(0) == 0) return "first product: want an activation";
  if (block.operands.size() != 6 || block.operands[4] == kNoValue || block.operands[5] == kNoValue)
    return "attention block: want biases";
  return {};
}

Result<NodeId> emit_layer(const Match& m) {
  const Node& block = m.maker(1);
  Attributes attributes(FRL_OP_transformer_layer);
  for (uint32_t slot = 0; slot < 3; ++slot) attributes.slot(slot) = block.attributes[slot];
  attributes.set_i(FRL_AT_transformer_layer_activation, m.maker(4).attributes.i(0));
  attributes.set_f(FRL_AT_transformer_layer_epsilon, m.maker(2).attributes.f(1));
  std::vector<ValueId> operands = {m[0],
                                   block.operands[1],
                                   block.operands[2],
                                   block.operands[4],
                                   block.operands[5],
                                   m[9],
                                   m[10],
                                   m[5],
                                   m[6],
                                   m[7],
                                   m[8],
                                   m[11],
                                   m[12]};
  if (block.operands[3] != kNoValue) operands.push_back(block.operands[3]);
  return m.graph.emit_node(FRL_OP_transformer_layer, std::move(attributes), std::move(operands));
}

const FusionRow kLayerRows[] = {{layer(), fits_layer, emit_layer, {}}};

}  // namespace

extern const Pass fuse_transformer_layer = {
    .name = "fuse_transformer_layer",
    .doc =
        "FuseTransformerLayer: attention block, norm, two products, norm (norms behind the sums)",
    .when =
        [](const PassContext& c) {
          const std::string block = unless_claimed(c, FRL_OP_attention_block);
          return block.empty() ? unless_claimed(c, FRL_OP_transformer_layer) : block;
        },
    .rows = kLayerRows,
};

}  // namespace ferrule
