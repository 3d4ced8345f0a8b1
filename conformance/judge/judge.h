// The numerics rule: class first, then each element against its own bound. Never a norm.
//
// The expected value of each element comes with a bound on its error, worked out by walking the
// body node by node in double:
//
//   pointwise     claimed ULP of the result's type, plus what the operands' errors do to the value
//   contraction   k * u * sum of |terms| + |A| eB + eA |B|, k from the accumulation type and length
//   movement      the moved element's bound
//   integers      exact
//
// so cancellation is fair, a lost tile is not, and a region kind needs no rule of its own.
#pragma once

#include "conformance/suite/case.h"
#include "core/graph/graph.h"

namespace ferrule::conformance {

// What the reference says of one result: elements in double (integers in `exact`), each with the
// largest error that a correct backend may show.
struct Expected {
  TensorType type;
  std::vector<double> value;
  std::vector<double> bound;   // absolute; 0: exact
  Tensor exact;                // of the type, rounded once; what integers and bool are compared with
};

// Evaluates a graph under the error rules of the claims that run its nodes.
//   inner_rounding  true: values inside a region are rounded to their type; false: kept wide
Result<std::vector<Expected>> expect(const Graph& graph, std::span<const Tensor> inputs, const DeviceRow& row,
                                     bool inner_rounding);

// Compares every element; the outcome's text names the worst one with index, both values and bound.
//   fp  FRL_FP_* of the claim: which classes may be lost, which denormals flushed
Outcome judge(const Tensor& got, const Expected& want, uint32_t fp);

}  // namespace ferrule::conformance
