// Norms and residuals that each sample scales: adaptive norms, gated residuals.
#include "core/base/text.h"
#include "core/pass/match.h"

namespace ferrule {
namespace {

// ---- adaptive norms: slots 0 x, 1 scale, 2 shift, 3 the norm ----

Pattern adapted(OpId norm) {
  return pat(
      FRL_OP_add,
      {pat(FRL_OP_mul, {as(3, pat(norm, {any(0)})), pat(FRL_OP_add, {any(1), lit(1)})}), any(2)});
}
// n + n * scale + shift
Pattern adapted_apart(OpId norm) {
  return pat(
      FRL_OP_add,
      {pat(FRL_OP_add, {as(3, pat(norm, {any(0)})), pat(FRL_OP_mul, {any(3), any(1)})}), any(2)});
}

std::string is_bare(const Match& m) {
  const Node& norm = m.maker(3);
  for (size_t i = 1; i < norm.operands.size(); ++i)
    if (norm.operands[i] != kNoValue) return "norm: want none with scale or shift of its own";
  if (norm.attributes.i(0) != 1) return cat("norm: want one axis, got ", norm.attributes.i(0));
  return {};
}

Result<NodeId> emit_adapted(const Match& m) {
  const Node& norm = m.maker(3);
  return m.graph.emit_node(FRL_OP_ada_layer_norm,
                           Attributes(FRL_OP_ada_layer_norm)
                               .set_i(FRL_AT_ada_layer_norm_rms, norm.op == FRL_OP_rms_norm)
                               .set_f(FRL_AT_ada_layer_norm_epsilon, norm.attributes.f(1)),
                           {m[0], m[1], m[2]});
}

const FusionRow kAdaptedRows[] = {
    {adapted(FRL_OP_layer_norm), is_bare, emit_adapted, {}},
    {adapted(FRL_OP_rms_norm), is_bare, emit_adapted, {}},
    {adapted_apart(FRL_OP_layer_norm), is_bare, emit_adapted, {}},
    {adapted_apart(FRL_OP_rms_norm), is_bare, emit_adapted, {}},
};

// ---- gated residual: slots 0 x, 1 and 2 gate and y ----

// A gate of x's shape is any product: then the rest of the graph knows better.
bool is_gate(const Match& m, size_t gate, size_t y) {
  const Shape &g = m.graph.shape(m[gate]), &x = m.graph.shape(m[0]);
  return m.graph.shape(m[y]) == x && !(g == x) && g.rank() > 0 && x.rank() > 0 &&
         g.back() == x.back();
}
std::string has_gate(const Match& m) {
  if (m[0] == m[1] || m[0] == m[2]) return "y: want another value than x";
  if (!is_gate(m, 1, 2) && !is_gate(m, 2, 1))
    return "gate: want one that broadcasts to x along leading axes";
  return {};
}

const FusionRow kGatedRows[] = {{pat(FRL_OP_add, {any(0), pat(FRL_OP_mul, {any(1), any(2)})}),
                                 has_gate,
                                 [](const Match& m) {
                                   const bool first = is_gate(m, 1, 2);
                                   return m.graph.emit_node(
                                       FRL_OP_gated_residual, Attributes(FRL_OP_gated_residual),
                                       {m[0], first ? m[2] : m[1], first ? m[1] : m[2]});
                                 },
                                 {}}};

}  // namespace

extern const Pass fuse_ada_layer_norm = {
    .name = "fuse_ada_layer_norm",
    .doc = "FuseAdaLayerNorm: a bare norm, scaled by 1 + scale and shifted",
    .claim = FRL_OP_ada_layer_norm,
    .rows = kAdaptedRows,
};

extern const Pass fuse_gated_residual = {
    .name = "fuse_gated_residual",
    .doc = "FuseGatedResidual: x + gate * y",
    .claim = FRL_OP_gated_residual,
    .rows = kGatedRows,
};

}  // namespace ferrule
