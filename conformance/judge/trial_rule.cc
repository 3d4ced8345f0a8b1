// Bounds of ops without a rule of their own: what changes of the operands by an eps do.
#include <random>

#include "conformance/judge/bounded.h"

namespace ferrule::conformance {
namespace {

constexpr int kTrials = 6;

// Each float element moved by `relative` of itself or by its error, up or down by chance.
Tensor shaken(const Bounded& x, double relative, bool by_error, std::mt19937_64& random) {
  if (!is_float(x.type.type)) return x.value;
  return tabulate(x.value.shape(), [&](int64_t i) {
    const double sign = random() & 1 ? 1 : -1;
    return x.at(i) + sign * (by_error ? x.error_at(i) : relative * std::fabs(x.at(i)));
  });
}

void widen(std::vector<double>& bound, const Tensor& value, const Tensor& moved, double factor) {
  for (size_t i = 0; i < bound.size(); ++i) {
    const double v = value.at_f64(int64_t(i)), m = moved.at_f64(int64_t(i));
    const double d = std::isnan(v) && std::isnan(m) ? 0 : v == m ? 0 : factor * std::fabs(v - m);
    bound[i] = std::max(bound[i], std::isnan(d) ? kInfinite : d);
  }
}

}  // namespace

Bounds bound_by_trial(const NodeCall& call) {
  FRL_LET(auto results, evaluate_call(call));
  std::vector<Bounded> out;
  for (size_t r = 0; r < results.size(); ++r)
    out.push_back({call.results[r], std::move(results[r]), {}});
  const Type type = call.results[0].type;
  const double eps = sum_eps(call.licence, is_float(type) ? type : Type::f32);
  const double k = std::max(1.0, call.licence.amount);
  std::vector<std::vector<double>> own, passed;
  for (const Bounded& y : out) own.emplace_back(size_t(y.value.n_elements()), 0.0);
  passed = own;
  std::mt19937_64 random(1);
  constexpr double kStep = 0x1p-30;  // small enough to be linear, large enough for double
  for (int trial = 0; trial < kTrials; ++trial) {
    FRL_LET(const auto moved,
            evaluate_with(call, [&](const Bounded& x) { return shaken(x, kStep, false, random); }));
    for (size_t r = 0; r < out.size(); ++r)
      widen(own[r], out[r].value, moved[r], 2 * k * eps / kStep);
    if (call.is_exact()) continue;
    FRL_LET(const auto off,
            evaluate_with(call, [&](const Bounded& x) { return shaken(x, 0, true, random); }));
    for (size_t r = 0; r < out.size(); ++r) widen(passed[r], out[r].value, off[r], 4);
  }
  for (size_t r = 0; r < out.size(); ++r) {
    Bounded& y = out[r];
    if (!is_float(y.type.type)) {
      add_error(y, [&](int64_t i) {
        return own[r][size_t(i)] + passed[r][size_t(i)] > 0 ? kInfinite : 0;
      });
      continue;
    }
    const FloatFormat format = format_of(call.licence.precision(y.type.type));
    // Gates near 1 are rounded before 1 - gate is taken: an error of the states' size.
    double gates = 0;
    if (call.node.op == FRL_OP_lstm || call.node.op == FRL_OP_gru || call.node.op == FRL_OP_rnn) {
      double most = 1;
      for (int64_t i = 0; i < y.value.n_elements(); ++i) most = std::max(most, std::fabs(y.at(i)));
      gates = 4 * format_of(wide_type(y.type.type)).eps() * most;
    }
    add_error(y, [&](int64_t i) {
      const double v = y.at(i);
      if (!std::isfinite(v)) return std::isfinite(passed[r][size_t(i)]) ? 0.0 : kInfinite;
      return own[r][size_t(i)] + passed[r][size_t(i)] + k * eps * std::fabs(v) + gates +
             format.ulp(v) / 2 + kLooseZero;
    });
  }
  return out;
}

}  // namespace ferrule::conformance
