// The bodies of CLOSED kinds: what each one means in primitive ops. One function a kind; norms,
// attention and quantised ones have files of their own.
#include <cmath>

#include "core/base/text.h"
#include "core/graph/batch.h"
#include "core/graph/body.h"

namespace ferrule {
namespace {

Term activate(Term x, int64_t activation) {
  if (activation == 0) return x;
  const OpRow* row = activation > 0 ? find_op(OpId(activation)) : nullptr;
  const bool fits =
      row && row->form == Form::pointwise && row->max_operands == 1 && row->id != FRL_OP_cast;
  return x.in->want(fits, "activation", "a pointwise op with one operand", cat(activation))
             ? apply(row->id, x)
             : x;
}

Term add_residual(Term y, Term residual) {
  if (!residual.ok()) return y;
  const bool fits = residual.type() == y.type() && residual.shape() == y.shape();
  y.in->want(fits, "residual", cat(type_name(y.type()), to_string(y.shape())),
             cat(type_name(residual.type()), to_string(residual.shape())));
  return y + residual;
}

Terms expand_matmul_bias_act(BodyBuilder& b) {
  Term y = matmul(b.operand(0), b.operand(1));
  if (const Term bias = b.operand(2); bias.ok()) {
    b.want(bias.rank() == 1 && bias.extent(-1) == y.extent(-1), "bias", cat("[", y.extent(-1), "]"),
           to_string(bias.shape()));
    y = y + bias;
  }
  return {activate(y, b.attributes.i(FRL_AT_matmul_bias_act_activation))};
}

Terms expand_matmul_residual(BodyBuilder& b) {
  return {add_residual(matmul(b.operand(0), b.operand(1)), b.operand(2))};
}

Terms expand_conv_bias_act(BodyBuilder& b) {
  Attributes conv(FRL_OP_conv);
  for (uint32_t slot = 0; slot < conv.size(); ++slot)
    conv.slot(slot) = b.attributes[slot];  // the same first rows
  const Term bias = b.operand(2);
  Term y = bias.ok() ? b.emit(FRL_OP_conv, conv, {b.operand(0), b.operand(1), bias})
                     : b.emit(FRL_OP_conv, conv, {b.operand(0), b.operand(1)});
  y = add_residual(y, b.operand(3));
  y = activate(y, b.attributes.i(FRL_AT_conv_bias_act_activation));
  const double low = b.attributes.f(FRL_AT_conv_bias_act_low),
               high = b.attributes.f(FRL_AT_conv_bias_act_high);
  if (low != -INFINITY) y = b.emit(FRL_OP_max, {y, b.number(y.type(), low)});
  if (high != INFINITY) y = b.emit(FRL_OP_min, {y, b.number(y.type(), high)});
  return {y};
}

Terms expand_gated_residual(BodyBuilder& b) {
  const Term x = b.operand(0), y = b.operand(1);
  b.want(y.shape() == x.shape(), "y", to_string(x.shape()), to_string(y.shape()));
  const Term out = x + b.operand(2) * y;
  b.want(out.shape() == x.shape(), "gate", cat("one that broadcasts to ", to_string(x.shape())),
         to_string(b.operand(2).shape()));
  return {out};
}

Terms expand_swiglu(BodyBuilder& b) {
  const Term x = b.operand(0);
  const int64_t n = x.extent(-1) / 2;
  if (!b.want(x.rank() >= 1 && x.extent(-1) % 2 == 0, "x", "an even last extent",
              to_string(x.shape())))
    return {x};
  const bool gate_first = b.attributes.i(FRL_AT_swiglu_gate_first) != 0;
  const Term up = slice_last(x, gate_first ? n : 0, n), gate = slice_last(x, gate_first ? 0 : n, n);
  return {up * apply(FRL_OP_silu, gate)};
}

// (a, b) becomes (a cos - b sin, b cos + a sin).
Terms expand_rope(BodyBuilder& b) {
  const Term x = b.operand(0), cosine = b.operand(1), given = b.operand(2);
  const int64_t d = x.extent(-1), half = cosine.extent(-1);
  if (!b.want(x.rank() >= 1 && cosine.rank() >= 1 && 2 * half <= d, "cos", cat("at most ", d / 2),
              to_string(cosine.shape())) ||
      !b.want(cosine.shape() == given.shape(), "sin", to_string(cosine.shape()),
              to_string(given.shape())))
    return {x};
  const Term sine = b.attributes.i(FRL_AT_rope_inverse) ? apply(FRL_OP_neg, given) : given;
  const bool pairs = b.attributes.i(FRL_AT_rope_interleaved) != 0;
  const Term first = pairs ? slice_last(x, 0, half, 2) : slice_last(x, 0, half);
  const Term second = pairs ? slice_last(x, 1, half, 2) : slice_last(x, half, half);
  const Term real = first * cosine - second * sine, other = second * cosine + first * sine;
  Term y = concat_last(real, other);
  if (pairs) {
    std::vector<int64_t> single, whole;
    for (int64_t axis = -x.rank(); axis < -1; ++axis) single.push_back(x.extent(axis));
    whole = single, whole.push_back(2 * half), single.insert(single.end(), {half, 1});
    y = reshape(concat_last(reshape(real, single), reshape(other, single)), whole);
  }
  if (2 * half < d) y = concat_last(y, slice_last(x, 2 * half, d - 2 * half));
  b.want(y.shape() == x.shape(), "cos and sin", cat("them to broadcast to ", to_string(x.shape())),
         to_string(cosine.shape()));
  return {y};
}

Terms expand_welch_peaks(BodyBuilder& b) {
  const Term x = b.operand(0);
  if (!b.want(x.rank() >= 3 && x.extent(-1) == 2, "x", "[.., segments, bins, 2]",
              to_string(x.shape())))
    return {x, x};
  const Term power = reduce(FRL_OP_add, x * x, {-1}, false);
  const Term average = reduce(FRL_OP_add, power, {-2}, false) / double(power.extent(-2));
  const Attributes topk =
      Attributes(FRL_OP_topk).set_i(FRL_AT_topk_k, b.attributes.i(FRL_AT_welch_peaks_k));
  const Term powers = b.emit(FRL_OP_topk, topk, {average});
  return {b.sibling(powers, 1), powers};
}

constexpr struct {
  OpId kind;
  Terms (*expansion)(BodyBuilder&);
} kExpansions[] = {
#define EXPANSION(kind) \
  { FRL_OP_##kind, expand_##kind }
    EXPANSION(layer_norm),
    EXPANSION(rms_norm),
    EXPANSION(attention),
    EXPANSION(matmul_bias_act),
    EXPANSION(conv_bias_act),
    EXPANSION(matmul_residual),
    EXPANSION(residual_layer_norm),
    EXPANSION(residual_rms_norm),
    EXPANSION(ada_layer_norm),
    EXPANSION(gated_residual),
    EXPANSION(swiglu),
    EXPANSION(rope),
    EXPANSION(attention_block),
    EXPANSION(transformer_layer),
    EXPANSION(attention_backward),
    EXPANSION(layer_norm_backward),
    EXPANSION(rms_norm_backward),
    EXPANSION(group_norm),
    EXPANSION(welch_peaks),
    EXPANSION(quantise),
    EXPANSION(dequantise),
    EXPANSION(fake_quantise),
    EXPANSION(matmul_quantised),
    EXPANSION(dot_general),
#undef EXPANSION
};

}  // namespace

Result<Graph> expand(OpId kind, const Attributes& attributes,
                     std::span<const TensorType* const> operands) {
  const OpRow& row = op_row(kind);
  if (operands.size() < row.min_operands || operands.size() > row.max_operands)
    return Status(Code::invalid_argument,
                  cat(row.name, ": want ", row.min_operands, " to ", row.max_operands,
                      " operands, got ", operands.size()));
  BodyBuilder b(attributes, row.name);
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i] && i < row.min_operands)
      return Status(Code::invalid_argument, cat(row.name, ": want operand ", i, ", got nothing"));
    b.operands.push_back({&b, operands[i] ? b.graph.add_input(*operands[i], cat(i)) : kNoValue});
  }
  for (const auto& rule : kExpansions) {
    if (rule.kind != kind) continue;
    const Terms results = rule.expansion(b);
    if (!b.status().ok()) return Status(b.status()).within(row.name);
    for (size_t r = 0; r < results.size(); ++r)
      b.graph.add_output(results[r].id, results.size() == 1 ? "y" : cat("y", r));
    b.graph.compact();
    return std::move(b.graph);
  }
  return Status(Code::internal, cat(row.name, ": want a closed kind"));
}

