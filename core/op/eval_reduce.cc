// Reference evaluation of ops that work along axes.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/text.h"
#include "core/op/rules.h"
#include "core/op/walk.h"
#include "core/op/wide.h"

namespace ferrule {
namespace {

// Whether a comes before b in the order of topk: NaN is the largest.
template <class W>
bool is_larger(W a, W b) {
  return a != a ? b == b : a > b;
}

// What a reduction of `type` starts from.
template <class W>
std::vector<W> neutral_vector(int64_t by, const Tensor& result) {
  return std::vector<W>(size_t(result.n_elements()), neutral_of<W>(by, result.element()));
}

}  // namespace

Status eval_reduce(const OpCall& call, Operands operands, Results results) {
  const Tensor& x = *operands[0];
  const int64_t by = call.attributes.i(FRL_AT_reduce_by);
  Shape kept = x.shape();
  for (const int64_t axis : call.attributes.list(FRL_AT_reduce_axes))
    kept.set(from_end(kept, axis), {1, 0});
  const std::array<Strides, 1> strides = {broadcast_strides(kept, x.shape())};
  const int64_t step = step_of(x.shape(), strides[0]);
  with_wide(x.element(), [&]<class W>(W) {
    const Combine<W> combine = combine_of<W>(by);
    const std::vector<W> in = load<W>(x);
    std::vector<W> out = neutral_vector<W>(by, results[0]);
    walk_rows(x.shape(), strides, [&](const std::array<int64_t, 1>& at, int64_t from, int64_t n) {
      for (int64_t i = 0; i < n; ++i) {
        W& to = out[size_t(at[0] + i * step)];
        to = combine(to, in[size_t(from + i)]);
      }
    });
    store(out, results[0]);
  });
  return {};
}

Status eval_arg_reduce(const OpCall& call, Operands operands, Results results) {
  const Tensor& x = *operands[0];
  const bool is_max = call.attributes.i(FRL_AT_arg_reduce_by) == FRL_OP_max;
  const bool last = call.attributes.i(FRL_AT_arg_reduce_last) != 0;
  const Lanes lanes(x.shape(), from_end(x.shape(), call.attributes.i(FRL_AT_arg_reduce_axis)));
  if (lanes.n == 0)
    return Status(Code::invalid_argument, "arg_reduce: want an element on the axis, got none");
  const auto out = results[0].mutable_as<int64_t>();
  with_wide(x.element(), [&]<class W>(W) {
    const std::vector<W> in = load<W>(x);
    size_t to = 0;
    lanes.each([&](int64_t first) {
      int64_t best = 0;
      for (int64_t i = 1; i < lanes.n; ++i) {
        const W have = in[size_t(first + best * lanes.inner)],
                next = in[size_t(first + i * lanes.inner)];
        const bool equal = have == next || (have != have && next != next);
        const bool better = have == have && (next != next || (is_max ? next > have : next < have));
        if (better || (equal && last)) best = i;
      }
      out[to++] = best;
    });
  });
  return {};
}

Status eval_cumulative(const OpCall& call, Operands operands, Results results) {
  const Tensor& x = *operands[0];
  const int64_t by = call.attributes.i(FRL_AT_cumulative_by);
  const bool exclusive = call.attributes.i(FRL_AT_cumulative_exclusive) != 0;
  const bool reverse = call.attributes.i(FRL_AT_cumulative_reverse) != 0;
  const Lanes lanes(x.shape(), from_end(x.shape(), call.attributes.i(FRL_AT_cumulative_axis)));
  with_wide(x.element(), [&]<class W>(W) {
    const Combine<W> combine = combine_of<W>(by);
    std::vector<W> values = load<W>(x);
    lanes.each([&](int64_t first) {
      W so_far = neutral_of<W>(by, x.element());
      for (int64_t i = 0; i < lanes.n; ++i) {
        W& value = values[size_t(first + (reverse ? lanes.n - 1 - i : i) * lanes.inner)];
        const W before = so_far;
        so_far = combine(so_far, value);
        value = exclusive ? before : so_far;
      }
    });
    store(values, results[0]);
  });
  return {};
}

Status eval_topk(const OpCall& call, Operands operands, Results results) {
  const Tensor& x = *operands[0];
  const size_t axis = from_end(x.shape(), call.attributes.i(FRL_AT_topk_axis));
  const bool largest = call.attributes.i(FRL_AT_topk_largest) != 0;
  if (results[0].n_elements() == 0) return {};
  const Lanes from(x.shape(), axis), to(results[0].shape(), axis);
  const auto places = results[1].mutable_as<int64_t>();
  std::vector<int64_t> order(static_cast<size_t>(from.n));
  with_wide(x.element(), [&]<class W>(W) {
    const std::vector<W> in = load<W>(x);
    std::vector<W> values(static_cast<size_t>(results[0].n_elements()));
    int64_t lane = 0;
    from.each([&](int64_t first) {
      const auto at = [&](int64_t i) { return in[size_t(first + i * from.inner)]; };
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
        return largest ? is_larger(at(a), at(b)) : is_larger(at(b), at(a));
      });
      const int64_t result = lane / from.inner * to.n * from.inner + lane % from.inner;
      for (int64_t i = 0; i < to.n; ++i) {
        values[size_t(result + i * to.inner)] = at(order[size_t(i)]);
        places[size_t(result + i * to.inner)] = order[size_t(i)];
      }
      ++lane;
    });
    store(values, results[0]);
  });
  return {};
}

Status eval_softmax(const OpCall& call, Operands operands, Results results) {
  const Tensor& x = *operands[0];
  const bool wants_log = call.row.id == FRL_OP_log_softmax;
  const Lanes lanes(x.shape(), from_end(x.shape(), call.attributes.i(FRL_AT_softmax_axis)));
  std::vector<double> values = load<double>(x);
  if (values.empty()) return {};
  lanes.each([&](int64_t first) {
    const auto at = [&](int64_t i) -> double& { return values[size_t(first + i * lanes.inner)]; };
    double most = -INFINITY, sum = 0;
    for (int64_t i = 0; i < lanes.n; ++i) most = wide_max(most, at(i));
    for (int64_t i = 0; i < lanes.n; ++i) sum += std::exp(at(i) - most);
    for (int64_t i = 0; i < lanes.n; ++i)
      at(i) = wants_log ? at(i) - most - std::log(sum) : std::exp(at(i) - most) / sum;
  });
  store(values, results[0]);
  return {};
}

}  // namespace ferrule
