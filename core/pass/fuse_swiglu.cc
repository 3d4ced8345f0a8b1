// Gated products, and products that share an operand: their weights are laid side by side, once.
#include "core/base/text.h"
#include "core/pass/match.h"
#include "core/pass/regions.h"

namespace ferrule {
namespace {

std::string fit_side_by_side(const Graph& graph, ValueId a, ValueId b) {
  if (!graph.known(a) || !graph.known(b))
    return "weights: want known values, so that they are laid side by side once";
  if (graph.shape(a).rank() != 2 || graph.type(a) != graph.type(b))
    return cat("weights: want two matrices of one type and shape, got ", to_string(graph.type(a)),
               " and ", to_string(graph.type(b)));
  return {};
}

// ---- slots 0 x, 1 up weights, 2 gate weights ----

std::string fit_weights(const Match& m) { return fit_side_by_side(m.graph, m[1], m[2]); }

// The gate's product may have taken its activation in already: slot 3.
std::string fit_activated(const Match& m) {
  const Node& gate = m.maker(3);
  if (gate.operands.size() > 2) return "gate: want a product without bias";
  if (gate.attributes.i(FRL_AT_matmul_bias_act_activation) != FRL_OP_silu)
    return "gate: want silu as activation";
  return fit_weights(m);
}

Result<NodeId> emit_product(const Match& m) {
  FRL_LET(const ValueId both, m.graph.emit(FRL_OP_concat, Attributes(FRL_OP_concat), {m[1], m[2]}));
  FRL_LET(const ValueId packed, m.graph.emit(FRL_OP_matmul, {m[0], both}));
  return m.graph.emit_node(FRL_OP_swiglu, Attributes(FRL_OP_swiglu), {packed});
}

const Pattern kUp = pat(FRL_OP_matmul, {any(0), any(1)});
const FusionRow kProductRows[] = {
    {pat(FRL_OP_mul, {kUp, pat(FRL_OP_silu, {pat(FRL_OP_matmul, {any(0), any(2)})})}),
     fit_weights,
     emit_product,
     {}},
    {pat(FRL_OP_mul, {kUp, as(3, pat(FRL_OP_matmul_bias_act, {any(0), any(2)}))}),
     fit_activated,
     emit_product,
     {}},
};

// ---- halves of one tensor: slots 0 the tensor, 1 up, 2 gate ----

const FusionRow kPackedRows[] = {
    {pat(FRL_OP_mul, {as(1, pat(FRL_OP_slice, {any(0)})),
                      pat(FRL_OP_silu, {as(2, pat(FRL_OP_slice, {any(0)}))})}),
     [](const Match& m) {
       const auto up = half_of(m.graph, m[1]), gate = half_of(m.graph, m[2]);
       const bool fits = up && gate && *up + *gate == 1;
       return fits ? std::string() : std::string("slices: want the halves of the last axis");
     },
     [](const Match& m) {
       return m.graph.emit_node(
           FRL_OP_swiglu,
           Attributes(FRL_OP_swiglu).set_i(FRL_AT_swiglu_gate_first, half_of(m.graph, m[2]) == 0),
           {m[0]});
     },
     {}}};

}  // namespace

extern const Pass fuse_swiglu_matmuls = {
    .name = "fuse_swiglu_matmuls",
    .doc = "FuseSwiGLUDualMatmul: two products and a gate become one product and swiglu",
    .claim = FRL_OP_swiglu,
    .rows = kProductRows,
};

extern const Pass fuse_swiglu = {
    .name = "fuse_swiglu",
    .doc = "FuseSwiGLU: one half of a tensor gates the other",
    .claim = FRL_OP_swiglu,
    .rows = kPackedRows,
};

}  // namespace ferrule
