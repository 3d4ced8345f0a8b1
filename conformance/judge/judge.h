// The numerics rule: class first, then each element against its own bound. Never a norm.
//
// The expected value of each element comes with a bound on its error, worked out by walking the
// body node by node in double:
//
//   pointwise     claimed ULP of the result's type, plus what the operands' errors do to the value
//   contraction   k * eps * sum of |terms| + |A| eB + eA |B|, k from the claim and the length
//   movement      the moved element's bound
//   integers      exact
//
// so cancellation is fair, a lost tile is not, and a region kind needs no rule of its own. An op
// without a rule gets its bound from what small changes of its operands do to it.
#pragma once

#include "conformance/suite/case.h"
#include "core/graph/graph.h"

namespace ferrule::conformance {

// What the reference says of one result: elements in double (integers in `exact`), each with the
// largest error that a correct backend may show.
struct Expected {
  TensorType type;
  std::vector<double> value;  // of floats
  std::vector<double> bound;  // absolute; 0: exact, sign of zero too; infinite: not judged
  Tensor exact;               // of the type, rounded once; what integers and bool are compared with
  Tensor terms;               // of a sum or contraction: the sum of |terms| that scales its bound
  // For the text: what an element was made from.
  std::function<std::string(int64_t element)> operands;
};

// Are inner values of a region rounded to their type?
enum class Inner : uint8_t {
  claimed,  // as the claim's FRL_FP_WIDE_INSIDE says
  rounded,
  wide
};

// Evaluates a graph under the error rules of the claims that run its nodes; nodes that no row
// claims have the rules of exact rows.
//   compute  one FRL_COMPUTE_*
//   errors   unsupported for control ops; those of the reference evaluation
Result<std::vector<Expected>> expect(const Graph& graph, std::span<const Tensor> inputs,
                                     const DeviceRow& row, Inner inner = Inner::claimed,
                                     uint32_t compute = FRL_COMPUTE_IEEE);

// Compares every element; the outcome's text names the worst one with index, both values, the error
// in ULP, the bound, and the operands that the element was made from.
//   fp  FRL_FP_* of the claim: which classes may be lost (flushing is in the bounds)
Outcome judge(const Tensor& got, const Expected& want, uint32_t fp);

// One element, as it is written: "true", "-0", "0.1".
std::string element_text(const Tensor& tensor, int64_t i);

// Of each input and parameter the part that element `i` of an output depends on, with its first
// values: "0[3,:] = 0.5, -1, 2, 7, .. (37 values); 1[:,7] = 4". Asks the reference again, with
// parts spoilt; what takes too long is shown whole.
std::string operands_text(const Graph& graph, std::span<const Tensor> inputs, size_t output,
                          int64_t i);

// Two results of one device that may differ by both their bounds: fused against unfused.
Outcome judge_pair(const Tensor& fused, const Tensor& unfused, const Expected& want_fused,
                   const Expected& want_unfused);

// FRL_FP_* of the row that claims node 0; 0 if none does.
uint32_t fp_of(const Graph& one_node, const DeviceRow& row, uint32_t compute = FRL_COMPUTE_IEEE);

}  // namespace ferrule::conformance
