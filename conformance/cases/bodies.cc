#include "conformance/cases/bodies.h"

#include <algorithm>
#include <random>

#include "conformance/cases/layout.h"
#include "core/base/text.h"

namespace ferrule::conformance {
namespace {

// Members of chains, in the order in which they take turns: they keep numbers of moderate size so.
constexpr OpId kUnary[] = {FRL_OP_neg,     FRL_OP_abs,      FRL_OP_tanh, FRL_OP_relu,
                           FRL_OP_sigmoid, FRL_OP_identity, FRL_OP_sin,  FRL_OP_silu,
                           FRL_OP_bit_not, FRL_OP_sign,     FRL_OP_gelu, FRL_OP_logical_not,
                           FRL_OP_floor,   FRL_OP_exp};
constexpr OpId kBinary[] = {FRL_OP_add, FRL_OP_sub,        FRL_OP_max,         FRL_OP_mul,
                            FRL_OP_min, FRL_OP_logical_or, FRL_OP_logical_xor, FRL_OP_bit_xor};

Status lacking(const char* what) {
  return Status(Code::not_claimed, cat("body: no ", what, " among the members"));
}

Shape shape_in(Spread form, const Shape& shape, size_t number) {
  if (form == Spread::mixed) form = Spread(number % 4);
  Shape out = shape;
  switch (form) {
    case Spread::row:  // a bias: missing leading axes
      return shape.rank() ? Shape{shape.back()} : shape;
    case Spread::column:
      if (shape.rank()) out.set(shape.rank() - 1, {1, 0});
      return out;
    case Spread::scalar:
      return Shape{};
    default:
      return shape;
  }
}

}  // namespace

const char* form_name(Spread form) {
  constexpr const char* kNames[] = {"same", "row", "column", "scalar", "mixed"};
  return kNames[size_t(form)];
}

std::vector<Type> member_types(const Claim& claim) {
  std::vector<Type> out;
  const frl_operand* row = operand_row(claim, 0, false);
  for (Type type : {Type::f32, Type::f64, Type::f16, Type::bf16, Type::i8, Type::i32, Type::u8,
                    Type::i64, Type::boolean})
    if (row && row->types & FRL_BIT(uint64_t(type))) out.push_back(type);
  return out;
}

BodyMaker::BodyMaker(const Claim& claim, Type type) : claim_(claim), type_(type) {
  const auto fits = [&](OpId op) { return has(op) && op_row(op).types & FRL_BIT(uint64_t(type)); };
  for (OpId op : kUnary)
    if (fits(op)) unary_.push_back(op);
  for (OpId op : kBinary)
    if (fits(op)) binary_.push_back(op);
}

bool BodyMaker::has(OpId op) const {
  return std::binary_search(claim_.members.begin(), claim_.members.end(), op) ||
         std::binary_search(claim_.epilogue.begin(), claim_.epilogue.end(), op) ||
         std::binary_search(claim_.prologue.begin(), claim_.prologue.end(), op);
}
OpId BodyMaker::unary(size_t number) const {
  return unary_.empty() ? OpId(FRL_OP_NONE) : unary_[number % unary_.size()];
}
OpId BodyMaker::binary(size_t number) const {
  return binary_.empty() ? OpId(FRL_OP_NONE) : binary_[number % binary_.size()];
}

// One more member on x: of one operand, or with `other`.
Result<ValueId> BodyMaker::grow(Graph& body, ValueId x, ValueId other, size_t number) const {
  const OpId one = unary(number / 2), two = binary(number / 2);
  if (!one && !two) return lacking("member of this type");
  if (two && other != kNoValue && (number % 2 == 0 || !one)) return body.emit(two, {x, other});
  if (one) return body.emit(one, {x});
  return body.emit(two, {x, x});
}

Result<Graph> BodyMaker::chain(size_t n, const Shape& shape) const {
  Graph body("body");
  ValueId x = body.add_input({type_, shape}, "x");
  const ValueId other = binary_.empty() || n < 2 || claim_.max_inputs < 2
                            ? kNoValue
                            : body.add_input({type_, shape}, "b");
  for (size_t i = 0; i < n; ++i) {
    FRL_LET(x, grow(body, x, other, i));
  }
  body.add_output(x, "y");
  return body;
}

Result<Graph> BodyMaker::inputs(size_t n, Spread form, const Shape& shape) const {
  if (binary_.empty() && n > 1) return lacking("member with two operands");
  Graph body("body");
  ValueId x = body.add_input({type_, shape}, "x");
  for (size_t i = 1; i < n; ++i) {
    const ValueId next = body.add_input({type_, shape_in(form, shape, i)}, cat("i", i));
    FRL_LET(x, body.emit(binary(i % 2), {x, next}));
  }
  if (n == 1) {
    FRL_LET(x, grow(body, x, kNoValue, 1));
  }
  body.add_output(x, "y");
  return body;
}

Result<Graph> BodyMaker::results(size_t n, const Shape& shape) const {
  Graph body("body");
  const ValueId x = body.add_input({type_, shape}, "x");
  const ValueId other = claim_.max_inputs < 2 ? kNoValue : body.add_input({type_, shape}, "b");
  ValueId y = x;
  for (size_t i = 0; i < n; ++i) {
    FRL_LET(y, grow(body, y, other, i));
    body.add_output(y, cat("y", i));
  }
  return body;
}

Result<Graph> BodyMaker::many_users(const Shape& shape) const {
  if (binary_.empty()) return lacking("member with two operands");
  Graph body("body");
  const ValueId x = body.add_input({type_, shape}, "x"),
                b = body.add_input({type_, shape_in(Spread::row, shape, 0)}, "b");
  FRL_LET(const ValueId shared, body.emit(binary(0), {x, b}));
  ValueId y = shared;
  for (size_t i = 0; i < 4; ++i) {
    FRL_LET(const ValueId branch, grow(body, shared, x, i + 1));
    FRL_LET(y, body.emit(binary(i), {y, branch}));
  }
  body.add_output(y, "y");
  return body;
}

Result<Graph> BodyMaker::result_used_inside(const Shape& shape) const {
  Graph body("body");
  const ValueId x = body.add_input({type_, shape}, "x");
  FRL_LET(const ValueId first, grow(body, x, kNoValue, 1));
  FRL_LET(const ValueId second, grow(body, first, x, 2));
  FRL_LET(const ValueId third, grow(body, second, first, 4));
  body.add_output(third, "y"), body.add_output(first, "z");
  return body;
}

Result<Graph> BodyMaker::literal(const Shape& shape) const {
  if (binary_.empty()) return lacking("member with two operands");
  Graph body("body");
  const ValueId x = body.add_input({type_, shape}, "x");
  FRL_LET(ValueId y, body.emit(binary(0), {x, body.add_literal(Tensor::scalar(type_, 1.5))}));
  FRL_LET(y, body.emit(binary(1), {body.add_literal(Tensor::scalar(type_, 3)), y}));
  body.add_output(y, "y");
  return body;
}

Result<Graph> BodyMaker::types(const Shape& shape) const {
  if (!has(FRL_OP_cast) || !has(FRL_OP_less) || !has(FRL_OP_select) || type_ == Type::boolean)
    return lacking("cast, less or select");
  Graph body("body");
  const ValueId x = body.add_input({type_, shape}, "x"),
                c = body.add_input({Type::i32, shape}, "c");
  FRL_LET(
      const ValueId converted,
      body.emit(FRL_OP_cast, Attributes(FRL_OP_cast).set_i(FRL_AT_cast_to, int64_t(type_)), {c}));
  FRL_LET(const ValueId below, body.emit(FRL_OP_less, {x, converted}));
  FRL_LET(const ValueId y, body.emit(FRL_OP_select, {below, x, converted}));
  FRL_LET(const ValueId wide,
          body.emit(FRL_OP_cast, Attributes(FRL_OP_cast).set_i(FRL_AT_cast_to, FRL_F64), {y}));
  body.add_output(below, "below"), body.add_output(y, "y"), body.add_output(wide, "wide");
  return body;
}

Result<Graph> BodyMaker::random(uint64_t seed, const Shape& shape) const {
  std::mt19937_64 random(seed * 7919 + uint64_t(type_));
  const auto below = [&](size_t n) { return size_t(random() % n); };
  Graph body("body");
  const size_t n_inputs = std::min<size_t>(1 + below(4), claim_.max_inputs);
  std::vector<ValueId> values;
  for (size_t i = 0; i < n_inputs; ++i)
    values.push_back(body.add_input({type_, i == 0 ? shape : shape_in(Spread(below(4)), shape, 0)},
                                    cat("i", i)));
  const size_t n = std::min<size_t>(2 + below(9), claim_.max_nodes);
  ValueId y = values[0];
  for (size_t i = 0; i < n; ++i) {
    FRL_LET(y, grow(body, y, values[below(values.size())], below(32)));
    values.push_back(y);
  }
  body.add_output(y, "y");
  return body;
}

Result<Graph> BodyMaker::around(OpId main, size_t before, size_t behind) const {
  if (!has(main) && !std::binary_search(claim_.members.begin(), claim_.members.end(), main))
    return lacking("main op");
  Graph body("body");
  ValueId x = body.add_input({type_, main == FRL_OP_conv ? Shape{1, 3, 7, 6} : Shape{9, 8}}, "x");
  for (size_t i = 0; i < before; ++i) {
    FRL_LET(x, grow(body, x, kNoValue, 2 * i + 1));
  }
  std::vector<ValueId> operands = {x};
  if (main == FRL_OP_matmul) operands.push_back(body.add_input({type_, Shape{8, 5}}, "w"));
  if (main == FRL_OP_conv) operands.push_back(body.add_input({type_, Shape{4, 3, 3, 3}}, "w"));
  Attributes attributes(main);
  if (main == FRL_OP_reduce) attributes.set_list(FRL_AT_reduce_axes, {-1});
  if (main == FRL_OP_transpose) attributes.set_list(FRL_AT_transpose_order, {-1, -2});
  FRL_LET(ValueId y, body.emit(main, attributes, operands));
  const ValueId bias =
      behind > 1 ? body.add_input({type_, Shape{body.shape(y).back()}}, "bias") : kNoValue;
  for (size_t i = 0; i < behind; ++i) {
    FRL_LET(y, grow(body, y, bias, i + (bias == kNoValue)));
  }
  body.add_output(y, "y");
  return body;
}

}  // namespace ferrule::conformance
