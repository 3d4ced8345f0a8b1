#include "conformance/judge/bounded.h"

#include "core/op/wide.h"

namespace ferrule::conformance {

bool NodeCall::is_exact() const {
  for (const Bounded* operand : operands)
    if (operand && !operand->is_exact()) return false;
  return true;
}

Result<std::vector<Tensor>> evaluate_op(OpId op, const Attributes& attributes,
                                        std::span<const Tensor> operands) {
  std::vector<const TensorType*> types;
  std::vector<const Tensor*> pointers;
  for (const Tensor& t : operands) {
    types.push_back(t.empty() ? nullptr : &t.type());
    pointers.push_back(t.empty() ? nullptr : &t);
  }
  Attributes own = attributes;
  if (op == FRL_OP_cast && is_float(Type(own.i(FRL_AT_cast_to))))
    own.set_i(FRL_AT_cast_to, FRL_F64);
  const OpCall call{op_row(op), own, types};
  FRL_LET(const auto inferred, infer_results(call));
  std::vector<Tensor> results;
  for (const TensorType& type : inferred) results.emplace_back(type);
  FRL_TRY(call.row.eval(call, pointers, results));
  return results;
}

Result<std::vector<Tensor>> evaluate_call(const NodeCall& call) {
  return evaluate_with(call, [](const Bounded& x) { return x.value; });
}

Tensor absolute(const Bounded& x) {
  if (!is_float(x.type.type)) return x.value;
  return tabulate(x.value.shape(), [&](int64_t i) { return std::fabs(x.at(i)); });
}

Tensor errors(const Bounded& x) {
  if (!x.error.empty()) return x.error;
  return Tensor(TensorType{Type::f64, x.value.shape()});
}

void round_result(Bounded& y, const Licence& licence, bool exact) {
  const Type type = licence.precision(y.type.type);
  const FloatFormat format = format_of(type);
  Tensor value(y.value.type());
  bool uncertain = false;
  const Tensor error = tabulate(y.value.shape(), [&](int64_t i) {
    const double v = y.at(i), e = y.error_at(i);
    value.set_f64(i, v);
    if (!std::isfinite(v) || type == Type::f64) return e;
    const double half = format.ulp(std::fabs(v) + e) / 2, rounded = round_to(type, v);
    // Between two neighbours a result that is itself rounded to double does not say which.
    const bool tie = !exact && std::fabs(std::fabs(v - rounded) - half) <= std::fabs(v) * 0x1p-50;
    if (e > 0 || tie || licence.may_contract) {
      uncertain |= v != rounded || e > 0;
      return v == rounded && e == 0 ? 0 : e + half * (1 + 0x1p-28);
    }
    value.set_f64(i, rounded);
    return 0.0;
  });
  y.value = std::move(value);
  if (uncertain || !y.error.empty()) y.error = error;
}

void settle(Bounded& y, const Licence& licence) {
  if (!is_float(y.type.type)) return;
  const FloatFormat format = format_of(licence.precision(y.type.type));
  const bool flushes = licence.fp & FRL_FP_FLUSHES_RESULTS;
  const uint32_t lost = licence.fp & (FRL_FP_LOSES_NAN | FRL_FP_LOSES_INF);
  if (y.is_exact() && !flushes && !lost) return;
  y.error = tabulate(y.value.shape(), [&](int64_t i) {
    const double v = y.at(i);
    double e = y.error_at(i);
    if (std::isnan(e)) e = kInfinite;
    if (flushes && std::fabs(v) - e < format.min_normal())
      e += std::min(std::fabs(v), format.min_normal());
    if (std::isnan(v) && lost) e = kInfinite;
    if (std::isinf(v) && lost & FRL_FP_LOSES_INF) e = kInfinite;
    return e;
  });
}

double sum_factor(const Licence& licence, double n) {
  return std::min(licence.amount, std::max(n, 8.0));
}

double sum_eps(const Licence& licence, Type type) {
  const Type sums = licence.accumulate == Type::none ? licence.precision(type) : licence.accumulate;
  return format_of(is_float(sums) ? sums : type).eps();
}

}  // namespace ferrule::conformance
