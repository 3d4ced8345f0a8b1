#include "core/model/emit.h"

#include <algorithm>

#include "core/base/text.h"

namespace ferrule {
namespace {

Val none(Val x) { return {x.block, kNoValue}; }

Val like(Val x, double number) { return x.ok() ? x.block->scalar(x.element(), number) : none(x); }

Ints ends_of(const Ints& axes, int64_t rank) {
  Ints out;
  for (const int64_t axis : axes) out.push_back(from_end(axis, rank));
  return out;
}

}  // namespace

Ints axes_between(int64_t first, int64_t last) {
  Ints out;
  for (int64_t axis = first; axis < last; ++axis) out.push_back(axis);
  return out;
}

Val apply(OpId op, Val a) { return a.ok() ? a.block->emit(op, {a}) : a; }
Val apply(OpId op, Val a, Val b) {
  if (!a.ok() || !b.ok()) return none(a);
  return a.block->emit(op, {a, b});
}
Val apply(OpId op, Val a, double b) { return apply(op, a, like(a, b)); }

Val operator+(Val a, Val b) { return apply(FRL_OP_add, a, b); }
Val operator-(Val a, Val b) { return apply(FRL_OP_sub, a, b); }
Val operator*(Val a, Val b) { return apply(FRL_OP_mul, a, b); }
Val operator/(Val a, Val b) { return apply(FRL_OP_div, a, b); }
Val operator+(Val a, double b) { return a + like(a, b); }
Val operator-(Val a, double b) { return a - like(a, b); }
Val operator*(Val a, double b) { return b == 1 ? a : a * like(a, b); }
Val operator/(Val a, double b) { return a / like(a, b); }
Val operator-(double a, Val b) { return like(b, a) - b; }

Val select(Val condition, Val a, Val b) {
  if (!condition.ok() || !a.ok() || !b.ok()) return none(a);
  return a.block->emit(FRL_OP_select, {condition, a, b});
}

Val cast(Val x, Type to) {
  if (!x.ok() || x.element() == to) return x;
  return x.block->emit(FRL_OP_cast, Attributes(FRL_OP_cast).set_i(FRL_AT_cast_to, int64_t(to)),
                       {x});
}

Val reshape(Val x, const Ints& dims) {
  if (!x.ok() || x.dims() == dims) return x;
  return x.block->emit(FRL_OP_reshape,
                       Attributes(FRL_OP_reshape).set_list(FRL_AT_reshape_shape, dims), {x});
}

Val transpose(Val x, const Ints& order) {
  if (!x.ok()) return x;
  const int64_t rank = x.rank();
  Ints ends = ends_of(order, rank);
  if (ends == axes_between(-rank, 0)) return x;
  return x.block->emit(
      FRL_OP_transpose,
      Attributes(FRL_OP_transpose).set_list(FRL_AT_transpose_order, std::move(ends)), {x});
}

Val swap_last(Val x) {
  if (!x.ok() || x.rank() < 2) return x;
  Ints order = axes_between(0, x.rank());
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return transpose(x, order);
}

Val broadcast_to(Val x, const Ints& dims) {
  if (!x.ok() || x.dims() == dims) return x;
  return x.block->emit(FRL_OP_broadcast,
                       Attributes(FRL_OP_broadcast).set_list(FRL_AT_broadcast_shape, dims), {x});
}

Val unsqueeze(Val x, Ints axes) {
  if (!x.ok()) return x;
  const int64_t rank = x.rank() + int64_t(axes.size());
  for (int64_t& axis : axes) axis = from_start(axis, rank);
  std::sort(axes.begin(), axes.end());
  Ints dims = x.dims();
  for (const int64_t axis : axes) {
    if (axis < 0 || axis > int64_t(dims.size())) {
      x.block->fail(Status(Code::invalid_argument,
                           cat("axes: want them inside rank ", rank, ", got ", axis)));
      return none(x);
    }
    dims.insert(dims.begin() + axis, 1);
  }
  return reshape(x, dims);
}

Val squeeze(Val x, const Ints& axes) {
  if (!x.ok()) return x;
  std::vector<bool> gone(size_t(x.rank()));
  for (const int64_t given : axes) {
    const int64_t axis = from_start(given, x.rank());
    if (axis < 0 || axis >= x.rank() || x.dim(axis) != 1) {
      x.block->fail(
          Status(Code::invalid_argument,
                 cat("axis ", given, ": want an extent of 1, got ", to_string(x.type()))));
      return none(x);
    }
    gone[size_t(axis)] = true;
  }
  Ints dims;
  for (int64_t axis = 0; axis < x.rank(); ++axis)
    if (!gone[size_t(axis)]) dims.push_back(x.dim(axis));
  return reshape(x, dims);
}

Val flatten(Val x, int64_t axis) {
  Ints dims = {1, 1};
  for (int64_t i = 0; i < x.rank(); ++i) dims[i < axis ? 0 : 1] *= x.dim(i);
  return reshape(x, dims);
}

Val align(Val x, int64_t axis, int64_t rank) {
  Ints dims = x.dims();
  for (int64_t last = axis + int64_t(dims.size()); last < rank; ++last) dims.push_back(1);
  return reshape(x, dims);
}

Val slice(Val x, const Ints& starts, const Ints& sizes, const Ints& steps) {
  const bool forward = std::ranges::all_of(steps, [](int64_t step) { return step == 1; });
  if (!x.ok() || (sizes == x.dims() && forward)) return x;
  Attributes attributes(FRL_OP_slice);
  attributes.set_list(FRL_AT_slice_starts, starts).set_list(FRL_AT_slice_sizes, sizes);
  if (!forward) attributes.set_list(FRL_AT_slice_steps, steps);
  return x.block->emit(FRL_OP_slice, std::move(attributes), {x});
}

Val slice(Val x, int64_t axis, int64_t start, int64_t size, int64_t step) {
  axis = from_start(axis, x.rank());
  if (!x.ok() || axis < 0 || axis >= x.rank()) return none(x);
  Ints starts(size_t(x.rank()), 0), sizes = x.dims(), steps(size_t(x.rank()), 1);
  starts[size_t(axis)] = start, sizes[size_t(axis)] = size, steps[size_t(axis)] = step;
  return slice(x, starts, sizes, steps);
}

Val concat(const std::vector<Val>& parts, int64_t axis) {
  for (const Val& part : parts)
    if (!part.ok()) return none(parts[0]);
  if (parts.size() == 1) return parts[0];
  const int64_t end = from_end(axis, parts[0].rank());
  return parts[0].block->emit(FRL_OP_concat,
                              Attributes(FRL_OP_concat).set_i(FRL_AT_concat_axis, end), parts);
}

Val pad(Val x, const Ints& begins, const Ints& ends, int64_t mode, Val fill) {
  const auto is_zero = [](int64_t n) { return n == 0; };
  if (!x.ok() || (std::ranges::all_of(begins, is_zero) && std::ranges::all_of(ends, is_zero)))
    return x;
  Attributes attributes(FRL_OP_pad);
  attributes.set_list(FRL_AT_pad_begins, begins)
      .set_list(FRL_AT_pad_ends, ends)
      .set_i(FRL_AT_pad_mode, mode);
  return x.block->emit(FRL_OP_pad, std::move(attributes), {x, fill});
}

Val gather(Val x, Val indices, int64_t axis) {
  if (!x.ok() || !indices.ok()) return none(x);
  const int64_t end = from_end(axis, x.rank());
  return x.block->emit(FRL_OP_gather, Attributes(FRL_OP_gather).set_i(FRL_AT_gather_axis, end),
                       {x, indices});
}

Val gather_elements(Val x, Val indices, int64_t axis) {
  if (!x.ok() || !indices.ok()) return none(x);
  const int64_t end = from_end(axis, x.rank());
  return x.block->emit(FRL_OP_gather_elements,
                       Attributes(FRL_OP_gather_elements).set_i(FRL_AT_gather_elements_axis, end),
                       {x, indices});
}

Val reduce(OpId by, Val x, const Ints& axes, bool keep) {
  if (!x.ok() || axes.empty()) return x;
  Attributes attributes(FRL_OP_reduce);
  attributes.set_i(FRL_AT_reduce_by, by).set_i(FRL_AT_reduce_keep, keep);
  Ints ends = ends_of(axes, x.rank());
  std::sort(ends.begin(), ends.end());
  attributes.set_list(FRL_AT_reduce_axes, std::move(ends));
  return x.block->emit(FRL_OP_reduce, std::move(attributes), {x});
}

Val mean(Val x, const Ints& axes, bool keep) {
  int64_t n = 1;
  for (const int64_t axis : axes) n *= x.dim(axis);
  if (axes.empty()) return x;
  return in_wide(x, [&](Val w) { return reduce(FRL_OP_add, w, axes, keep) / double(n); });
}

Val softmax(Val x, int64_t axis, OpId op) {
  if (!x.ok()) return x;
  Attributes attributes(op);
  attributes.set_i(FRL_AT_softmax_axis, from_end(axis, x.rank()));
  return x.block->emit(op, std::move(attributes), {x});
}

Val matmul(Val a, Val b) {
  Val y = apply(FRL_OP_matmul, a.rank() == 1 ? unsqueeze(a, {0}) : a,
                b.rank() == 1 ? unsqueeze(b, {1}) : b);
  if (b.rank() == 1) y = squeeze(y, {-1});
  return a.rank() == 1 ? squeeze(y, {b.rank() == 1 ? -1 : -2}) : y;
}

Val topk_places(Val x, int64_t axis, int64_t k) {
  if (!x.ok()) return x;
  Attributes attributes(FRL_OP_topk);
  attributes.set_i(FRL_AT_topk_axis, from_end(axis, x.rank())).set_i(FRL_AT_topk_k, k);
  return x.block->emit(FRL_OP_topk, std::move(attributes), {x}, 1);
}

Val iota(ImportBlock& block, Type type, int64_t n) {
  if (block.failed() || !block.may_make(n > INT32_MAX ? INT64_MAX / 2 : n * size_bytes(type)))
    return {&block, kNoValue};
  Tensor out(TensorType{type, Shape{n}});
  for (int64_t i = 0; i < n; ++i) out.set_f64(i, double(i));
  return block.made(std::move(out), "iota");
}

}  // namespace ferrule
