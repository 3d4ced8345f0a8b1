// Reductions, running sums, and the softmax family.
#include "core/base/text.h"
#include "core/model/importer.h"

namespace ferrule {
namespace {

// The axes to reduce: an attribute before opset ARG of the row, an input from then on.
bool reduced_axes(ModelNode& n, Val x, Ints* axes) {
  const bool as_input = n.opset() >= int64_t(n.row().arg);
  const Ints given = as_input ? (n.has(1) ? n.known_ints(1) : Ints()) : n.ints("axes");
  *axes = n.axes(given, x.rank());
  if (given.empty() && !n.i("noop_with_empty_axes", 0)) *axes = axes_between(0, x.rank());
  return !n.failed();
}

// What happens before and after the reduction itself.
template <class Body>
void reduction(ModelNode& n, Body body) {
  const Val x = n.in(0);
  Ints axes;
  if (reduced_axes(n, x, &axes)) n.out(0, body(x, axes, n.i("keepdims", 1) != 0));
}
template <class Body>
void wide_reduction(ModelNode& n, Body body) {
  reduction(n, [&](Val x, const Ints& axes, bool keep) {
    return in_wide(x, [&](Val w) { return body(w, axes, keep); });
  });
}

template <OpId by>
void reduce_by(ModelNode& n) {
  reduction(n, [](Val x, const Ints& axes, bool keep) { return reduce(by, x, axes, keep); });
}
void reduce_mean(ModelNode& n) { reduction(n, mean); }
// after(sum of before(x))
template <class Before, class After>
void reduce_sum(ModelNode& n, Before before, After after) {
  wide_reduction(n, [&](Val x, const Ints& axes, bool keep) {
    return after(reduce(FRL_OP_add, before(x), axes, keep));
  });
}
Val same(Val x) { return x; }
Val square(Val x) { return x * x; }
template <OpId op>
Val by(Val x) {
  return apply(op, x);
}
void reduce_l1(ModelNode& n) { reduce_sum(n, by<FRL_OP_abs>, same); }
void reduce_l2(ModelNode& n) { reduce_sum(n, square, by<FRL_OP_sqrt>); }
void reduce_sum_square(ModelNode& n) { reduce_sum(n, square, same); }
void reduce_log_sum(ModelNode& n) { reduce_sum(n, same, by<FRL_OP_log>); }
// The maximum is subtracted first; an infinite one would give inf - inf.
void reduce_log_sum_exp(ModelNode& n) {
  wide_reduction(n, [&](Val x, const Ints& axes, bool keep) {
    const Val top = reduce(FRL_OP_max, x, axes);
    const Val is_infinite = n.block().emit(FRL_OP_is_inf, {top});
    const Val shift = select(is_infinite, n.block().scalar(x.element(), 0), top);
    const Val sum =
        apply(FRL_OP_log, reduce(FRL_OP_add, apply(FRL_OP_exp, x - shift), axes)) + shift;
    return keep ? sum : squeeze(sum, axes);
  });
}

void arg_extreme(ModelNode& n) {
  const Val x = n.in(0);
  const int64_t axis = n.axis_attribute(0, x.rank());
  Attributes attributes(FRL_OP_arg_reduce);
  attributes.set_i(FRL_AT_arg_reduce_by, n.row().arg)
      .set_i(FRL_AT_arg_reduce_axis, from_end(axis, x.rank()));
  attributes.set_i(FRL_AT_arg_reduce_keep, n.i("keepdims", 1) != 0)
      .set_i(FRL_AT_arg_reduce_last, n.i("select_last_index", 0) != 0);
  n.out(0, n.block().emit(FRL_OP_arg_reduce, attributes, {x}));
}

void cumulative_sum(ModelNode& n) {
  const Val x = n.in(0);
  const int64_t axis = n.axis(n.known_integer(1, 0), x.rank());
  Attributes attributes(FRL_OP_cumulative);
  attributes.set_i(FRL_AT_cumulative_axis, from_end(axis, x.rank()));
  attributes.set_i(FRL_AT_cumulative_exclusive, n.i("exclusive", 0) != 0);
  attributes.set_i(FRL_AT_cumulative_reverse, n.i("reverse", 0) != 0);
  n.out(0, n.block().emit(FRL_OP_cumulative, attributes, {x}));
}

// Before opset 13 all axes from `axis` on were one.
void soft_max(ModelNode& n) {
  const Val x = n.in(0);
  if (n.opset() >= 13) return n.out(0, softmax(x, n.axis_attribute(-1, x.rank()), n.row().arg));
  const int64_t axis = n.split_attribute(x.rank());
  if (n.failed()) return;
  if (axis == x.rank() - 1) return n.out(0, softmax(x, axis, n.row().arg));
  n.out(0, reshape(softmax(flatten(x, axis), 1, n.row().arg), x.dims()));
}

constexpr const char* kAxes = "axes keepdims noop_with_empty_axes";

constexpr ImportRow kRows[] = {
    {"", "ReduceSum", 1, kEver, reduce_by<FRL_OP_add>, "1>1 13:1..2>1", kAxes, 13},
    {"", "ReduceProd", 1, kEver, reduce_by<FRL_OP_mul>, "1>1 18:1..2>1", kAxes, 18},
    {"", "ReduceMax", 1, kEver, reduce_by<FRL_OP_max>, "1>1 18:1..2>1", kAxes, 18},
    {"", "ReduceMin", 1, kEver, reduce_by<FRL_OP_min>, "1>1 18:1..2>1", kAxes, 18},
    {"", "ReduceMean", 1, kEver, reduce_mean, "1>1 18:1..2>1", kAxes, 18},
    {"", "ReduceL1", 1, kEver, reduce_l1, "1>1 18:1..2>1", kAxes, 18},
    {"", "ReduceL2", 1, kEver, reduce_l2, "1>1 18:1..2>1", kAxes, 18},
    {"", "ReduceSumSquare", 1, kEver, reduce_sum_square, "1>1 18:1..2>1", kAxes, 18},
    {"", "ReduceLogSum", 1, kEver, reduce_log_sum, "1>1 18:1..2>1", kAxes, 18},
    {"", "ReduceLogSumExp", 1, kEver, reduce_log_sum_exp, "1>1 18:1..2>1", kAxes, 18},
    {"", "ArgMax", 1, kEver, arg_extreme, "1>1", "axis keepdims select_last_index", FRL_OP_max},
    {"", "ArgMin", 1, kEver, arg_extreme, "1>1", "axis keepdims select_last_index", FRL_OP_min},
    {"", "CumSum", 11, kEver, cumulative_sum, "2>1", "exclusive reverse", 0, true},
    {"", "Softmax", 1, kEver, soft_max, "1>1", "axis", FRL_OP_softmax},
    {"", "LogSoftmax", 1, kEver, soft_max, "1>1", "axis", FRL_OP_log_softmax},
};

}  // namespace

std::span<const ImportRow> reduce_rows() { return kRows; }

}  // namespace ferrule
