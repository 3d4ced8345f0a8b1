// A convolution, then scale and shift by channel (a batch norm written out) or a shift alone (a
// bias written apart), residual, activation: the scale moves into the weights, once.
#include "core/base/text.h"
#include "core/pass/match.h"

namespace ferrule {
namespace {

// Slots: 0 x, 1 w, 2 scale, 3 shift, 4 residual, 5 activation, 6 the convolution.
Pattern conv() { return as(6, pat(FRL_OP_conv, {any(0), any(1)})); }
Pattern affine() { return pat(FRL_OP_add, {pat(FRL_OP_mul, {conv(), any(2)}), any(3)}); }
Pattern with_residual() { return pat(FRL_OP_add, {affine(), any(4)}); }
Pattern shifted() { return pat(FRL_OP_add, {conv(), any(3)}); }

// One number for each channel, or one for all: [C, 1, ..] with leading ones.
bool is_by_channel(const Match& m, ValueId id) {
  const Shape &s = m.graph.shape(id), &y = m.graph.shape(m[6]);
  const auto channel = -int64_t(y.rank()) + 1;
  for (int64_t axis = -int64_t(s.rank()); axis < 0; ++axis)
    if (s.from_end(axis) != 1 && (axis != channel || s.from_end(axis) != y.from_end(channel)))
      return false;
  return s.rank() <= y.rank();
}

std::string guard(const Match& m) {
  if (!is_by_channel(m, m[2]) || !is_by_channel(m, m[3]))
    return "scale and shift: want one number for each channel";
  if (!m.graph.known(m[1]) || !m.graph.known(m[2]))
    return "weights and scale: want known values, so that their product is made once";
  return {};
}

std::string guard_residual(const Match& m) {
  if (!(m.graph.shape(m[4]) == m.graph.shape(m[6])))
    return "residual: want the shape of the convolution's result";
  return guard(m);
}

std::string guard_shift(const Match& m) {
  return is_by_channel(m, m[3]) ? "" : "shift: want one number for each channel";
}

// Values by channel as a tensor of this shape, channels along its first axis.
Result<ValueId> by_channel(Graph& graph, ValueId id, int64_t channels, size_t rank) {
  std::vector<int64_t> shape(rank, 1);
  shape[0] = graph.shape(id).n_elements();
  FRL_LET(ValueId out,
          graph.emit(FRL_OP_reshape,
                     Attributes(FRL_OP_reshape).set_list(FRL_AT_reshape_shape, shape), {id}));
  if (shape[0] == channels || rank > 1) return out;
  return graph.emit(FRL_OP_broadcast,
                    Attributes(FRL_OP_broadcast).set_list(FRL_AT_broadcast_shape, {channels}),
                    {out});
}

Result<NodeId> emit(const Match& m) {
  Graph& graph = m.graph;
  const Node conv = m.maker(6);
  const int64_t channels = graph.shape(m[1])[0];
  ValueId weights = m[1];
  if (m.has(2)) {
    FRL_LET(const ValueId scale, by_channel(graph, m[2], channels, graph.shape(m[1]).rank()));
    FRL_LET(weights, graph.emit(FRL_OP_mul, {m[1], scale}));
  }
  FRL_LET(ValueId bias, by_channel(graph, m[3], channels, 1));
  if (conv.operands.size() > 2 && conv.operands[2] != kNoValue) {
    ValueId scaled = conv.operands[2];
    if (m.has(2)) {
      FRL_LET(const ValueId row, by_channel(graph, m[2], channels, 1));
      FRL_LET(scaled, graph.emit(FRL_OP_mul, {scaled, row}));
    }
    FRL_LET(bias, graph.emit(FRL_OP_add, {scaled, bias}));
  }
  Attributes attributes(FRL_OP_conv_bias_act);
  for (uint32_t slot = 0; slot < conv.attributes.size(); ++slot)
    attributes.slot(slot) = conv.attributes[slot];
  if (!m.ops.empty()) attributes.set_i(FRL_AT_conv_bias_act_activation, m.ops[5]);
  std::vector<ValueId> operands = {m[0], weights, bias};
  if (m.has(4)) operands.push_back(m[4]);
  return graph.emit_node(FRL_OP_conv_bias_act, std::move(attributes), std::move(operands));
}

const FusionRow kRows[] = {
    {activation(5, with_residual()), guard_residual, emit, {}},
    {activation(5, affine()), guard, emit, {}},
    {with_residual(), guard_residual, emit, {}},
    {affine(), guard, emit, {}},
    {activation(5, shifted()), guard_shift, emit, {}},
    {shifted(), guard_shift, emit, {}},
};

}  // namespace

extern const Pass fuse_conv_affine_act = {
    .name = "fuse_conv_affine_act",
    .doc =
        "FuseConvAffineAct: conv, then scale and shift or a shift alone, residual and activation",
    .claim = FRL_OP_conv_bias_act,
    .rows = kRows,
};

}  // namespace ferrule
