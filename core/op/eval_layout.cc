// Reference evaluation of ops that move elements without looking at them.
#include <algorithm>

#include "core/op/rules.h"
#include "core/op/walk.h"
#include "core/op/wide.h"

namespace ferrule {
namespace {

// result[index] = x[first + index . strides]
void copy_strided(const Tensor& x, int64_t first, const Strides& strides, Tensor& result) {
  const Shape& shape = result.shape();
  const int64_t step = step_of(shape, strides);
  with_word(x.element(), [&]<class T>(T) {
    const auto in = x.as<T>();
    const auto out = result.mutable_as<T>();
    walk_rows<1>(shape, {strides}, [&](const std::array<int64_t, 1>& at, int64_t to, int64_t n) {
      for (int64_t i = 0; i < n; ++i) out[size_t(to + i)] = in[size_t(first + at[0] + i * step)];
    });
  });
}

// Where position i, outside of 0 .. n - 1 perhaps, is read from; -1: the fill.
int64_t padded_place(int64_t i, int64_t n, int64_t mode) {
  enum { constant, reflect, edge, wrap };
  if (i >= 0 && i < n) return i;
  if (mode == reflect) return i < 0 ? -i : 2 * (n - 1) - i;
  if (mode == edge) return i < 0 ? 0 : n - 1;
  if (mode == wrap) return i < 0 ? i + n : i - n;
  return -1;
}

}  // namespace

Status eval_transpose(const OpCall& call, Operands operands, Results results) {
  const Shape& x = operands[0]->shape();
  const Strides dense = row_major(x);
  Strides strides{};
  for (size_t i = 0; i < x.rank(); ++i)
    strides[i] = dense[from_end(x, call.attributes.list(FRL_AT_transpose_order)[i])];
  copy_strided(*operands[0], 0, strides, results[0]);
  return {};
}

Status eval_broadcast(const OpCall&, Operands operands, Results results) {
  const Strides strides = broadcast_strides(operands[0]->shape(), results[0].shape());
  copy_strided(*operands[0], 0, strides, results[0]);
  return {};
}

Status eval_slice(const OpCall& call, Operands operands, Results results) {
  const auto& starts = call.attributes.list(FRL_AT_slice_starts);
  const auto& steps = call.attributes.list(FRL_AT_slice_steps);
  const Shape& shape = results[0].shape();
  Strides strides = row_major(operands[0]->shape());
  int64_t first = 0;
  for (size_t i = 0; i < shape.rank(); ++i) {
    first += starts[i] * strides[i];
    // The step of an axis with one element may be any number, so it must not be multiplied.
    strides[i] *= steps.empty() || shape[i] <= 1 ? 1 : steps[i];
  }
  copy_strided(*operands[0], first, strides, results[0]);
  return {};
}

Status eval_concat(const OpCall& call, Operands operands, Results results) {
  Tensor& result = results[0];
  if (result.n_elements() == 0) return {};
  const Lanes to(result.shape(), from_end(result.shape(), call.attributes.i(FRL_AT_concat_axis)));
  const int64_t bytes = to.inner * size_bytes(result.element());
  int64_t at = 0;
  for (const Tensor* operand : operands) {
    const int64_t n = operand->n_elements() / (to.outer * to.inner);
    for (int64_t o = 0; o < to.outer; ++o)
      std::copy_n(operand->bytes().data() + o * n * bytes, n * bytes,
                  result.mutable_data() + (o * to.n + at) * bytes);
    at += n;
  }
  return {};
}

Status eval_pad(const OpCall& call, Operands operands, Results results) {
  const Tensor& x = *operands[0];
  const Tensor* fill = operands.size() > 1 ? operands[1] : nullptr;
  const auto& begins = call.attributes.list(FRL_AT_pad_begins);
  const int64_t mode = call.attributes.i(FRL_AT_pad_mode);
  const Shape& shape = results[0].shape();
  const Strides strides = row_major(x.shape());
  with_word(x.element(), [&]<class T>(T) {
    const auto in = x.as<T>();
    const auto out = results[0].mutable_as<T>();
    const T filling = fill ? fill->as<T>()[0] : T(0);
    size_t to = 0;
    for (Odometer at(shape); at.more(); at.next(), ++to) {
      int64_t from = 0;
      bool inside = true;
      for (size_t i = 0; i < shape.rank() && inside; ++i) {
        const int64_t begin = begins.empty() ? 0 : begins[i];
        const int64_t place = padded_place(at[i] - begin, x.shape()[i], mode);
        inside = place >= 0;
        from += place * strides[i];
      }
      out[to] = inside ? in[size_t(from)] : filling;
    }
  });
  return {};
}

Status eval_trilu(const OpCall& call, Operands operands, Results results) {
  const Tensor& x = *operands[0];
  const size_t rank = x.shape().rank();
  const bool upper = call.attributes.i(FRL_AT_trilu_upper) != 0;
  const int64_t k = call.attributes.i(FRL_AT_trilu_k);
  with_word(x.element(), [&]<class T>(T) {
    const auto in = x.as<T>();
    const auto out = results[0].mutable_as<T>();
    size_t to = 0;
    for (Odometer at(x.shape()); at.more(); at.next(), ++to) {
      const int64_t diagonal = at[rank - 1] - at[rank - 2];
      const bool kept = upper ? diagonal >= k : diagonal <= k;
      out[to] = kept ? in[to] : T(0);
    }
  });
  return {};
}

}  // namespace ferrule
