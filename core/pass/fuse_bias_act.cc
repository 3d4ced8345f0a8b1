// Contractions with what follows them: matmul or conv, then bias, residual, activation, clamp.

#include "core/base/text.h"
#include "core/pass/match.h"

namespace ferrule {
namespace {

// ---- matmul: slots 0 x, 1 w, 2 bias, 3 activation ----

Pattern product() { return pat(FRL_OP_matmul, {any(0), any(1)}); }
Pattern biased() { return pat(FRL_OP_add, {product(), any(2)}); }

Result<NodeId> emit_matmul(const Match& m, bool bias, bool act) {
  Attributes attributes(FRL_OP_matmul_bias_act);
  if (act) attributes.set_i(FRL_AT_matmul_bias_act_activation, m.ops[3]);
  std::vector<ValueId> operands = {m[0], m[1]};
  if (bias) operands.push_back(m[2]);
  return m.graph.emit_node(FRL_OP_matmul_bias_act, std::move(attributes), std::move(operands));
}

const FusionRow kMatmulRows[] = {
    {activation(3, biased()), nullptr, [](const Match& m) { return emit_matmul(m, true, true); }},
    {activation(3, product()), nullptr, [](const Match& m) { return emit_matmul(m, false, true); }},
    {biased(), nullptr, [](const Match& m) { return emit_matmul(m, true, false); }},
};

Result<NodeId> emit_matmul_residual(const Match& m) {
  return m.graph.emit_node(FRL_OP_matmul_residual, Attributes(FRL_OP_matmul_residual),
                           {m[0], m[1], m[2]});
}

const FusionRow kResidualRows[] = {{biased(), nullptr, emit_matmul_residual}};

// ---- conv: slots 0 x, 1 w, 2 residual, 3 activation, 4 high, 5 low ----

Pattern conv() { return pat(FRL_OP_conv, {any(0), any(1)}); }
Pattern with_residual() { return pat(FRL_OP_add, {conv(), any(2)}); }
Pattern clamped(Pattern inner) {
  return pat(FRL_OP_min, {pat(FRL_OP_max, {std::move(inner), number(5)}), number(4)});
}

const Node& conv_of(const Match& m) { return m.graph.node(m.nodes.back()); }

Result<NodeId> emit_conv(const Match& m, bool residual, bool act, bool clamp) {
  const Node& conv = conv_of(m);
  Attributes attributes(FRL_OP_conv_bias_act);
  for (uint32_t slot = 0; slot < conv.attributes.size(); ++slot)
    attributes.slot(slot) = conv.attributes[slot];
  if (act) attributes.set_i(FRL_AT_conv_bias_act_activation, m.ops[3]);
  if (clamp)
    attributes.set_f(FRL_AT_conv_bias_act_low, m.number(5))
        .set_f(FRL_AT_conv_bias_act_high, m.number(4));
  std::vector<ValueId> operands = {m[0], m[1]};
  const bool bias = conv.operands.size() > 2 && conv.operands[2] != kNoValue;
  if (bias || residual) operands.push_back(bias ? m.graph.resolve(conv.operands[2]) : kNoValue);
  if (residual) operands.push_back(m[2]);
  return m.graph.emit_node(FRL_OP_conv_bias_act, std::move(attributes), std::move(operands));
}

const FusionRow kConvRows[] = {
    {activation(3, with_residual()), nullptr,
     [](const Match& m) { return emit_conv(m, true, true, false); }},
    {activation(3, conv()), nullptr,
     [](const Match& m) { return emit_conv(m, false, true, false); }},
    {clamped(conv()), nullptr, [](const Match& m) { return emit_conv(m, false, false, true); }},
    {with_residual(), nullptr, [](const Match& m) { return emit_conv(m, true, false, false); }},
};

}  // namespace

extern const Pass fuse_matmul_bias_act = {
    .name = "fuse_matmul_bias_act",
    .doc = "FuseMatMulBiasAct: matmul, then a bias of the last axis, then an activation",
    .claim = FRL_OP_matmul_bias_act,
    .rows = kMatmulRows,
};

extern const Pass fuse_conv_bias_act = {
    .name = "fuse_conv_bias_act",
    .doc = "FuseConvBiasAct: conv, then a residual, an activation or a clamp",
    .claim = FRL_OP_conv_bias_act,
    .rows = kConvRows,
};

extern const Pass fuse_matmul_residual = {
    .name = "fuse_matmul_residual",
    .doc = "FuseMatMulResidual: matmul, then a residual of the result's shape",
    .claim = FRL_OP_matmul_residual,
    .rows = kResidualRows,
};

}  // namespace ferrule
