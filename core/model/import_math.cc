// Pointwise ops.
#include "core/base/text.h"
#include "core/model/importer.h"

namespace ferrule {
namespace {

void unary(ModelNode& n) { n.out(0, apply(n.row().arg, n.in(0))); }

// One float attribute of the core's op for each of the model's, by slot.
void with_reals(ModelNode& n, std::initializer_list<const char*> names,
                std::initializer_list<double> fallbacks) {
  Attributes attributes(n.row().arg);
  uint32_t slot = 0;
  for (const char* name : names) {
    attributes.set_f(slot, n.f(name, fallbacks.begin()[slot]));
    ++slot;
  }
  n.out(0, n.block().emit(n.row().arg, attributes, {n.in(0)}));
}

void leaky_relu(ModelNode& n) { with_reals(n, {"alpha"}, {0.01f}); }
void elu(ModelNode& n) { with_reals(n, {"alpha"}, {1}); }
void thresholded_relu(ModelNode& n) { with_reals(n, {"alpha"}, {1}); }
void hard_sigmoid(ModelNode& n) { with_reals(n, {"alpha", "beta"}, {0.2f, 0.5}); }
void shrink(ModelNode& n) { with_reals(n, {"lambd", "bias"}, {0.5, 0}); }
void selu(ModelNode& n) {
  // Opset 6 gave the constants more digits.
  if (n.opset() < 6)
    with_reals(n, {"alpha", "gamma"}, {1.6732f, 1.0507f});
  else
    with_reals(n, {"alpha", "gamma"}, {1.67326319217681884765625, 1.05070102214813232421875});
}

void is_inf(ModelNode& n) {
  Attributes attributes(FRL_OP_is_inf);
  attributes.set_f(FRL_AT_is_inf_negative, double(n.i("detect_negative", 1)));
  attributes.set_f(FRL_AT_is_inf_positive, double(n.i("detect_positive", 1)));
  n.out(0, n.block().emit(FRL_OP_is_inf, attributes, {n.in(0)}));
}

void gelu(ModelNode& n) {
  static constexpr const char* kForms[] = {"none", "tanh"};
  n.out(0,
        apply(n.choice("approximate", "none", kForms) ? FRL_OP_gelu_tanh : FRL_OP_gelu, n.in(0)));
}

// Before opset 7 the second operand was placed by `axis`, and broadcast only if asked.
Val legacy_aligned(ModelNode& n, Val a, Val b) {
  if (n.opset() >= 7 || !n.i("broadcast", 0) || !n.has_attribute("axis")) return b;
  return align(b, n.axis_attribute(0, a.rank()), a.rank());
}

void binary(ModelNode& n) {
  const Val a = n.in(0);
  n.out(0, apply(n.row().arg, a, legacy_aligned(n, a, n.in(1))));
}

// Whole numbers that any float holds.
bool is_small(const Tensor& tensor) {
  for (int64_t i = 0; i < tensor.n_elements(); ++i)
    if (std::abs(tensor.at_f64(i)) > 256) return false;
  return true;
}

void power(ModelNode& n) {
  const Val base = n.in(0), exponent = legacy_aligned(n, base, n.in(1));
  if (base.element() == exponent.element()) return n.out(0, apply(FRL_OP_pow, base, exponent));
  // The result has the base's type. A fractional exponent needs its own to compute in, a whole one
  // a type that holds it.
  const Tensor* known = n.block().graph().known(exponent.id);
  const Type given = exponent.element();
  Type inner = base.element();
  if (is_int(inner) && is_float(given)) inner = given;
  if (is_int(inner) && is_int(given) && size_bytes(given) > size_bytes(inner)) inner = given;
  if (is_float(inner) && is_int(given) && size_bytes(given) >= size_bytes(inner) &&
      !(known && is_small(*known)))
    inner = Type::f64;
  n.out(0, cast(apply(FRL_OP_pow, cast(base, inner), cast(exponent, inner)), base.element()));
}

void modulo(ModelNode& n) {
  n.out(0, apply(n.i("fmod", 0) ? FRL_OP_fmod : FRL_OP_mod, n.in(0), n.in(1)));
}

void bit_shift(ModelNode& n) {
  static constexpr const char* kDirections[] = {"LEFT", "RIGHT"};
  const OpId op = n.choice("direction", "", kDirections) ? FRL_OP_shift_right : FRL_OP_shift_left;
  n.out(0, apply(op, n.in(0), n.in(1)));
}

// One-element slopes of any rank and channel slopes of opset 1-6 as well as broadcast ones.
void prelu(ModelNode& n) {
  const Val x = n.in(0);
  Val slope = n.in(1);
  const bool by_channel =
      n.opset() < 7 && slope.rank() == 1 && slope.dim(0) == x.dim(1) && slope.dim(0) != 1;
  if (by_channel) slope = align(slope, 1, x.rank());
  const Val y = apply(FRL_OP_prelu, x, slope);
  if (n.want(y.dims() == x.dims(), "a slope that broadcasts to the operand")) n.out(0, y);
}

Val fold_inputs(ModelNode& n, OpId op) {
  Val out = n.in(0);
  for (size_t i = 1; i < n.n_in(); ++i) out = apply(op, out, n.in(i));
  return out;
}

void variadic(ModelNode& n) { n.out(0, fold_inputs(n, n.row().arg)); }
void average(ModelNode& n) {
  const Type type = n.in(0).element();
  Val sum = cast(n.in(0), wide(type));
  for (size_t i = 1; i < n.n_in(); ++i) sum = sum + cast(n.in(i), wide(type));
  n.out(0, cast(sum / double(n.n_in()), type));
}

void where(ModelNode& n) { n.out(0, select(n.in(0), n.in(1), n.in(2))); }

void clip(ModelNode& n) {
  Val x = n.in(0);
  if (n.opset() < 11) {
    if (n.has_attribute("min")) x = apply(FRL_OP_max, x, n.f("min", 0));
    if (n.has_attribute("max")) x = apply(FRL_OP_min, x, n.f("max", 0));
    return n.out(0, x);
  }
  for (size_t i = 1; i <= 2; ++i)
    if (n.has(i) && !n.want(n.in(i).n_elements() == 1, "bounds of one element")) return;
  if (n.has(1)) x = apply(FRL_OP_max, x, reshape(n.in(1), {}));
  if (n.has(2)) x = apply(FRL_OP_min, x, reshape(n.in(2), {}));
  n.out(0, x);
}

void cast_to(ModelNode& n) {
  static constexpr const char* kNames[] = {
      "",       "FLOAT", "UINT8",   "INT8",   "UINT16", "INT16",  "INT32",     "INT64",
      "STRING", "BOOL",  "FLOAT16", "DOUBLE", "UINT32", "UINT64", "COMPLEX64", "COMPLEX128"};
  // Opset 1 says it in words.
  const int64_t to = n.opset() < 6 ? n.choice("to", "", kNames) : n.need_i("to");
  if (!n.failed()) n.out(0, cast(n.in(0), n.type_of(to)));
}

void cast_like(ModelNode& n) { n.out(0, cast(n.in(0), n.in(1).element())); }

void identity(ModelNode& n) { n.out(0, n.entry(0)); }

#define UNARY(name, op, attributes) \
  { "", name, 1, kEver, unary, "1>1", attributes, FRL_OP_##op, true }
#define BINARY(name, since, op) \
  { "", name, since, kEver, binary, "2>1", "axis broadcast", FRL_OP_##op, true }

constexpr ImportRow kRows[] = {
    UNARY("Abs", abs, ""),
    UNARY("Neg", neg, ""),
    UNARY("Sign", sign, ""),
    UNARY("Reciprocal", reciprocal, ""),
    UNARY("Floor", floor, ""),
    UNARY("Ceil", ceil, ""),
    UNARY("Round", round, ""),
    UNARY("Sqrt", sqrt, ""),
    UNARY("Exp", exp, ""),
    UNARY("Log", log, ""),
    UNARY("Sin", sin, ""),
    UNARY("Cos", cos, ""),
    UNARY("Tan", tan, ""),
    UNARY("Asin", asin, ""),
    UNARY("Acos", acos, ""),
    UNARY("Atan", atan, ""),
    UNARY("Sinh", sinh, ""),
    UNARY("Cosh", cosh, ""),
    UNARY("Tanh", tanh, ""),
    UNARY("Asinh", asinh, ""),
    UNARY("Acosh", acosh, ""),
    UNARY("Atanh", atanh, ""),
    UNARY("Erf", erf, ""),
    UNARY("Sigmoid", sigmoid, ""),
    UNARY("Relu", relu, ""),
    UNARY("Softplus", softplus, ""),
    UNARY("Softsign", softsign, ""),
    UNARY("HardSwish", hard_swish, ""),
    UNARY("Mish", mish, ""),
    UNARY("Not", logical_not, ""),
    UNARY("BitwiseNot", bit_not, ""),
    UNARY("IsNaN", is_nan, ""),
    {"", "LeakyRelu", 1, kEver, leaky_relu, "1>1", "alpha", FRL_OP_leaky_relu, true},
    {"", "Elu", 1, kEver, elu, "1>1", "alpha", FRL_OP_elu, true},
    {"", "Celu", 12, kEver, elu, "1>1", "alpha", FRL_OP_celu, true},
    {"", "Selu", 1, kEver, selu, "1>1", "alpha gamma", FRL_OP_selu, true},
    {"", "HardSigmoid", 1, kEver, hard_sigmoid, "1>1", "alpha beta", FRL_OP_hard_sigmoid, true},
    {"", "ThresholdedRelu", 1, kEver, thresholded_relu, "1>1", "alpha", FRL_OP_thresholded_relu,
     true},
    {"", "Shrink", 9, kEver, shrink, "1>1", "lambd bias", FRL_OP_shrink, true},
    {"", "IsInf", 10, kEver, is_inf, "1>1", "detect_negative detect_positive", 0, true},
    {"", "Gelu", 20, kEver, gelu, "1>1", "approximate", 0, true},
    BINARY("Add", 1, add),
    BINARY("Sub", 1, sub),
    BINARY("Mul", 1, mul),
    BINARY("Div", 1, div),
    BINARY("And", 1, logical_and),
    BINARY("Or", 1, logical_or),
    BINARY("Xor", 1, logical_xor),
    BINARY("BitwiseAnd", 18, bit_and),
    BINARY("BitwiseOr", 18, bit_or),
    BINARY("BitwiseXor", 18, bit_xor),
    BINARY("Equal", 1, equal),
    BINARY("Less", 1, less),
    BINARY("Greater", 1, greater),
    BINARY("LessOrEqual", 12, less_equal),
    BINARY("GreaterOrEqual", 12, greater_equal),
    {"", "Pow", 1, kEver, power, "2>1", "axis broadcast", 0, true},
    {"", "Mod", 10, kEver, modulo, "2>1", "fmod", 0, true},
    {"", "BitShift", 11, kEver, bit_shift, "2>1", "direction", 0, true},
    {"", "PRelu", 1, kEver, prelu, "2>1", "", 0, true},
    {"", "Max", 1, kEver, variadic, "1..>1", "", FRL_OP_max, true},
    {"", "Min", 1, kEver, variadic, "1..>1", "", FRL_OP_min, true},
    {"", "Sum", 1, kEver, variadic, "1..>1", "", FRL_OP_add, true},
    {"", "Mean", 1, kEver, average, "1..>1", "", 0, true},
    {"", "Where", 9, kEver, where, "3>1", "", 0, true},
    {"", "Clip", 1, kEver, clip, "1>1 11:1..3>1", "min max", 0, true},
    {"", "Cast", 1, kEver, cast_to, "1>1", "to saturate round_mode", 0, true},
    {"", "CastLike", 15, kEver, cast_like, "2>1", "saturate round_mode", 0, true},
    {"", "Identity", 1, kEver, identity, "1>1", "", 0, true},
};

}  // namespace

std::span<const ImportRow> math_rows() { return kRows; }

}  // namespace ferrule
