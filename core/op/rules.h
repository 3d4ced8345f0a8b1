// The shape rules and reference evaluations that rows of semantics.def name.
#pragma once

#include "core/op/op.h"

namespace ferrule {

#define INFER(name) Result<std::vector<TensorType>> name(const OpCall& call)
#define EVAL(name) \
  Status name(const OpCall& call, std::span<const Tensor* const> operands, std::span<Tensor> results)

// To be filled by the rule files: infer_*.cc and eval_*.cc.

#undef INFER
#undef EVAL

}  // namespace ferrule
