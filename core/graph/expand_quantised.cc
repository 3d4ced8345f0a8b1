// Quantised tensors, and products over axes that are named.

#include "core/base/text.h"
#include "core/graph/body.h"

namespace ferrule {
namespace {

bool want_fits(BodyBuilder& b, Term y, Term x) {
  return b.want(y.shape() == x.shape(), "scale and zero",
                cat("them to broadcast to ", to_string(x.shape())), to_string(y.shape()));
}

// The cast holds what the type cannot.
Term quantise(BodyBuilder& b, Term x, Term scale, Term zero, int64_t to) {
  if (!b.want(to >= int64_t(Type::i8) && to <= int64_t(Type::u64), "to", "an integer type",
              cat("type ", to)))
    return x;
  const Type inner = wide(x.type());
  Term steps = apply(FRL_OP_round, cast(x, inner) / cast(scale, inner));
  if (zero.ok()) steps = steps + cast(zero, inner);
  want_fits(b, steps, x);
  return cast(steps, Type(to));
}

Term dequantise(BodyBuilder& b, Term x, Term scale, Term zero) {
  const Type inner = wide(scale.type());
  Term y = cast(x, inner);
  if (zero.ok()) y = y - cast(zero, inner);
  y = y * cast(scale, inner);
  want_fits(b, y, x);
  return cast(y, scale.type());
}

// Each byte as two numbers of 4 bits, the low half first: [n, blocks, bytes] as [n, blocks, 2
// bytes].
Term nibbles(BodyBuilder& b, Term w) {
  const std::vector<int64_t> single = {w.extent(-3), w.extent(-2), w.extent(-1), 1};
  const Term low = b.emit(FRL_OP_bit_and, {w, b.number(Type::u8, 15)});
  const Term high = b.emit(FRL_OP_shift_right, {w, b.number(Type::u8, 4)});
  return reshape(concat_last(reshape(low, single), reshape(high, single)),
                 {w.extent(-3), w.extent(-2), 2 * w.extent(-1)});
}

// Axes from the end as places from the start; refused unless each is one of the rank, once.
std::vector<int64_t> places(BodyBuilder& b, const std::vector<int64_t>& axes, Term x,
                            std::vector<bool>& taken) {
  taken.resize(size_t(x.rank()));
  std::vector<int64_t> out;
  for (int64_t axis : axes) {
    const int64_t place = axis + x.rank();
    if (!b.want(axis < 0 && place >= 0 && !taken[size_t(place)], "axes",
                cat("each of -", x.rank(), " to -1 at most once"), cat(axis)))
      return {};
    taken[size_t(place)] = true, out.push_back(place);
  }
  return out;
}

struct Side {
  Term x;                            // [batch.., rows, columns]
  std::vector<int64_t> batch, free;  // extents
  int64_t contracted = 1;
};

// Batch axes first, then free and contracted ones, each group as one axis.
Side side_of(BodyBuilder& b, Term x, uint32_t batch_slot, uint32_t contract_slot, bool free_first) {
  std::vector<bool> taken;
  Side out{x, {}, {}};
  std::vector<int64_t> order = places(b, b.attributes.list(batch_slot), x, taken), free;
  const std::vector<int64_t> contracted = places(b, b.attributes.list(contract_slot), x, taken);
  if (!b.status().ok()) return out;
  for (int64_t i : order) out.batch.push_back(x.shape()[size_t(i)]);
  for (int64_t i = 0; i < x.rank(); ++i)
    if (!taken[size_t(i)]) free.push_back(i), out.free.push_back(x.shape()[size_t(i)]);
  for (int64_t i : contracted) out.contracted *= x.shape()[size_t(i)];
  const auto& first = free_first ? free : contracted;
  const auto& second = free_first ? contracted : free;
  order.insert(order.end(), first.begin(), first.end());
  order.insert(order.end(), second.begin(), second.end());
  for (int64_t& place : order) place -= x.rank();
  int64_t rows = 1;
  for (int64_t extent : out.free) rows *= extent;
  std::vector<int64_t> shape = out.batch;
  shape.push_back(free_first ? rows : out.contracted);
  shape.push_back(free_first ? out.contracted : rows);
  out.x = reshape(order.empty() ? x : transpose(x, order), shape);
  return out;
}

}  // namespace

Terms expand_quantise(BodyBuilder& b) {
  return {
      quantise(b, b.operand(0), b.operand(1), b.operand(2), b.attributes.i(FRL_AT_quantise_to))};
}

Terms expand_dequantise(BodyBuilder& b) {
  return {dequantise(b, b.operand(0), b.operand(1), b.operand(2))};
}

Terms expand_fake_quantise(BodyBuilder& b) {
  const Term steps = quantise(b, b.operand(0), b.operand(1), b.operand(2),
                              b.attributes.i(FRL_AT_fake_quantise_to));
  return {cast(dequantise(b, steps, b.operand(1), b.operand(2)), b.operand(0).type())};
}

Terms expand_matmul_quantised(BodyBuilder& b) {
  const Term x = b.operand(0), given = b.operand(1), scale = b.operand(2), zero = b.operand(3);
  const int64_t bits = b.attributes.i(FRL_AT_matmul_quantised_bits);
  if (!b.want(bits == 4 || bits == 8, "bits", "4 or 8", cat(bits)) ||
      !b.want(given.rank() == 3 && given.type() == Type::u8, "w", "u8 [n, blocks, bytes]",
              cat(type_name(given.type()), to_string(given.shape()))))
    return {x};
  const Term w = bits == 4 ? nibbles(b, given) : given;
  const int64_t n = w.extent(-3), blocks = w.extent(-2), k = blocks * w.extent(-1);
  const auto want_blocks = [&](Term t, std::string_view what) {
    return b.want(t.rank() == 2 && t.extent(-2) == n && t.extent(-1) == blocks, what,
                  cat("[", n, ",", blocks, "]"), to_string(t.shape()));
  };
  if (!want_blocks(scale, "scale") || (zero.ok() && !want_blocks(zero, "zero"))) return {x};
  const Type inner = wide(x.type());
  const Term from = zero.ok() ? reshape(cast(zero, inner), {n, blocks, 1})
                              : b.number(inner, double(int64_t{1} << (bits - 1)));
  const Term weights = (cast(w, inner) - from) * reshape(cast(scale, inner), {n, blocks, 1});
  return {cast(matmul(cast(x, inner), swap_last(reshape(weights, {n, k}))), x.type())};
}

Terms expand_dot_general(BodyBuilder& b) {
  const Side left =
      side_of(b, b.operand(0), FRL_AT_dot_general_batch_a, FRL_AT_dot_general_contract_a, true);
  const Side right =
      side_of(b, b.operand(1), FRL_AT_dot_general_batch_b, FRL_AT_dot_general_contract_b, false);
  b.want(left.batch == right.batch, "batch axes", "the same extents on both sides",
         cat(left.batch.size(), " and ", right.batch.size()));
  const auto contracted = [&](uint32_t slot, Term x) {
    std::vector<int64_t> extents;
    for (int64_t axis : b.attributes.list(slot)) extents.push_back(x.extent(axis));
    return extents;
  };
  b.want(contracted(FRL_AT_dot_general_contract_a, b.operand(0)) ==
             contracted(FRL_AT_dot_general_contract_b, b.operand(1)),
         "contracted axes", "the same extents on both sides",
         cat(left.contracted, " and ", right.contracted));
  std::vector<int64_t> shape = left.batch;
  shape.insert(shape.end(), left.free.begin(), left.free.end());
  shape.insert(shape.end(), right.free.begin(), right.free.end());
  return {reshape(matmul(left.x, right.x), shape)};
}

}  // namespace ferrule
