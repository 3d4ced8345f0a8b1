// Bounds of ops that move elements, and of those that combine them along axes.
#include "conformance/judge/bounded.h"

namespace ferrule::conformance {
namespace {

Bounds one(Bounded y) { return std::vector<Bounded>{std::move(y)}; }

// Operands that are indices, not elements.
bool is_index(OpId op, size_t operand) {
  switch (op) {
    case FRL_OP_gather:
    case FRL_OP_gather_elements:
    case FRL_OP_gather_nd:
    case FRL_OP_scatter_elements:
    case FRL_OP_scatter_nd:
      return operand == 1;
    case FRL_OP_resize:
      return operand > 0;
    default:
      return false;
  }
}

// The op on what `map` makes of the elements; indices stay.
template <class Map>
Result<Tensor> on_elements(const NodeCall& call, Map&& map) {
  size_t number = 0;
  std::vector<Tensor> operands;
  for (size_t i = 0; i < call.operands.size(); ++i, ++number)
    operands.push_back(!call.has(i)                ? Tensor()
                       : is_index(call.node.op, i) ? call.in(i).value
                                                   : map(call.in(i)));
  FRL_LET(auto results, evaluate_op(call.node.op, call.node.attributes, operands));
  return std::move(results[0]);
}

// sum, product or extremes: what a combining op does to bounds.
struct Combining {
  int64_t by;
  double n;  // how many terms at most
};

// own error of a sum of n terms whose absolute values add up to `terms`.
double sum_error(const Licence& licence, Type type, double v, double terms, double n) {
  if (licence.unit == FRL_ERROR_ULP)
    return licence.amount * format_of(licence.precision(type)).ulp(v);
  return sum_factor(licence, n) * sum_eps(licence, type) * terms;
}

bool has_only_finite(const NodeCall& call) {
  for (const Bounded* x : call.operands)
    if (x && is_float(x->type.type))
      for (double v : x->value.as<double>())
        if (!std::isfinite(v)) return false;
  return true;
}

Bounds bound_sum(const NodeCall& call, Bounded y, const Tensor& terms, const Tensor& passed,
                 double n) {
  const Licence& licence = call.licence;
  y.terms = terms;
  const bool all_finite = has_only_finite(call);  // then what is not left the range in some order
  const FloatFormat format = format_of(licence.precision(y.type.type));
  const FloatFormat sums =
      format_of(licence.accumulate == Type::none || !is_float(licence.accumulate)
                    ? licence.precision(y.type.type)
                    : licence.accumulate);
  y.error = tabulate(y.value.shape(), [&](int64_t i) {
    const double v = y.at(i), t = terms.at_f64(i), p = passed.empty() ? 0 : passed.at_f64(i);
    if (!std::isfinite(v)) return std::isfinite(p) && !all_finite ? 0.0 : kInfinite;
    // Partial sums may leave the range; terms of one sign do so in any order.
    const bool one_sign = std::fabs(v) >= t * (1 - 0x1p-20);
    if (t + p >= std::min(sums.overflow(), format.overflow()) && !one_sign) return kInfinite;
    const double own = sum_error(licence, y.type.type, v, t, n) + n * 0x1p-53 * t;
    // The sign of a sum's zero is the order's.
    return p + own + format.ulp(std::fabs(v) + p + own) / 2 + kLooseZero;
  });
  return one(std::move(y));
}

Bounds bound_times(const NodeCall& call, Bounded y, double n) {
  FRL_LET(const Tensor size, on_elements(call, absolute));
  FRL_LET(const Tensor large, on_elements(call, [](const Bounded& x) {
            return tabulate(x.value.shape(), [&](int64_t i) {
              return std::max(1.0, std::fabs(x.at(i)) + x.error_at(i));
            });
          }));
  FRL_LET(const Tensor small, on_elements(call, [](const Bounded& x) {
            return tabulate(x.value.shape(), [&](int64_t i) {
              return x.at(i) == 0 ? 1.0 : std::min(1.0, std::fabs(x.at(i)));
            });
          }));
  FRL_LET(const Tensor most, on_elements(call, [](const Bounded& x) {
            return tabulate(x.value.shape(),
                            [&](int64_t i) { return std::fabs(x.at(i)) + x.error_at(i); });
          }));
  const FloatFormat format = format_of(call.licence.precision(y.type.type));
  const double k = std::max(
      0.5, call.licence.unit == FRL_ERROR_ULP ? call.licence.amount : sum_factor(call.licence, n));
  y.error = tabulate(y.value.shape(), [&](int64_t i) {
    const double v = y.at(i);
    if (!std::isfinite(v))
      return std::isfinite(most.at_f64(i)) || call.is_exact() ? 0.0 : kInfinite;
    // The order decides which partial products leave the range.
    if (large.at_f64(i) >= format.overflow() || small.at_f64(i) < format.min_normal())
      return kInfinite;
    return most.at_f64(i) - size.at_f64(i) +
           (k * sum_eps(call.licence, y.type.type) + n * 0x1p-53) * std::fabs(v) +
           format.ulp(v) / 2 + kLooseZero;
  });
  return one(std::move(y));
}

Bounds bound_extreme(const NodeCall& call, Bounded y, Attributes by_max) {
  if (call.is_exact()) {
    add_error(y, [&](int64_t i) { return y.at(i) == 0 ? kLooseZero : 0.0; });
    return one(std::move(y));
  }
  std::vector<Tensor> operands;
  for (size_t i = 0; i < call.operands.size(); ++i)
    operands.push_back(!call.has(i)                ? Tensor()
                       : is_index(call.node.op, i) ? call.in(i).value
                                                   : errors(call.in(i)));
  FRL_LET(auto results, evaluate_op(call.node.op, by_max, operands));
  y.error = tabulate(y.value.shape(),
                     [&](int64_t i) { return std::max(0.0, results[0].at_f64(i)) + kLooseZero; });
  return one(std::move(y));
}

Bounds bound_combining(const NodeCall& call, Combining how, uint32_t by_slot) {
  FRL_LET(auto results, evaluate_call(call));
  Bounded y{call.results[0], std::move(results[0]), {}};
  if (!is_float(y.type.type)) {
    if (!call.is_exact()) add_error(y, [](int64_t) { return kInfinite; });
    return one(std::move(y));
  }
  if (how.by == FRL_OP_max || how.by == FRL_OP_min) {
    Attributes by_max = call.node.attributes;
    by_max.set_i(by_slot, FRL_OP_max);
    return bound_extreme(call, std::move(y), std::move(by_max));
  }
  if (how.by == FRL_OP_mul) return bound_times(call, std::move(y), how.n);
  FRL_LET(const Tensor terms, on_elements(call, absolute));
  Tensor passed;
  if (!call.is_exact()) {
    FRL_LET(passed, on_elements(call, errors));
  }
  return bound_sum(call, std::move(y), terms, passed, how.n);
}

}  // namespace

Bounds bound_move(const NodeCall& call) {
  FRL_LET(auto results, evaluate_call(call));
  Bounded y{call.results[0], std::move(results[0]), {}};
  if (!call.is_exact()) {
    FRL_LET(y.error, on_elements(call, errors));
  }
  return one(std::move(y));
}

Bounds bound_select_places(const NodeCall& call) {
  FRL_LET(auto results, evaluate_call(call));
  std::vector<Bounded> out;
  for (size_t r = 0; r < results.size(); ++r) {
    out.push_back({call.results[r], std::move(results[r]), {}});
    if (!call.is_exact()) add_error(out.back(), [](int64_t) { return kInfinite; });
  }
  return out;
}

// The k-th largest moves no further than any element; a place is certain where its neighbours in
// the order, the first one left out among them, are further away than both may move.
Bounds bound_topk(const NodeCall& call) {
  FRL_LET(auto out, bound_select_places(call));
  const Bounded& x = call.in(0);
  if (call.is_exact() || !is_float(x.type.type)) return out;
  const int64_t axis = call.node.attributes.i(FRL_AT_topk_axis);
  const int64_t n = x.value.shape().from_end(axis), k = call.node.attributes.i(FRL_AT_topk_k);
  const int64_t more = std::min(n, k + 1);
  Attributes wider = call.node.attributes;
  wider.set_i(FRL_AT_topk_k, more);
  FRL_LET(const auto order, evaluate_op(FRL_OP_topk, wider, std::span(&x.value, 1)));
  int64_t inner = 1;
  for (int64_t a = axis + 1; a < 0; ++a) inner *= x.value.shape().from_end(a);
  std::vector<double> most(size_t(n ? x.value.n_elements() / n : 0));  // error by line
  for (int64_t i = 0; i < x.value.n_elements(); ++i) {
    double& line = most[size_t(i / (n * inner) * inner + i % inner)];
    line = std::max(line, std::isnan(x.at(i)) ? kInfinite : x.error_at(i));
  }
  const auto line_of = [&](int64_t i) { return i / (k * inner) * inner + i % inner; };
  const auto in_order = [&](int64_t i, int64_t place) {
    return order[0].at_f64((line_of(i) / inner * more + place) * inner + line_of(i) % inner);
  };
  out[0].error =
      tabulate(out[0].value.shape(), [&](int64_t i) { return most[size_t(line_of(i))]; });
  out[1].error = tabulate(out[1].value.shape(), [&](int64_t i) {
    const int64_t place = i / inner % k;
    const double v = in_order(i, place), far = 2 * most[size_t(line_of(i))];
    const bool above = place > 0 && !(std::fabs(in_order(i, place - 1) - v) > far);
    const bool below = place + 1 < more && !(std::fabs(in_order(i, place + 1) - v) > far);
    return above || below ? kInfinite : 0.0;
  });
  return out;
}

Bounds bound_reduce(const NodeCall& call) {
  double n = 1;
  for (int64_t axis : call.node.attributes.list(FRL_AT_reduce_axes))
    n *= double(call.in(0).value.shape().from_end(axis));
  return bound_combining(call, {call.node.attributes.i(FRL_AT_reduce_by), n}, FRL_AT_reduce_by);
}

Bounds bound_cumulative(const NodeCall& call) {
  const double n =
      double(call.in(0).value.shape().from_end(call.node.attributes.i(FRL_AT_cumulative_axis)));
  return bound_combining(call, {call.node.attributes.i(FRL_AT_cumulative_by), n},
                         FRL_AT_cumulative_by);
}

Bounds bound_scatter(const NodeCall& call) {
  const uint32_t slot =
      call.node.op == FRL_OP_scatter_nd ? FRL_AT_scatter_nd_by : FRL_AT_scatter_elements_by;
  const int64_t by = call.node.attributes.i(slot);
  if (by == 0) return bound_move(call);
  return bound_combining(call, {by, double(call.in(2).value.n_elements()) + 1}, slot);
}

Bounds bound_product(const NodeCall& call) {
  FRL_LET(auto results, evaluate_call(call));
  Bounded y{call.results[0], std::move(results[0]), {}};
  if (!is_float(y.type.type)) return one(std::move(y));
  const Shape& w = call.in(1).value.shape();
  double n = call.node.op == FRL_OP_matmul ? double(w.from_end(-2)) : 1;
  for (size_t axis = call.node.op == FRL_OP_conv ? 1 : 0;
       call.node.op != FRL_OP_matmul && axis < w.rank(); ++axis)
    n *= double(w[axis]);
  FRL_LET(const Tensor terms, on_elements(call, absolute));
  // Products that are not IEEE err by their operands' rounding.
  const uint32_t compute = call.licence.compute;
  const double reduced = y.type.type == Type::f64 || compute == FRL_COMPUTE_IEEE ? 0
                         : compute == FRL_COMPUTE_TF32                           ? 0x1p-10
                         : compute == FRL_COMPUTE_BF16X3                         ? 0x1p-15
                                                                                 : 0x1p-7;
  Tensor passed;
  if (!call.is_exact()) {
    FRL_LET(const Tensor most, on_elements(call, [](const Bounded& x) {
              return tabulate(x.value.shape(),
                              [&](int64_t i) { return std::fabs(x.at(i)) + x.error_at(i); });
            }));
    passed = tabulate(y.value.shape(), [&](int64_t i) { return most.at_f64(i) - terms.at_f64(i); });
  }
  if (reduced > 0)
    passed = tabulate(y.value.shape(), [&](int64_t i) {
      return (passed.empty() ? 0 : passed.at_f64(i)) + reduced * terms.at_f64(i);
    });
  return bound_sum(call, std::move(y), terms, passed, std::max(n, 1.0));
}

Bounds bound_pool(const NodeCall& call) {
  FRL_LET(auto results, evaluate_call(call));
  if (call.node.op == FRL_OP_max_pool) {
    Bounded y{call.results[0], std::move(results[0]), {}};
    Bounded places{call.results[1], std::move(results[1]), {}};
    if (!call.is_exact()) add_error(places, [](int64_t) { return kInfinite; });
    FRL_LET(auto bounded, bound_extreme(call, std::move(y), call.node.attributes));
    if (!is_float(bounded[0].type.type)) bounded[0].error = Tensor();
    bounded.push_back(std::move(places));
    return bounded;
  }
  Bounded y{call.results[0], std::move(results[0]), {}};
  double n = 1;
  for (int64_t k : call.node.attributes.list(FRL_AT_avg_pool_kernel)) n *= double(k);
  FRL_LET(const Tensor terms, on_elements(call, absolute));
  Tensor passed;
  if (!call.is_exact()) {
    FRL_LET(passed, on_elements(call, errors));
  }
  return bound_sum(call, std::move(y), terms, passed, n);
}

Bounds bound_resample(const NodeCall& call) {
  FRL_LET(auto results, evaluate_call(call));
  Bounded y{call.results[0], std::move(results[0]), {}};
  const OpId op = call.node.op;
  const int64_t mode = op == FRL_OP_resize        ? call.node.attributes.i(FRL_AT_resize_mode)
                       : op == FRL_OP_grid_sample ? call.node.attributes.i(FRL_AT_grid_sample_mode)
                                                  : 0;
  if (op == FRL_OP_resize && mode == 0) return bound_move(call);
  if (!is_float(y.type.type)) return one(std::move(y));
  const Bounded& x = call.in(0);
  double most = 0, error = 0, extent = 1;
  for (int64_t i = 0; i < x.value.n_elements(); ++i)
    most = std::max(most, std::fabs(x.at(i))), error = std::max(error, x.error_at(i));
  for (size_t axis = 0; axis < x.value.shape().rank(); ++axis)
    extent = std::max(extent, double(x.value.shape()[axis]));
  // Weights that may be negative have no image of |x|; and a place that is off moves along the
  // slope.
  const bool cubic = mode == 2, nearest = op == FRL_OP_grid_sample && mode == 1;
  const double slope = nearest ? 0 : 2 * format_of(wide_type(y.type.type)).eps() * extent * most;
  std::vector<Tensor> operands = {absolute(x)};
  for (size_t i = 1; i < call.operands.size(); ++i)
    operands.push_back(call.has(i) ? call.in(i).value : Tensor());
  FRL_LET(auto sizes, evaluate_op(op, call.node.attributes, operands));
  const Tensor terms =
      tabulate(y.value.shape(), [&](int64_t i) { return cubic ? 2 * most : sizes[0].at_f64(i); });
  const Tensor passed = tabulate(y.value.shape(), [&](int64_t) { return slope + 2 * error; });
  return bound_sum(call, std::move(y), terms, passed, 16);
}

Bounds bound_dft(const NodeCall& call) {
  FRL_LET(auto results, evaluate_call(call));
  Bounded y{call.results[0], std::move(results[0]), {}};
  const Bounded& x = call.in(0);
  // Every bin is a sum over the whole lane, both parts: its size is that of all elements of the
  // lane.
  const auto total = [&](bool of_errors) -> Result<Tensor> {
    Attributes over(FRL_OP_reduce);
    over.set_list(FRL_AT_reduce_axes, {call.node.attributes.i(FRL_AT_dft_axis), -1});
    FRL_LET(auto sums, evaluate_op(FRL_OP_reduce, over,
                                   std::vector<Tensor>{of_errors ? errors(x) : absolute(x)}));
    const Strides strides = broadcast_strides(sums[0].shape(), y.value.shape());
    Tensor out(y.value.type());
    int64_t i = 0;
    const double scale =
        call.node.attributes.i(FRL_AT_dft_inverse) ? 2.0 : 1.0;  // half spectra count twice
    const double n = call.node.attributes.i(FRL_AT_dft_inverse)
                         ? double(y.value.shape().from_end(call.node.attributes.i(FRL_AT_dft_axis)))
                         : 1;
    for (Odometer at(y.value.shape()); at.more(); at.next())
      out.set_f64(i++, scale * sums[0].at_f64(at.offset(strides)) / std::max(n, 1.0));
    return out;
  };
  FRL_LET(const Tensor terms, total(false));
  FRL_LET(Tensor passed, total(true));
  // Which parts become NaN depends on what a fast transform multiplies.
  for (int64_t i = 0; i < terms.n_elements(); ++i)
    if (!std::isfinite(terms.at_f64(i))) passed.set_f64(i, kInfinite);
  return bound_sum(call, std::move(y), terms, passed,
                   double(x.value.shape().from_end(call.node.attributes.i(FRL_AT_dft_axis))));
}

Bounds bound_det(const NodeCall& call) {
  FRL_LET(auto results, evaluate_call(call));
  Bounded y{call.results[0], std::move(results[0]), {}};
  const Bounded& x = call.in(0);
  const int64_t n = x.value.shape().back();
  // The sum of the absolute products is at most the product of the rows' sums.
  const auto product = [&](int64_t matrix, bool with_errors) {
    double out = 1;
    for (int64_t r = 0; r < n; ++r) {
      double sum = 0;
      for (int64_t c = 0; c < n; ++c)
        sum += std::fabs(x.at((matrix * n + r) * n + c)) +
               (with_errors ? x.error_at((matrix * n + r) * n + c) : 0);
      out *= sum;
    }
    return out;
  };
  const Tensor terms = tabulate(y.value.shape(), [&](int64_t i) { return product(i, false); });
  const Tensor passed =
      tabulate(y.value.shape(), [&](int64_t i) { return product(i, true) - product(i, false); });
  return bound_sum(call, std::move(y), terms, passed, double(n * n));
}

}  // namespace ferrule::conformance
