#include "conformance/cases/ranks.h"

namespace ferrule::conformance {
namespace {

// Extents that stay small in any rank.
Shape of_rank(size_t rank) {
  Shape out;
  for (size_t i = 0; i < rank; ++i) out.push_back(i % 3 == 2 ? 3 : i % 3 == 1 ? 1 : i < 6 ? 2 : 1);
  return out;
}
std::vector<int64_t> reversed_axes(size_t rank) {
  std::vector<int64_t> out;
  for (size_t i = 0; i < rank; ++i) out.push_back(-1 - int64_t(i));
  return out;
}

Subject made(OpId op, std::string label, Attributes attributes, std::vector<TensorType> types) {
  Subject out;
  out.op = op, out.label = std::move(label), out.attributes = std::move(attributes);
  for (TensorType& type : types) out.operands.push_back({std::move(type)});
  return out;
}

// Ops with one attribute entry an axis.
void add_axis_lists(std::vector<Subject>* out, Type type, size_t rank) {
  const TensorType x{type, of_rank(rank)};
  std::vector<int64_t> extents, zeros(rank, 0), ones(rank, 1), last;
  for (const Dim& dim : x.shape.dims())
    extents.push_back(dim.extent), last.push_back(dim.extent - 1);
  const std::vector<int64_t> backwards(rank, -1);
  out->push_back(made(
      FRL_OP_transpose, "reversed",
      Attributes(FRL_OP_transpose).set_list(FRL_AT_transpose_order, reversed_axes(rank)), {x}));
  out->push_back(made(FRL_OP_slice, "reversed",
                      Attributes(FRL_OP_slice)
                          .set_list(FRL_AT_slice_starts, last)
                          .set_list(FRL_AT_slice_sizes, extents)
                          .set_list(FRL_AT_slice_steps, backwards),
                      {x}));
  out->push_back(made(FRL_OP_broadcast, "ones",
                      Attributes(FRL_OP_broadcast).set_list(FRL_AT_broadcast_shape, extents),
                      {{type, Shape{}}}));
  if (rank < 7)
    out->push_back(made(
        FRL_OP_pad, "all",
        Attributes(FRL_OP_pad).set_list(FRL_AT_pad_begins, ones).set_list(FRL_AT_pad_ends, zeros),
        {x}));
  out->push_back(
      made(FRL_OP_reshape, "flat",
           Attributes(FRL_OP_reshape).set_list(FRL_AT_reshape_shape, {x.shape.n_elements()}), {x}));
  out->push_back(made(FRL_OP_reduce, "all",
                      Attributes(FRL_OP_reduce).set_list(FRL_AT_reduce_axes, reversed_axes(rank)),
                      {x}));
  std::vector<int64_t> odd;
  for (size_t i = 1; i < rank; i += 2) odd.push_back(int64_t(i) - int64_t(rank));
  out->push_back(
      made(FRL_OP_reduce, "odd",
           Attributes(FRL_OP_reduce).set_list(FRL_AT_reduce_axes, odd).set_i(FRL_AT_reduce_keep, 0),
           {x}));
  if (rank == 0) return;
  for (int64_t axis = -int64_t(rank); axis < 0; axis = axis == -1 ? 0 : -1) {
    const char* where = axis == -1 ? "last" : "first";
    out->push_back(made(FRL_OP_softmax, where,
                        Attributes(FRL_OP_softmax).set_i(FRL_AT_softmax_axis, axis), {x}));
    out->push_back(made(FRL_OP_cumulative, where,
                        Attributes(FRL_OP_cumulative).set_i(FRL_AT_cumulative_axis, axis), {x}));
    out->push_back(made(FRL_OP_arg_reduce, where,
                        Attributes(FRL_OP_arg_reduce).set_i(FRL_AT_arg_reduce_axis, axis), {x}));
    out->push_back(
        made(FRL_OP_topk, where, Attributes(FRL_OP_topk).set_i(FRL_AT_topk_axis, axis), {x}));
    out->push_back(made(FRL_OP_concat, where,
                        Attributes(FRL_OP_concat).set_i(FRL_AT_concat_axis, axis), {x, x}));
  }
}

}  // namespace

std::vector<Subject> subjects_of_rank(Type type, size_t rank) {
  std::vector<Subject> out;
  add_axis_lists(&out, type, rank);
  const TensorType x{type, of_rank(rank)};
  out.push_back(made(FRL_OP_add, "same", Attributes(FRL_OP_add), {x, x}));
  out.push_back(made(FRL_OP_mul, "scalar", Attributes(FRL_OP_mul), {x, {type, Shape{}}}));
  out.push_back(made(FRL_OP_relu, "one", Attributes(FRL_OP_relu), {x}));
  out.push_back(made(FRL_OP_equal, "same", Attributes(FRL_OP_equal), {x, x}));
  return out;
}

}  // namespace ferrule::conformance
