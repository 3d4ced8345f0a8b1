// Ops that pick, scatter, sort and search elements.
#include <algorithm>

#include "core/base/text.h"
#include "core/model/importer.h"

namespace ferrule {
namespace {

// The core indexes with i32 or i64.
Val as_index(Val x) { return x.element() == Type::i32 ? x : cast(x, Type::i64); }

void gather_slices(ModelNode& n) {
  const Val x = n.in(0);
  n.out(0, gather(x, as_index(n.in(1)), n.axis_attribute(0, x.rank())));
}

void gather_each(ModelNode& n) {
  const Val x = n.in(0);
  n.out(0, gather_elements(x, as_index(n.in(1)), n.axis_attribute(0, x.rank())));
}

void gather_nd(ModelNode& n) {
  Attributes attributes(FRL_OP_gather_nd);
  attributes.set_i(FRL_AT_gather_nd_batch_axes, n.i("batch_dims", 0));
  n.out(0, n.block().emit(FRL_OP_gather_nd, attributes, {n.in(0), as_index(n.in(1))}));
}

int64_t combining(ModelNode& n) {
  static constexpr const char* kNames[] = {"none", "add", "mul", "max", "min"};
  static constexpr OpId kOps[] = {0, FRL_OP_add, FRL_OP_mul, FRL_OP_max, FRL_OP_min};
  return kOps[n.choice("reduction", "none", kNames)];
}

void scatter_each(ModelNode& n) {
  const Val x = n.in(0);
  Attributes attributes(FRL_OP_scatter_elements);
  attributes.set_i(FRL_AT_scatter_elements_axis, from_end(n.axis_attribute(0, x.rank()), x.rank()));
  attributes.set_i(FRL_AT_scatter_elements_by, combining(n));
  n.out(0, n.block().emit(FRL_OP_scatter_elements, attributes, {x, as_index(n.in(1)), n.in(2)}));
}

void scatter_nd(ModelNode& n) {
  Attributes attributes(FRL_OP_scatter_nd);
  attributes.set_i(FRL_AT_scatter_nd_by, combining(n));
  n.out(0, n.block().emit(FRL_OP_scatter_nd, attributes, {n.in(0), as_index(n.in(1)), n.in(2)}));
}

void top_k(ModelNode& n) {
  const Val x = n.in(0);
  const int64_t k = n.opset() < 10 ? n.need_i("k") : n.known_integer(1, 1);
  if (n.failed()) return;
  Attributes attributes(FRL_OP_topk);
  attributes.set_i(FRL_AT_topk_axis, from_end(n.axis_attribute(-1, x.rank()), x.rank()));
  attributes.set_i(FRL_AT_topk_k, k).set_i(FRL_AT_topk_largest, n.i("largest", 1) != 0);
  const auto results = n.block().emit_all(FRL_OP_topk, attributes, {x});
  n.out(0, results[0]);
  n.out(1, results[1]);
}

// one_hot(i) == (i mod depth == 0 .. depth - 1); an index outside -depth .. depth - 1 is all off.
void one_hot(ModelNode& n) {
  Val indices = n.in(0);
  const auto depth = n.known_integer(1, 0);
  const Val values = n.in(2);
  if (n.failed()) return;
  if (!n.want(depth >= 0 && values.rank() == 1 && values.dim(0) == 2,
              "a depth of 0 or more and two values"))
    return;
  const int64_t rank = indices.rank() + 1, axis = n.axis_attribute(-1, rank);
  indices = cast(indices, Type::i64);
  const Val wrapped = select(apply(FRL_OP_less, indices, 0.0), indices + double(depth), indices);
  const Val places = align(iota(n.block(), Type::i64, depth), axis, rank);
  const Val hit = apply(FRL_OP_equal, unsqueeze(wrapped, {axis}), places);
  n.out(0, select(hit, reshape(slice(values, 0, 1, 1), {}), reshape(slice(values, 0, 0, 1), {})));
}

// If everything above is known, so is what it gives, and its extents are exact.
void written(ModelNode& n, OpId op, Attributes attributes, const std::vector<Val>& operands) {
  std::vector<Val> known;
  Tensor tensor;
  for (const Val& operand : operands)
    known.push_back(n.try_known(operand, &tensor) ? n.block().literal(tensor) : operand);
  const bool all = std::ranges::all_of(
      known, [&](Val each) { return each.ok() && n.block().graph().literal(each.id); });
  const auto results = n.block().emit_all(op, std::move(attributes), all ? known : operands);
  for (size_t i = 0; i < n.n_out() && i < results.size(); ++i) {
    Tensor exact;
    const bool is_exact = all && n.wants(i) && n.try_known(results[i], &exact);
    n.out(i, is_exact ? n.block().made(exact, n.out_name(i)) : results[i]);
  }
}

void non_zero(ModelNode& n) { written(n, FRL_OP_nonzero, Attributes(FRL_OP_nonzero), {n.in(0)}); }

void unique(ModelNode& n) {
  const Val x = n.in(0);
  Attributes attributes(FRL_OP_unique);
  if (n.has_attribute("axis"))
    attributes.set_i(FRL_AT_unique_axis, from_end(n.axis_attribute(0, x.rank()), x.rank()));
  attributes.set_i(FRL_AT_unique_sorted, n.i("sorted", 1) != 0);
  written(n, FRL_OP_unique, attributes, {x});
}

// The slices where the condition holds; the condition must be known, for the extent is its count.
void compress(ModelNode& n) {
  Val x = n.in(0);
  const Tensor condition = n.known(1);
  if (n.failed()) return;
  if (!n.has_attribute("axis")) x = reshape(x, {x.n_elements()});
  const int64_t axis = n.axis_attribute(0, x.rank());
  Ints places;
  for (int64_t i = 0; i < condition.n_elements() && i < x.dim(axis); ++i)
    if (condition.at_i64(i)) places.push_back(i);
  n.out(0, gather(x, n.block().of_i64(places), axis));
}

void non_max_suppression(ModelNode& n) {
  Attributes attributes(FRL_OP_non_max_suppression);
  const int64_t most = n.known_integer(2, 0);
  attributes.set_i(FRL_AT_non_max_suppression_max_per_class, most);
  attributes.set_f(FRL_AT_non_max_suppression_iou_threshold, n.known_number(3, 0));
  if (n.has(4)) attributes.set_f(FRL_AT_non_max_suppression_score_threshold, n.known_number(4, 0));
  attributes.set_i(FRL_AT_non_max_suppression_centre, n.i("center_point_box", 0) != 0);
  n.out(0, n.block().emit(FRL_OP_non_max_suppression, attributes, {n.in(0), n.in(1)}));
}

// Each batch's first `length` slices in reverse order, as a gather along the time axis.
void reverse_sequence(ModelNode& n) {
  const Val x = n.in(0), lengths = cast(n.in(1), Type::i64);
  const int64_t time = n.axis(n.i("time_axis", 0), x.rank()),
                batch = n.axis(n.i("batch_axis", 1), x.rank());
  if (!n.want(time != batch && lengths.rank() == 1 && lengths.dim(0) == x.dim(batch),
              "a length for each batch"))
    return;
  const Val at = align(iota(n.block(), Type::i64, x.dim(time)), time, x.rank());
  const Val length = align(lengths, batch, x.rank());
  const Val places = select(apply(FRL_OP_less, at, length), length - 1.0 - at, at);
  n.out(0, gather_elements(x, broadcast_to(places, x.dims()), time));
}

// 1 at the first largest element along the axis: its place compared with every place.
void hard_max(ModelNode& n) {
  Val x = n.in(0);
  const Ints dims = x.dims();
  int64_t axis = 0;
  if (n.opset() < 13) {
    axis = n.split_attribute(x.rank());
    x = flatten(x, axis), axis = 1;
  } else {
    axis = n.axis_attribute(-1, x.rank());
  }
  if (n.failed()) return;
  Attributes attributes(FRL_OP_arg_reduce);
  attributes.set_i(FRL_AT_arg_reduce_axis, from_end(axis, x.rank()));
  const Val best = n.block().emit(FRL_OP_arg_reduce, attributes, {x});
  const Val places = align(iota(n.block(), Type::i64, x.dim(axis)), axis, x.rank());
  n.out(0, reshape(cast(apply(FRL_OP_equal, places, best), x.element()), dims));
}

constexpr ImportRow kRows[] = {
    {"", "Gather", 1, kEver, gather_slices, "2>1", "axis", 0, true},
    {"", "GatherElements", 11, kEver, gather_each, "2>1", "axis", 0, true},
    {"", "GatherND", 11, kEver, gather_nd, "2>1", "batch_dims", 0, true},
    {"", "Scatter", 9, 10, scatter_each, "3>1", "axis", 0, true},
    {"", "ScatterElements", 11, kEver, scatter_each, "3>1", "axis reduction", 0, true},
    {"", "ScatterND", 11, kEver, scatter_nd, "3>1", "reduction", 0, true},
    {"", "TopK", 1, kEver, top_k, "1>2 10:2>2", "axis k largest sorted"},
    {"", "OneHot", 9, kEver, one_hot, "3>1", "axis", 0, true},
    {"", "NonZero", 9, kEver, non_zero, "1>1", "", 0, true},
    {"", "Unique", 11, kEver, unique, "1>4", "axis sorted", 0, true},
    {"", "Compress", 9, kEver, compress, "2>1", "axis"},
    {"", "NonMaxSuppression", 10, kEver, non_max_suppression, "2..5>1", "center_point_box"},
    {"", "ReverseSequence", 10, kEver, reverse_sequence, "2>1", "batch_axis time_axis"},
    {"", "Hardmax", 1, kEver, hard_max, "1>1", "axis"},
};

}  // namespace

std::span<const ImportRow> index_rows() { return kRows; }

}  // namespace ferrule
