// The shape rules and reference evaluations that rows of semantics.def name.
#pragma once

#include "core/op/op.h"

namespace ferrule {

using Operands = std::span<const Tensor* const>;
using Results = std::span<Tensor>;

#define INFER(name) Result<std::vector<TensorType>> name(const OpCall& call)
#define EVAL(name) Status name(const OpCall& call, Operands operands, Results results)

// infer_*.cc. A rule may trust arity and the type of the first operand, and nothing else.
INFER(infer_pointwise);
INFER(infer_cast);
INFER(infer_compare);
INFER(infer_select);
INFER(infer_reshape);
INFER(infer_transpose);
INFER(infer_broadcast);
INFER(infer_slice);
INFER(infer_concat);
INFER(infer_pad);
INFER(infer_gather);
INFER(infer_gather_elements);
INFER(infer_gather_nd);
INFER(infer_scatter_elements);
INFER(infer_scatter_nd);
INFER(infer_trilu);
INFER(infer_reduce);
INFER(infer_arg_reduce);
INFER(infer_cumulative);
INFER(infer_topk);
INFER(infer_softmax);
INFER(infer_matmul);
INFER(infer_conv);
INFER(infer_conv_transpose);
INFER(infer_pool);
INFER(infer_resize);
INFER(infer_grid_sample);
INFER(infer_roi_align);
INFER(infer_rnn);
INFER(infer_nonzero);
INFER(infer_unique);
INFER(infer_non_max_suppression);
INFER(infer_dft);
INFER(infer_det);

// eval_*.cc. They trust that infer_results() agreed. Extents come from the tensors, not from
// call.operands or attributes, which hold upper bounds where there are symbols.
EVAL(eval_copy);
EVAL(eval_cast);
EVAL(eval_pointwise);
EVAL(eval_compare);
EVAL(eval_select);
EVAL(eval_transpose);
EVAL(eval_broadcast);
EVAL(eval_slice);
EVAL(eval_concat);
EVAL(eval_pad);
EVAL(eval_gather);
EVAL(eval_gather_elements);
EVAL(eval_gather_nd);
EVAL(eval_scatter_elements);
EVAL(eval_scatter_nd);
EVAL(eval_trilu);
EVAL(eval_reduce);
EVAL(eval_arg_reduce);
EVAL(eval_cumulative);
EVAL(eval_topk);
EVAL(eval_softmax);
EVAL(eval_matmul);
EVAL(eval_conv);
EVAL(eval_conv_transpose);
EVAL(eval_max_pool);
EVAL(eval_avg_pool);
EVAL(eval_resize);
EVAL(eval_grid_sample);
EVAL(eval_roi_align);
EVAL(eval_lstm);
EVAL(eval_gru);
EVAL(eval_rnn);
EVAL(eval_nonzero);
EVAL(eval_unique);
EVAL(eval_non_max_suppression);
EVAL(eval_dft);
EVAL(eval_det);

// Choices and ranges of integer attributes; infer_results() asks this first. Kinds too.
//   errors  invalid_argument naming attribute and value
Status check_attributes(const OpCall& call);

#undef INFER
#undef EVAL

}  // namespace ferrule
