// Reference evaluation of ops that read or write at places that an operand gives.
#include "core/base/text.h"
#include "core/op/rules.h"
#include "core/op/walk.h"
#include "core/op/wide.h"

namespace ferrule {
namespace {

// Indices with those that count from the end made to count from 0. Index i addresses an axis of
// `extent_of(i)` elements.
template <class Extent>
Result<std::vector<int64_t>> read_indices(const OpCall& call, const Tensor& indices,
                                          Extent extent_of) {
  std::vector<int64_t> out = load<int64_t>(indices);
  for (size_t i = 0; i < out.size(); ++i) {
    const int64_t n = extent_of(i);
    if (out[i] < -n || out[i] >= n)
      return Status(Code::invalid_argument,
                    cat(call.row.name, ": want indices in ", -n, " .. ", n - 1, ", got ", out[i]));
    if (out[i] < 0) out[i] += n;
  }
  return out;
}

// Offsets into x of what each row of indices [.., k] names; row r belongs to batch r /
// rows_per_batch.
Result<std::vector<int64_t>> nd_offsets(const OpCall& call, const Tensor& x, const Tensor& indices,
                                        size_t batch_axes) {
  const size_t k = size_t(indices.shape().back());
  const Strides strides = row_major(x.shape());
  FRL_LET(const auto places,
          read_indices(call, indices, [&](size_t i) { return x.shape()[batch_axes + i % k]; }));
  std::vector<int64_t> out(places.size() / k);
  if (out.empty()) return out;
  const Shape batch = sub_shape(x.shape(), 0, batch_axes);
  const size_t per_batch = out.size() / size_t(batch.n_elements());
  size_t row = 0;
  for (Odometer at(batch); at.more(); at.next())
    for (size_t end = row + per_batch; row < end; ++row) {
      out[row] = at.offset(strides);
      for (size_t i = 0; i < k; ++i) out[row] += places[row * k + i] * strides[batch_axes + i];
    }
  return out;
}

// Offsets into a tensor of shape `x` of the elements that indices name along `axis`.
std::vector<int64_t> element_offsets(const Shape& x, const Shape& indices,
                                     std::vector<int64_t> places, size_t axis) {
  Strides strides = row_major(x);
  const int64_t along = strides[axis];
  strides[axis] = 0;
  size_t i = 0;
  for (Odometer at(indices); at.more(); at.next(), ++i)
    places[i] = at.offset(strides) + places[i] * along;
  return places;
}

// x[offsets[i] .. + n] combined with update i, in order.
void scatter(Tensor& x, const std::vector<int64_t>& offsets, int64_t n, const Tensor& updates,
             int64_t by) {
  if (by == 0) {
    with_word(x.element(), [&]<class T>(T) {
      const auto in = updates.as<T>();
      const auto out = x.mutable_as<T>();
      for (size_t i = 0; i < offsets.size(); ++i)
        for (int64_t k = 0; k < n; ++k) out[size_t(offsets[i] + k)] = in[i * size_t(n) + size_t(k)];
    });
    return;
  }
  with_wide(x.element(), [&]<class W>(W) {
    const Combine<W> combine = combine_of<W>(by);
    const std::vector<W> in = load<W>(updates);
    std::vector<W> out = load<W>(x);
    for (size_t i = 0; i < offsets.size(); ++i)
      for (int64_t k = 0; k < n; ++k) {
        W& to = out[size_t(offsets[i] + k)];
        to = combine(to, in[i * size_t(n) + size_t(k)]);
      }
    store(out, x);
  });
}

}  // namespace

Status eval_gather(const OpCall& call, Operands operands, Results results) {
  const Tensor& x = *operands[0];
  const Lanes lanes(x.shape(), from_end(x.shape(), call.attributes.i(FRL_AT_gather_axis)));
  FRL_LET(const auto places, read_indices(call, *operands[1], [&](size_t) { return lanes.n; }));
  with_word(x.element(), [&]<class T>(T) {
    const auto in = x.as<T>();
    const auto out = results[0].mutable_as<T>();
    if (out.empty()) return;
    size_t to = 0;
    for (int64_t o = 0; o < lanes.outer; ++o)
      for (const int64_t place : places)
        for (int64_t k = 0; k < lanes.inner; ++k)
          out[to++] = in[size_t((o * lanes.n + place) * lanes.inner + k)];
  });
  return {};
}

Status eval_gather_elements(const OpCall& call, Operands operands, Results results) {
  const Tensor& x = *operands[0];
  const size_t axis = from_end(x.shape(), call.attributes.i(FRL_AT_gather_elements_axis));
  FRL_LET(auto places, read_indices(call, *operands[1], [&](size_t) { return x.shape()[axis]; }));
  const auto offsets = element_offsets(x.shape(), operands[1]->shape(), std::move(places), axis);
  with_word(x.element(), [&]<class T>(T) {
    const auto in = x.as<T>();
    const auto out = results[0].mutable_as<T>();
    for (size_t i = 0; i < out.size(); ++i) out[i] = in[size_t(offsets[i])];
  });
  return {};
}

Status eval_gather_nd(const OpCall& call, Operands operands, Results results) {
  const Tensor& x = *operands[0];
  const size_t batch_axes = size_t(call.attributes.i(FRL_AT_gather_nd_batch_axes));
  FRL_LET(const auto offsets, nd_offsets(call, x, *operands[1], batch_axes));
  const size_t n = offsets.empty() ? 0 : size_t(results[0].n_elements()) / offsets.size();
  with_word(x.element(), [&]<class T>(T) {
    const auto in = x.as<T>();
    const auto out = results[0].mutable_as<T>();
    for (size_t i = 0; i < offsets.size(); ++i)
      for (size_t k = 0; k < n; ++k) out[i * n + k] = in[size_t(offsets[i]) + k];
  });
  return {};
}

Status eval_scatter_elements(const OpCall& call, Operands operands, Results results) {
  const Shape& x = operands[0]->shape();
  const size_t axis = from_end(x, call.attributes.i(FRL_AT_scatter_elements_axis));
  FRL_TRY(eval_copy(call, operands, results));
  FRL_LET(auto places, read_indices(call, *operands[1], [&](size_t) { return x[axis]; }));
  const auto offsets = element_offsets(x, operands[1]->shape(), std::move(places), axis);
  scatter(results[0], offsets, 1, *operands[2], call.attributes.i(FRL_AT_scatter_elements_by));
  return {};
}

Status eval_scatter_nd(const OpCall& call, Operands operands, Results results) {
  FRL_TRY(eval_copy(call, operands, results));
  FRL_LET(const auto offsets, nd_offsets(call, *operands[0], *operands[1], 0));
  const int64_t n = offsets.empty() ? 0 : operands[2]->n_elements() / int64_t(offsets.size());
  scatter(results[0], offsets, n, *operands[2], call.attributes.i(FRL_AT_scatter_nd_by));
  return {};
}

}  // namespace ferrule