Result<Body> region_body(const Graph& graph, const Node& node) {
  if (node.op == FRL_OP_batch) {
    std::vector<TensorType> types;
    for (ValueId operand : node.operands) types.push_back(graph.type(operand));
    FRL_LET(Graph body, unroll_batch(node, types));
    return Body(std::make_shared<const Graph>(std::move(body)));
  }
  if (!node.bodies.empty()) return node.bodies[0];
  std::vector<const TensorType*> types;
  for (ValueId operand : node.operands)
    types.push_back(operand == kNoValue ? nullptr : &graph.type(operand));
  FRL_LET(Graph body, expand(node.op, node.attributes, types));
  return Body(std::make_shared<const Graph>(std::move(body)));
}

Result<std::vector<ValueId>> inline_body(Graph& graph, const Graph& body,
                                         std::span<const ValueId> operands) {
  std::vector<ValueId> there(body.n_values(), kNoValue);
  for (size_t i = 0; i < body.inputs().size(); ++i) there[index(body.inputs()[i])] = operands[i];
  for (size_t i = 0; i < body.n_values(); ++i) {
    const Value& value = body.value(ValueId(i));
    if (value.role == Role::literal) there[i] = graph.add_literal(value.known);
    if (value.role == Role::parameter)
      return Status(Code::internal, "body: want no parameters inside");
  }
  for (const Node& node : body.nodes()) {
    std::vector<ValueId> inner;
    for (ValueId operand : node.operands)
      inner.push_back(operand == kNoValue ? kNoValue : there[index(operand)]);
    FRL_LET(const NodeId id,
            graph.emit_node(node.op, node.attributes, std::move(inner), node.bodies));
    for (size_t r = 0; r < node.results.size(); ++r)
      there[index(node.results[r])] = graph.node(id).results[r];
  }
  std::vector<ValueId> results;
  for (const Output& output : body.outputs()) results.push_back(there[index(output.value)]);
  return results;
}

}  // namespace ferrule
