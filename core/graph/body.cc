#include "core/graph/body.h"

#include "core/base/text.h"

namespace ferrule {

Type Term::type() const { return ok() ? in->graph.type(id).type : Type::f32; }
const Shape& Term::shape() const {
  static const Shape kNone;
  return ok() ? in->graph.shape(id) : kNone;
}
int64_t Term::extent(int64_t from_end) const {
  return -from_end <= rank() ? shape().from_end(from_end) : 1;
}

Term BodyBuilder::emit(OpId op, Attributes given, std::initializer_list<Term> terms) {
  if (!status_.ok()) return {this, kNoValue};
  std::vector<ValueId> ids;
  for (const Term& term : terms) ids.push_back(term.id);
  const auto value = graph.emit(op, std::move(given), std::move(ids));
  if (!value.ok()) status_ = value.status();
  return {this, value.ok() ? *value : kNoValue};
}

Term BodyBuilder::sibling(Term x, uint32_t result) {
  return {this, x.ok() ? graph.node(graph.value(x.id).maker).results[result] : kNoValue};
}

bool BodyBuilder::want(bool fits, std::string_view what, std::string_view wanted,
                       std::string_view got) {
  if (!fits && status_.ok())
    status_ = Status(Code::invalid_argument, cat(what, ": want ", wanted, ", got ", got));
  return fits && status_.ok();
}

Term operator+(Term a, Term b) { return a.in->emit(FRL_OP_add, {a, b}); }
Term operator-(Term a, Term b) { return a.in->emit(FRL_OP_sub, {a, b}); }
Term operator*(Term a, Term b) { return a.in->emit(FRL_OP_mul, {a, b}); }
Term operator/(Term a, Term b) { return a.in->emit(FRL_OP_div, {a, b}); }
Term operator+(Term a, double b) { return a + a.in->number(a.type(), b); }
Term operator-(double a, Term b) { return b.in->number(b.type(), a) - b; }
Term operator*(Term a, double b) { return a * a.in->number(a.type(), b); }
Term operator/(Term a, double b) { return a / a.in->number(a.type(), b); }

Term apply(OpId pointwise, Term x) { return x.in->emit(pointwise, {x}); }

Term cast(Term x, Type to) {
  if (!x.ok() || x.type() == to) return x;
  return x.in->emit(FRL_OP_cast, Attributes(FRL_OP_cast).set_i(FRL_AT_cast_to, int64_t(to)), {x});
}

Term reduce(OpId by, Term x, std::vector<int64_t> axes, bool keep) {
  return x.in->emit(FRL_OP_reduce,
                    Attributes(FRL_OP_reduce)
                        .set_i(FRL_AT_reduce_by, by)
                        .set_list(FRL_AT_reduce_axes, std::move(axes))
                        .set_i(FRL_AT_reduce_keep, keep),
                    {x});
}

Term sum(Term x, std::vector<int64_t> axes) { return reduce(FRL_OP_add, x, std::move(axes)); }

Term mean(Term x, const std::vector<int64_t>& axes) {
  int64_t n = 1;
  for (int64_t axis : axes) n *= x.extent(axis);
  return sum(x, axes) / double(n);
}

Term softmax(Term x) { return x.in->emit(FRL_OP_softmax, {x}); }
Term matmul(Term a, Term b) { return a.in->emit(FRL_OP_matmul, {a, b}); }

Term reshape(Term x, std::vector<int64_t> shape) {
  return x.in->emit(FRL_OP_reshape,
                    Attributes(FRL_OP_reshape).set_list(FRL_AT_reshape_shape, std::move(shape)),
                    {x});
}

Term broadcast(Term x, const Shape& shape) {
  std::vector<int64_t> extents;
  for (size_t i = 0; i < shape.rank(); ++i) extents.push_back(shape[i]);
  return x.in->emit(
      FRL_OP_broadcast,
      Attributes(FRL_OP_broadcast).set_list(FRL_AT_broadcast_shape, std::move(extents)), {x});
}

Term transpose(Term x, std::vector<int64_t> order) {
  return x.in->emit(FRL_OP_transpose,
                    Attributes(FRL_OP_transpose).set_list(FRL_AT_transpose_order, std::move(order)),
                    {x});
}

Term swap_last(Term x) {
  std::vector<int64_t> order;
  for (int64_t axis = -x.rank(); axis < -2; ++axis) order.push_back(axis);
  order.push_back(-1), order.push_back(-2);
  return transpose(x, std::move(order));
}

Term slice_last(Term x, int64_t begin, int64_t n, int64_t step) {
  std::vector<int64_t> starts(size_t(x.rank())), sizes, steps;
  for (int64_t axis = 0; axis < x.rank(); ++axis) sizes.push_back(x.shape()[size_t(axis)]);
  if (!starts.empty()) starts.back() = begin, sizes.back() = n;
  if (step != 1) steps.assign(starts.size(), 1), steps.back() = step;
  return x.in->emit(FRL_OP_slice,
                    Attributes(FRL_OP_slice)
                        .set_list(FRL_AT_slice_starts, std::move(starts))
                        .set_list(FRL_AT_slice_sizes, std::move(sizes))
                        .set_list(FRL_AT_slice_steps, std::move(steps)),
                    {x});
}

Term concat_last(Term a, Term b) { return a.in->emit(FRL_OP_concat, {a, b}); }

std::vector<int64_t> trailing_axes(int64_t n) {
  std::vector<int64_t> axes;
  for (int64_t axis = -n; axis < 0; ++axis) axes.push_back(axis);
  return axes;
}

}  // namespace ferrule
