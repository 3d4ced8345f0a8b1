// Quantised tensors, written out in arithmetic.
#include "core/base/text.h"
#include "core/model/importer.h"

namespace ferrule {
namespace {

// A scale or zero point placed so that it broadcasts over x: one number, one for each place of
// `axis`, or one for each block of `block` places along it.
Val placed(ModelNode& n, Val x, Val p, int64_t axis, int64_t block) {
  if (p.n_elements() == 1 && p.rank() <= 1) return reshape(p, {});
  if (p.rank() == 1) {
    n.want(p.dim(0) == x.dim(axis), "as many scales as places of the axis");
    return align(p, axis, x.rank());
  }
  const bool fits = p.rank() == x.rank() && block > 0 && block <= INT32_MAX &&
                    (x.dim(axis) + block - 1) / block == p.dim(axis);
  if (!n.want(fits, "a scale for each block")) return p;
  Ints dims = unsqueeze(p, {axis + 1}).dims(), whole = p.dims();
  dims[size_t(axis) + 1] = block;
  whole[size_t(axis)] = p.dim(axis) * block;
  return slice(reshape(broadcast_to(unsqueeze(p, {axis + 1}), dims), whole), axis, 0, x.dim(axis));
}

// The axis is not used by one lone scale, and may then be anything.
int64_t quant_axis(ModelNode& n, Val x, Val scale) {
  return scale.n_elements() == 1 && scale.rank() <= 1 ? 0 : n.axis(n.i("axis", 1), x.rank());
}

// round(x / scale) + zero, held by the cast to what the type can hold.
Val quantize(Val x, Val scale, Val zero, Type to) {
  const Val steps = apply(FRL_OP_round, x / scale);
  return cast(zero.ok() ? steps + cast(zero, steps.element()) : steps, to);
}

void quantize_linear(ModelNode& n) {
  const Val x = n.in(0), scale = n.in(1);
  const int64_t axis = quant_axis(n, x, scale), block = n.i("block_size", 0),
                asked = n.i("output_dtype", 0);
  const Type to = n.has(2) ? n.in(2).element() : asked ? n.type_of(asked) : Type::u8;
  if (!n.want(is_int(to), "an integer type to quantise to")) return;
  const Type inner = wide(is_float(x.element()) ? x.element() : scale.element());
  const Val zero = n.has(2) ? placed(n, x, n.in(2), axis, block) : Val{&n.block(), kNoValue};
  n.out(0, quantize(cast(x, inner), cast(placed(n, x, scale, axis, block), inner), zero, to));
}

bool is_zero(Val x) {
  const Tensor* known = x.ok() ? x.block->graph().literal(x.id) : nullptr;
  for (int64_t i = 0; known && i < known->n_elements(); ++i)
    if (known->at_i64(i) != 0) return false;
  return known != nullptr;
}

void dequantize_linear(ModelNode& n) {
  const Val x = n.in(0), scale = n.in(1);
  const int64_t axis = quant_axis(n, x, scale), block = n.i("block_size", 0),
                asked = n.i("output_dtype", 0);
  const Type to = asked ? n.type_of(asked) : scale.element(), inner = wide(scale.element());
  Val y = cast(x, inner);
  if (n.has(2) && !is_zero(n.in(2))) y = y - cast(placed(n, x, n.in(2), axis, block), inner);
  n.out(0, cast(y * cast(placed(n, x, scale, axis, block), inner), to));
}

// The range, stretched to hold 0, in 255 steps.
void dynamic_quantize_linear(ModelNode& n) {
  const Val x = n.in(0);
  const Ints all = axes_between(0, x.rank());
  const Val top = apply(FRL_OP_max, reduce(FRL_OP_max, x, all, false), 0.0);
  const Val bottom = apply(FRL_OP_min, reduce(FRL_OP_min, x, all, false), 0.0);
  const Val scale = (top - bottom) / 255.0;
  const Val zero = cast(apply(FRL_OP_round, 0.0 - bottom / scale), Type::u8);
  n.out(0, quantize(x, scale, zero, Type::u8));
  n.out(1, scale);
  n.out(2, zero);
}

// As i32, the zero point taken off: one number, or one for each row (left) or column (right).
Val without_zero(ModelNode& n, size_t i, size_t zero_at, bool left) {
  const Val x = cast(n.in(i), Type::i32);
  if (!n.has(zero_at)) return x;
  const Val zero = cast(n.in(zero_at), Type::i32);
  if (zero.n_elements() == 1) return x - reshape(zero, {});
  return x - (zero.rank() == 1 && left ? unsqueeze(zero, {1}) : zero);
}

void matmul_integer(ModelNode& n) {
  n.out(0, matmul(without_zero(n, 0, 2, true), without_zero(n, 1, 3, false)));
}

// a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero
void qlinear_matmul(ModelNode& n) {
  const Val a_scale = n.in(1), b_scale = n.in(4), y_zero = n.in(7);
  const Type inner = wide(a_scale.element());
  const auto scalar = [](Val x) { return x.n_elements() == 1 ? reshape(x, {}) : x; };
  const Val rows =
      a_scale.rank() == 1 && a_scale.dim(0) > 1 ? unsqueeze(a_scale, {1}) : scalar(a_scale);
  const Val sum = cast(matmul(without_zero(n, 0, 2, true), without_zero(n, 3, 5, false)), inner);
  const Val scale = cast(rows, inner) * cast(scalar(b_scale), inner) / cast(scalar(n.in(6)), inner);
  n.out(0, cast(apply(FRL_OP_round, sum * scale) + cast(scalar(y_zero), inner), y_zero.element()));
}

constexpr ImportRow kRows[] = {
    {"", "QuantizeLinear", 10, kEver, quantize_linear, "2..3>1",
     "axis block_size output_dtype precision saturate"},
    {"", "DequantizeLinear", 10, kEver, dequantize_linear, "2..3>1",
     "axis block_size output_dtype"},
    {"", "DynamicQuantizeLinear", 11, kEver, dynamic_quantize_linear, "1>3", ""},
    {"", "MatMulInteger", 10, kEver, matmul_integer, "2..4>1", ""},
    {"", "QLinearMatMul", 10, kEver, qlinear_matmul, "8>1", ""},
};

}  // namespace

std::span<const ImportRow> quant_rows() { return kRows; }

}  // namespace ferrule
