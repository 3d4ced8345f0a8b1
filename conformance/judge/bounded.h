// Values with bounds on their errors, and the rules by which a node passes both on.
#pragma once

#include "conformance/judge/number.h"
#include "core/graph/graph.h"
#include "core/op/walk.h"

namespace ferrule::conformance {

// |what a correct device has - value| <= error, element by element.
struct Bounded {
  TensorType type;  // as the graph says
  Tensor value;     // f64 for floats, else of the type
  Tensor error;     // f64; empty: exact. Infinite: anything
  Tensor terms;     // f64; of a sum: that of |terms|, which scales its error

  double at(int64_t i) const { return value.as<double>()[size_t(i)]; }
  double error_at(int64_t i) const { return error.empty() ? 0 : error.as<double>()[size_t(i)]; }
  bool is_exact() const { return error.empty(); }
};

// How the node at hand may err.
struct Licence {
  uint32_t unit = FRL_ERROR_EXACT;  // FRL_ERROR_*
  double amount = 0;                // in that unit
  Type accumulate = Type::none;     // none: the result's type
  uint32_t fp = 0;                  // FRL_FP_*
  uint32_t compute = FRL_COMPUTE_IEEE;
  bool leaves_wide = false;  // the result leaves a region whose inner values are not rounded
  bool is_wide = false;      // the result is an inner value and is not rounded to its type
  bool may_contract =
      false;  // the result is a product that only sums use, and FRL_FP_CONTRACTS is claimed

  // In which type the result is rounded at least.
  Type precision(Type declared) const { return is_wide ? wide_type(declared) : declared; }
};

struct NodeCall {
  const Node& node;
  const OpRow& row;
  std::vector<const Bounded*> operands;  // null: missing
  std::vector<TensorType> results;       // as the graph says
  Licence licence;

  const Bounded& in(size_t i) const { return *operands[i]; }
  bool has(size_t i) const { return i < operands.size() && operands[i]; }
  bool is_exact() const;  // all operands are
};

using Bounds = Result<std::vector<Bounded>>;
using NodeRule = Bounds (*)(const NodeCall& call);

// Reference evaluation with other operands and, possibly, attributes: floats in double.
Result<std::vector<Tensor>> evaluate_op(OpId op, const Attributes& attributes,
                                        std::span<const Tensor> operands);
// Of the call itself, on its operands' values or on what `map` makes of each.
Result<std::vector<Tensor>> evaluate_call(const NodeCall& call);
template <class Map>
Result<std::vector<Tensor>> evaluate_with(const NodeCall& call, Map&& map) {
  std::vector<Tensor> operands;
  for (size_t i = 0; i < call.operands.size(); ++i)
    operands.push_back(call.has(i) ? map(call.in(i)) : Tensor());
  return evaluate_op(call.node.op, call.node.attributes, operands);
}

// New tensors, element by element.
Tensor absolute(const Bounded& x);  // |value|
Tensor errors(const Bounded& x);    // error, zeros where exact; integers stay as they are (indices)
template <class Fn>
Tensor tabulate(const Shape& shape, Fn&& fn) {
  Tensor out(TensorType{Type::f64, shape});
  const auto to = out.mutable_as<double>();
  for (size_t i = 0; i < to.size(); ++i) to[i] = fn(int64_t(i));
  return out;
}

// One result whose own error is correct rounding: known exactly where nothing was uncertain before.
//   exact  whether value holds the exact result of the operation (not itself rounded to double)
void round_result(Bounded& y, const Licence& licence, bool exact);
// One result with `own(i)` of error beside what it has; then the flushing and range of its type.
template <class Fn>
void add_error(Bounded& y, Fn&& own) {
  y.error = tabulate(y.value.shape(), [&](int64_t i) { return y.error_at(i) + own(i); });
}
void settle(Bounded& y, const Licence& licence);

// Rules.
Bounds bound_pointwise(const NodeCall& call);
bool rounds(OpId pointwise);  // whether its result may lie between its operands' numbers
Bounds bound_move(const NodeCall& call);
Bounds bound_select_places(
    const NodeCall& call);  // arg_reduce, topk, nonzero, ...: exact or not judged
Bounds bound_topk(const NodeCall& call);
Bounds bound_reduce(const NodeCall& call);
Bounds bound_cumulative(const NodeCall& call);
Bounds bound_scatter(const NodeCall& call);
Bounds bound_product(const NodeCall& call);  // matmul, conv, conv_transpose
Bounds bound_pool(const NodeCall& call);
Bounds bound_softmax(const NodeCall& call);
Bounds bound_resample(const NodeCall& call);
Bounds bound_dft(const NodeCall& call);
Bounds bound_det(const NodeCall& call);
Bounds bound_by_trial(const NodeCall& call);  // any op: by small changes of the operands

// How many eps of the condition a sum of n terms may be off.
double sum_factor(const Licence& licence, double n);
// eps of what sums of this result are accumulated in, with what reduced products add.
double sum_eps(const Licence& licence, Type type);

}  // namespace ferrule::conformance
