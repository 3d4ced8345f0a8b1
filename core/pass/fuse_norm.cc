// Norms with what stands around them: residual sums before, a flattening behind.
#include "core/base/text.h"
#include "core/pass/match.h"

namespace ferrule {
namespace {

// ---- residual sums: slots 0 x, 1 residual, 2 the sum; the root is the norm ----

// Kinds share the first two attributes, axes_n and epsilon.
template <OpId kNorm, OpId kKind>
Result<NodeId> emit_residual(const Match& m) {
  const Node norm = m.graph.node(m.root);
  Attributes attributes(kKind);
  attributes.set_i(0, norm.attributes.i(0)).set_f(1, norm.attributes.f(1));
  attributes.set_i(2, !m.tees.empty());
  std::vector<ValueId> operands = {m[0], m[1]};
  operands.insert(operands.end(), norm.operands.begin() + 1, norm.operands.end());
  return m.graph.emit_node(kKind, std::move(attributes), std::move(operands));
}

template <OpId kNorm, OpId kKind>
const FusionRow kResidualRows[] = {
    {pat(kNorm, {as(2, pat(FRL_OP_add, {any(0), any(1)}))}),
     nullptr,
     emit_residual<kNorm, kKind>,
     {}},
    {pat(kNorm, {tee(2, pat(FRL_OP_add, {any(0), any(1)}))}),
     nullptr,
     emit_residual<kNorm, kKind>,
     {2}},
};

// ---- a norm whose result is flattened: the view goes in front, where it is free ----

std::string flattens(const Match& m) {
  const Shape &x = m.graph.shape(m[0]), &y = m.graph.shape(m.graph.node(m.root).results[0]);
  const Node& norm = m.maker(3);
  if (norm.attributes.i(0) != 1 || y.rank() != 2 || x.rank() < 2 || y.back() != x.back())
    return "reshape: want all leading axes made one and the last one kept";
  return {};
}

Result<NodeId> emit_flat(const Match& m) {
  const Node norm = m.maker(3), reshape = m.graph.node(m.root);
  std::vector<ValueId> operands = norm.operands;
  FRL_LET(operands[0], m.graph.emit(FRL_OP_reshape, reshape.attributes, {m[0]}));
  return m.graph.emit_node(FRL_OP_rms_norm, norm.attributes, std::move(operands));
}

const FusionRow kFlatRows[] = {
    {pat(FRL_OP_reshape, {as(3, pat(FRL_OP_rms_norm, {any(0)}))}), flattens, emit_flat, {}}};

}  // namespace

extern const Pass fuse_residual_layer_norm = {
    .name = "fuse_residual_layer_norm",
    .doc = "FuseResidualLN: layer norm of a sum; the sum is a second result where it is used",
    .claim = FRL_OP_residual_layer_norm,
    .rows = kResidualRows<FRL_OP_layer_norm, FRL_OP_residual_layer_norm>,
};

extern const Pass fuse_residual_rms_norm = {
    .name = "fuse_residual_rms_norm",
    .doc = "FuseResidualRmsNorm: the same for rms norm",
    .claim = FRL_OP_residual_rms_norm,
    .rows = kResidualRows<FRL_OP_rms_norm, FRL_OP_residual_rms_norm>,
};

extern const Pass fuse_rms_norm_reshape = {
    .name = "fuse_rms_norm_reshape",
    .doc = "FuseRmsNormReshape: a flattening behind an rms norm goes in front of it",
    .when = unless_off,
    .rows = kFlatRows,
};

}  // namespace ferrule
