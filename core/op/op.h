// The op table: the ABI's rows (frl_ops.def) joined by id with the core's (semantics.def).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/op/attributes.h"
#include "core/op/tensor.h"

namespace ferrule {

enum class Form : uint8_t { pointwise, plain, control, closed, open };

struct OpRow;

// One use of an op: what its rules look at.
struct OpCall {
  const OpRow& row;
  const Attributes& attributes;
  std::span<const TensorType* const> operands;  // null: an optional one is missing
};

// Result types of a PLAIN or POINTWISE op from operand types and attributes alone. A data-dependent
// extent gets symbol kWrittenSymbol and its upper bound; the graph gives it a number of its own.
//   errors  invalid_argument "op: want ..., got ..."
using InferRule = Result<std::vector<TensorType>> (*)(const OpCall& call);
constexpr uint32_t kWrittenSymbol = UINT32_MAX;

// Reference evaluation: floats in double with one rounding to the result's type at the end,
// integers and bool exact in their type. `results` have the inferred types and are zero; where a
// shape has a written symbol, the true extent is set by replacing the tensor with a smaller one.
//   errors  invalid_argument for values out of range (an index, a shape)
using EvalRule = Status (*)(const OpCall& call, std::span<const Tensor* const> operands,
                            std::span<Tensor> results);

struct OpRow {
  OpId id;
  const char* name;
  Form form;
  uint32_t min_operands, max_operands;  // 255: any number
  uint32_t n_results;                   // 0: what the bodies give
  uint32_t n_bodies;
  const char* expression;
  uint64_t types;   // mask of element types that the first operand may have
  InferRule infer;  // null for CONTROL, CLOSED and OPEN: the graph infers from the bodies
  EvalRule eval;    // null likewise
  const char* doc;
};

// Rows in order of id, without gaps; row of id N is at N - 1.
std::span<const OpRow> op_rows();
const OpRow* find_op(OpId id);                // null for ids of vendors and unknown ones
const OpRow* find_op(std::string_view name);  // null if there is none
const OpRow& op_row(OpId id);                 // the id is known
std::span<const AttributeRow> attribute_rows(OpId id);

// Arity, element types, then the op's own rule.
Result<std::vector<TensorType>> infer_results(const OpCall& call);

// "add [2,3] f32, [3] f32": the op and its operands, for messages.
std::string describe(const OpCall& call);

}  // namespace ferrule
