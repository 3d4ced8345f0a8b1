// Shape rules of ops that move elements without looking at them.
#include <algorithm>

#include "core/base/text.h"
#include "core/op/refuse.h"
#include "core/op/rules.h"

namespace ferrule {
namespace {

// Gives `to` the symbols of `from`, which has as many elements. An axis with a symbol must stand
// alone on both sides: the product of a symbol and a number has no name.
bool carry_symbols(const Shape& from, Dims& to) {
  size_t i = 0, j = 0;
  const auto is_one = [&] { return i < from.rank() && from.dim(i) == Dim{1, 0}; };
  while (i < from.rank() || j < to.size()) {
    const bool wants_one = i < from.rank() && from[i] == 1 && from.dim(i).symbol;
    if (is_one()) {
      ++i;
    } else if (j < to.size() && to[j].extent == 1 && !wants_one) {
      ++j;
    } else if (i == from.rank() || j == to.size()) {
      return false;
    } else if (from[i] == to[j].extent) {
      to[j++].symbol = from.dim(i++).symbol;
    } else {
      int64_t a = 1, b = 1;
      do {
        if (a <= b) {
          if (i == from.rank() || from.dim(i).symbol) return false;
          a *= from[i++];
        } else {
          if (j == to.size()) return false;
          b *= to[j++].extent;
        }
      } while (a != b);
    }
  }
  return true;
}

}  // namespace

Types infer_reshape(const OpCall& call) {
  const Shape& x = shape_of(call, 0);
  const std::vector<int64_t>& list = call.attributes.list(FRL_AT_reshape_shape);
  Dims dims;
  for (const int64_t extent : list) dims.push_back({extent, 0});
  FRL_LET(const TensorType type, make_type(call, type_of(call, 0), dims));
  if (type.shape.n_elements() != x.n_elements())
    return refuse(call, cat("a shape for ", to_string(x)), list_text(list));
  if (x.is_exact()) return std::vector<TensorType>{type};
  if (!carry_symbols(x, dims))
    return refuse(call, cat("a shape that keeps the symbols of ", to_string(x)), list_text(list));
  return one_result(call, type.type, dims);
}

Types infer_transpose(const OpCall& call) {
  const Shape& x = shape_of(call, 0);
  const std::vector<int64_t>& order = call.attributes.list(FRL_AT_transpose_order);
  if (order.size() != x.rank())
    return refuse(call, cat("an order of ", x.rank(), " axes"), list_text(order));
  FRL_LET(const std::vector<size_t> axes, axes_of(call, order, x.rank()));
  Dims dims;
  for (const size_t axis : axes) dims.push_back(x.dim(axis));
  return one_result(call, type_of(call, 0), dims);
}

Types infer_broadcast(const OpCall& call) {
  const Shape& x = shape_of(call, 0);
  const std::vector<int64_t>& list = call.attributes.list(FRL_AT_broadcast_shape);
  Dims dims;
  for (const int64_t extent : list) dims.push_back({extent, 0});
  const std::string want = cat("a shape that ", to_string(x), " broadcasts to");
  if (list.size() < x.rank()) return refuse(call, want, list_text(list));
  for (size_t i = 0; i < x.rank(); ++i) {
    Dim& to = dims[dims.size() - x.rank() + i];
    if (x.dim(i) == Dim{1, 0}) continue;
    if (x[i] != to.extent) return refuse(call, want, list_text(list));
    to.symbol = x.dim(i).symbol;
  }
  return one_result(call, type_of(call, 0), dims);
}

Types infer_slice(const OpCall& call) {
  const Shape& x = shape_of(call, 0);
  const size_t rank = x.rank();
  constexpr int64_t lowest = INT64_MIN, highest = INT64_MAX;
  if (call.attributes.list(FRL_AT_slice_starts).size() != rank ||
      call.attributes.list(FRL_AT_slice_sizes).size() != rank)
    return refuse(call, cat(rank, " starts and sizes"));
  FRL_LET(const auto starts, list_of(call, FRL_AT_slice_starts, rank, 0, 0, highest));
  FRL_LET(const auto sizes, list_of(call, FRL_AT_slice_sizes, rank, 0, 0, highest));
  FRL_LET(const auto steps, list_of(call, FRL_AT_slice_steps, rank, 1, lowest, highest));
  Dims dims;
  for (size_t i = 0; i < rank; ++i) {
    const int64_t start = starts[i], size = sizes[i], step = steps[i];
    const bool whole = start == 0 && size == x[i] && step == 1;
    if (!whole) FRL_TRY(want_exact(call, 0, i));
    const std::string got =
        cat("start ", start, ", size ", size, ", step ", step, " on ", to_string(x));
    if (step == 0) return refuse(call, "steps other than 0", got);
    // How many steps fit between the start and the end that they lead to.
    const uint64_t room = step > 0 ? uint64_t(x[i] - 1 - start) : uint64_t(start);
    const uint64_t stride = step > 0 ? uint64_t(step) : 0 - uint64_t(step);
    const bool inside =
        size == 0 ? start <= x[i] : start < x[i] && uint64_t(size - 1) <= room / stride;
    if (!inside) return refuse(call, cat("a slice inside axis ", i), got);
    dims.push_back(whole ? x.dim(i) : Dim{size, 0});
  }
  return one_result(call, type_of(call, 0), dims);
}

Types infer_concat(const OpCall& call) {
  const Shape& first = shape_of(call, 0);
  FRL_LET(const size_t axis, axis_of(call, call.attributes.i(FRL_AT_concat_axis), first.rank()));
  FRL_TRY(want_one_type(call));
  Dims dims = dims_of(first);
  dims[axis] = {0, 0};
  for (size_t i = 0; i < call.operands.size(); ++i) {
    if (!has(call, i)) return refuse(call, cat("operand ", i));
    Dims other = dims_of(shape_of(call, i));
    if (other.size() != dims.size()) return refuse(call, "operands of one rank");
    if (call.operands.size() == 1) return one_result(call, type_of(call, 0), other);
    FRL_TRY(want_exact(call, i, axis));
    if (!checked_add(dims[axis].extent, other[axis].extent, &dims[axis].extent))
      return Status(Code::out_of_limits, "concat: want at most 2^59 elements");
    other[axis] = dims[axis];
    if (other != dims) return refuse(call, cat("equal extents on all axes but ", axis));
  }
  return one_result(call, type_of(call, 0), dims);
}

Types infer_pad(const OpCall& call) {
  enum { constant, reflect, edge, wrap };
  const Shape& x = shape_of(call, 0);
  FRL_TRY(want_one_type(call));
  if (has(call, 1) && !(shape_of(call, 1).is_exact() && shape_of(call, 1).n_elements() == 1))
    return refuse(call, "a fill of one element");
  FRL_LET(const auto begins,
          list_of(call, FRL_AT_pad_begins, x.rank(), 0, -kMaxWindow, INT64_MAX / 4));
  FRL_LET(const auto ends, list_of(call, FRL_AT_pad_ends, x.rank(), 0, -kMaxWindow, INT64_MAX / 4));
  const int64_t mode = call.attributes.i(FRL_AT_pad_mode);
  Dims dims;
  for (size_t i = 0; i < x.rank(); ++i) {
    const int64_t more = std::max(begins[i], ends[i]), less = std::min(begins[i], ends[i]);
    if (begins[i] || ends[i]) FRL_TRY(want_exact(call, 0, i));
    const int64_t extent = x[i] + begins[i] + ends[i];
    if (extent < 0 || less < -x[i])
      return refuse(call, cat("to crop at most axis ", i, " of ", to_string(x)),
                    cat("begin ", begins[i], ", end ", ends[i]));
    // Reflection and wrapping reach each element of the operand once at most.
    const int64_t most = mode == edge && x[i] ? INT64_MAX : x[i] - (mode == reflect && x[i]);
    if (mode != constant && more > 0 && more > most)
      return refuse(call, cat("at most ", most, " padded on axis ", i, " in this mode"),
                    std::to_string(more));
    dims.push_back({extent, x.dim(i).symbol});
  }
  return one_result(call, type_of(call, 0), dims);
}

Types infer_trilu(const OpCall& call) {
  FRL_TRY(want_min_rank(call, 0, 2));
  return one_result(call, type_of(call, 0), dims_of(shape_of(call, 0)));
}

}  // namespace ferrule
