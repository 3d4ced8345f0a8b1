// The bodies of CLOSED kinds: what each one means in primitive ops. One function a kind.
#include <cmath>

#include "core/base/text.h"
#include "core/graph/batch.h"

namespace ferrule {
namespace {

// A body under construction; operands that are missing have no input.
struct Builder {
  Graph graph;
  std::vector<ValueId> in;  // by operand; kNoValue where missing
  const Attributes& attributes;

  const TensorType& type(size_t operand) const { return graph.type(in[operand]); }
  bool has(size_t operand) const { return operand < in.size() && in[operand] != kNoValue; }
  ValueId scalar(Type type, double value) { return graph.add_literal(Tensor::scalar(type, value)); }
  Result<ValueId> reduce(OpId by, ValueId x, std::vector<int64_t> axes) {
    return graph.emit(FRL_OP_reduce,
                      Attributes(FRL_OP_reduce)
                          .set_i(FRL_AT_reduce_by, by)
                          .set_list(FRL_AT_reduce_axes, std::move(axes)),
                      {x});
  }
  Result<ValueId> cast(ValueId x, Type to) {
    if (graph.type(x).type == to) return x;
    return graph.emit(FRL_OP_cast, Attributes(FRL_OP_cast).set_i(FRL_AT_cast_to, int64_t(to)), {x});
  }
};

using Expansion = Result<ValueId> (*)(Builder&);

Result<std::vector<int64_t>> trailing_axes(const Builder& b, int64_t n) {
  const auto rank = int64_t(b.type(0).shape.rank());
  if (n < 1 || n > rank)
    return Status(Code::invalid_argument, cat("axes_n: want 1 to ", rank, ", got ", n));
  std::vector<int64_t> axes;
  for (int64_t axis = -n; axis < 0; ++axis) axes.push_back(axis);
  return axes;
}

// 16-bit floats are normalised in f32, as every backend does; wider ones in their own type.
Type wide(Type type) { return type == Type::f16 || type == Type::bf16 ? Type::f32 : type; }

Result<ValueId> mean(Builder& b, ValueId x, const std::vector<int64_t>& axes) {
  int64_t n = 1;
  for (int64_t axis : axes) n *= b.graph.shape(x).from_end(axis);
  FRL_LET(const ValueId sum, b.reduce(FRL_OP_add, x, axes));
  return b.graph.emit(FRL_OP_div, {sum, b.scalar(b.graph.type(x).type, double(n))});
}

// x * rsqrt(mean(x^2) + epsilon)
Result<ValueId> normalise(Builder& b, ValueId x, const std::vector<int64_t>& axes, double epsilon) {
  FRL_LET(const ValueId square, b.graph.emit(FRL_OP_mul, {x, x}));
  FRL_LET(const ValueId variance, mean(b, square, axes));
  FRL_LET(const ValueId safe,
          b.graph.emit(FRL_OP_add, {variance, b.scalar(b.graph.type(x).type, epsilon)}));
  FRL_LET(const ValueId root, b.graph.emit(FRL_OP_sqrt, {safe}));
  return b.graph.emit(FRL_OP_div, {x, root});
}

// y * scale + shift, where given; then back to the type of x.
Result<ValueId> affine(Builder& b, ValueId y, size_t first) {
  const Shape shape = b.graph.shape(y);
  constexpr OpId kOps[] = {FRL_OP_mul, FRL_OP_add};
  for (size_t i = 0; i < 2; ++i) {
    if (!b.has(first + i)) continue;
    FRL_LET(const ValueId factor, b.cast(b.in[first + i], b.graph.type(y).type));
    FRL_LET(y, b.graph.emit(kOps[i], {y, factor}));
    if (!(b.graph.shape(y) == shape))
      return Status(Code::invalid_argument,
                    cat("scale and shift: want them to broadcast to ", to_string(shape)));
  }
  return b.cast(y, b.type(0).type);
}

Result<ValueId> expand_layer_norm(Builder& b) {
  FRL_LET(const auto axes, trailing_axes(b, b.attributes.i(FRL_AT_layer_norm_axes_n)));
  FRL_LET(const ValueId x, b.cast(b.in[0], wide(b.type(0).type)));
  FRL_LET(const ValueId centre, mean(b, x, axes));
  FRL_LET(const ValueId centred, b.graph.emit(FRL_OP_sub, {x, centre}));
  FRL_LET(const ValueId y, normalise(b, centred, axes, b.attributes.f(FRL_AT_layer_norm_epsilon)));
  return affine(b, y, 1);
}

Result<ValueId> expand_rms_norm(Builder& b) {
  FRL_LET(const auto axes, trailing_axes(b, b.attributes.i(FRL_AT_rms_norm_axes_n)));
  FRL_LET(const ValueId x, b.cast(b.in[0], wide(b.type(0).type)));
  FRL_LET(const ValueId y, normalise(b, x, axes, b.attributes.f(FRL_AT_rms_norm_epsilon)));
  return affine(b, y, 1);
}

// Causal queries are aligned to the end of the keys: query i of s sees keys up to i + t - s of t.
Tensor causal_mask(Type type, int64_t s, int64_t t) {
  Tensor mask(TensorType{type, Shape{s, t}});
  for (int64_t i = 0; i < s; ++i)
    for (int64_t j = i + t - s + 1; j < t; ++j)
      if (j >= 0) mask.set_f64(i * t + j, -INFINITY);
  return mask;
}

Result<ValueId> masked(Builder& b, ValueId scores, int64_t mask) {
  const TensorType type = b.graph.type(scores);
  if (mask == 1)
    return b.graph.emit(FRL_OP_add,
                        {scores, b.graph.add_literal(causal_mask(type.type, type.shape.from_end(-2),
                                                                 type.shape.back()))});
  if (mask == 0) return scores;
  if (!b.has(3))
    return Status(Code::invalid_argument,
                  cat("mask kind ", mask, ": want a mask operand, got nothing"));
  if (mask == 2) {
    FRL_LET(const ValueId addend, b.cast(b.in[3], type.type));
    return b.graph.emit(FRL_OP_add, {scores, addend});
  }
  if (mask != 3) return Status(Code::invalid_argument, cat("mask kind: want 0 to 3, got ", mask));
  return b.graph.emit(FRL_OP_select, {b.in[3], scores, b.scalar(type.type, -INFINITY)});
}

Result<ValueId> expand_attention(Builder& b) {
  const auto rank = int64_t(b.type(0).shape.rank());
  if (rank < 2 || b.type(1).shape.rank() != size_t(rank) || b.type(2).shape.rank() != size_t(rank))
    return Status(Code::invalid_argument, "want q, k and v of one rank, 2 or more");
  std::vector<int64_t> order;
  for (int64_t axis = -rank; axis < -2; ++axis) order.push_back(axis);
  order.push_back(-1), order.push_back(-2);
  const Type inner = wide(b.type(0).type);
  const double given = b.attributes.f(FRL_AT_attention_scale);
  const double scale = given != 0 ? given : 1 / std::sqrt(double(b.type(0).shape.back()));
  FRL_LET(const ValueId q, b.cast(b.in[0], inner));
  FRL_LET(const ValueId k, b.cast(b.in[1], inner));
  FRL_LET(const ValueId v, b.cast(b.in[2], inner));
  FRL_LET(const ValueId kt,
          b.graph.emit(FRL_OP_transpose,
                       Attributes(FRL_OP_transpose).set_list(FRL_AT_transpose_order, order), {k}));
  FRL_LET(const ValueId raw, b.graph.emit(FRL_OP_matmul, {q, kt}));
  FRL_LET(const ValueId scaled, b.graph.emit(FRL_OP_mul, {raw, b.scalar(inner, scale)}));
  FRL_LET(const ValueId scores, masked(b, scaled, b.attributes.i(FRL_AT_attention_mask)));
  if (!(b.graph.shape(scores) == b.graph.shape(raw)))
    return Status(Code::invalid_argument,
                  cat("mask: want it to broadcast to ", to_string(b.graph.shape(raw))));
  FRL_LET(const ValueId weights, b.graph.emit(FRL_OP_softmax, {scores}));
  FRL_LET(const ValueId mixed, b.graph.emit(FRL_OP_matmul, {weights, v}));
  return b.cast(mixed, b.type(0).type);
}

Result<ValueId> activate(Builder& b, ValueId x, int64_t activation) {
  if (activation == 0) return x;
  const OpRow* row = activation > 0 ? find_op(OpId(activation)) : nullptr;
  if (!row || row->form != Form::pointwise || row->max_operands != 1 || row->id == FRL_OP_cast)
    return Status(Code::invalid_argument,
                  cat("activation: want a pointwise op with one operand, got ", activation));
  return b.graph.emit(row->id, {x});
}

Result<ValueId> expand_matmul_bias_act(Builder& b) {
  FRL_LET(ValueId y, b.graph.emit(FRL_OP_matmul, {b.in[0], b.in[1]}));
  if (b.has(2)) {
    if (b.type(2).shape.rank() != 1 || b.type(2).shape.back() != b.graph.shape(y).back())
      return Status(Code::invalid_argument,
                    cat("bias: want [", b.graph.shape(y).back(), "], got ", to_string(b.type(2))));
    FRL_LET(y, b.graph.emit(FRL_OP_add, {y, b.in[2]}));
  }
  return activate(b, y, b.attributes.i(FRL_AT_matmul_bias_act_activation));
}

Result<ValueId> expand_conv_bias_act(Builder& b) {
  Attributes conv(FRL_OP_conv);
  for (uint32_t slot = 0; slot < conv.size(); ++slot)
    conv.slot(slot) = b.attributes[slot];  // the same first rows
  std::vector<ValueId> operands = {b.in[0], b.in[1]};
  if (b.has(2)) operands.push_back(b.in[2]);
  FRL_LET(ValueId y, b.graph.emit(FRL_OP_conv, conv, operands));
  if (b.has(3)) {
    if (b.type(3) != b.graph.type(y))
      return Status(Code::invalid_argument, cat("residual: want ", to_string(b.graph.type(y)),
                                                ", got ", to_string(b.type(3))));
    FRL_LET(y, b.graph.emit(FRL_OP_add, {y, b.in[3]}));
  }
  FRL_LET(y, activate(b, y, b.attributes.i(FRL_AT_conv_bias_act_activation)));
  const double low = b.attributes.f(FRL_AT_conv_bias_act_low),
               high = b.attributes.f(FRL_AT_conv_bias_act_high);
  const Type type = b.graph.type(y).type;
  if (low != -INFINITY) {
    FRL_LET(y, b.graph.emit(FRL_OP_max, {y, b.scalar(type, low)}));
  }
  if (high != INFINITY) {
    FRL_LET(y, b.graph.emit(FRL_OP_min, {y, b.scalar(type, high)}));
  }
  return y;
}

constexpr struct {
  OpId kind;
  Expansion expansion;
} kExpansions[] = {
    {FRL_OP_layer_norm, expand_layer_norm},       {FRL_OP_rms_norm, expand_rms_norm},
    {FRL_OP_attention, expand_attention},         {FRL_OP_matmul_bias_act, expand_matmul_bias_act},
    {FRL_OP_conv_bias_act, expand_conv_bias_act},
};

}  // namespace

Result<Graph> expand(OpId kind, const Attributes& attributes,
                     std::span<const TensorType* const> operands) {
  const OpRow& row = op_row(kind);
  if (operands.size() < row.min_operands || operands.size() > row.max_operands)
    return Status(Code::invalid_argument,
                  cat(row.name, ": want ", row.min_operands, " to ", row.max_operands,
                      " operands, got ", operands.size()));
  Builder b{Graph(row.name), {}, attributes};
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i] && i < row.min_operands)
      return Status(Code::invalid_argument, cat(row.name, ": want operand ", i, ", got nothing"));
    b.in.push_back(operands[i] ? b.graph.add_input(*operands[i], cat(i)) : kNoValue);
  }
  for (const auto& rule : kExpansions) {
    if (rule.kind != kind) continue;
    auto y = rule.expansion(b);
    if (!y.ok()) return std::move(y).within(row.name).status();
    b.graph.add_output(*y, "y");
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
