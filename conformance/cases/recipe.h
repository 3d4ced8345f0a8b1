// How ops are called: rows of recipes.def and what the generator makes for pointwise ops, with a
// type put in; and the data that their operands are given.
#pragma once

#include "conformance/rig/graphs.h"

namespace ferrule::conformance {

// What one operand holds.
enum class Fill : uint8_t {
  style,  // the case's own style of data
  index,
  unique,
  length,
  unit,
  small,
  given
};

struct OperandSpec {
  TensorType type;  // none: missing
  Fill fill = Fill::style;
  int64_t limit = 0;           // of indices and lengths
  std::vector<double> values;  // given
  bool literal = false, parameter = false;
};

// One op with attributes and operands: what a case is about.
struct Subject {
  OpId op = 0;
  std::string label;
  Attributes attributes;
  std::vector<OperandSpec> operands;
  bool is_first = false;  // of its op

  // Depth smoke has each form in one type, and each type in one form.
  bool is_smoke(Type type) const { return is_first || type == Type::f32; }
  const OperandSpec* main() const { return operands.empty() ? nullptr : &operands[0]; }
};

// Rows of recipes.def for an op with T as `type`; for POINTWISE ops the generated shapes first.
// Subjects that the op's shape rule refuses for this type are left out.
std::vector<Subject> subjects_of(OpId op, Type type);

// "strides=2,2 groups=2" for an op; unknown names are an internal error.
Result<Attributes> parse_attributes(OpId op, std::string_view text);
// "T[2,3]:5"
Result<OperandSpec> parse_operand(std::string_view text, Type type);

// A subject written as a row: "by=max axes=-1" and "T[6,N] T[N]".
struct SubjectRow {
  OpId op;
  const char *label, *attributes, *operands;
};
//   n  what N stands for among the extents
//   errors  internal for a row that is no subject
Result<Subject> subject_of(const SubjectRow& row, Type type, int64_t n = 0);

// The graph of a subject's node. Literals and parameters hold their values already.
Result<Graph> graph_of(const Subject& subject, uint64_t seed);

// Operands after the first, where they hold data, as parameters: weights that the kernel may pack.
Subject with_parameters(Subject subject);

// Types that the op's first typed operand may have: of select the second.
std::vector<Type> types_of(OpId op);

// How elements are spread.
enum class Style : uint8_t { data, wide, ramp, one_hot, alternating, negative_zero, special };
const char* style_name(Style style);

// One tensor of data. Finite unless the style is special. `domain` limits data of float functions
// to where they are smooth: FRL_OP_* of the function, or 0.
Tensor fill(const TensorType& type, Style style, uint64_t seed, OpId domain = 0);

// Values of all inputs of the subject's graph, in either of its forms (see claimed_form): inputs
// are named by their operand's number.
std::vector<Tensor> inputs_of(const Subject& subject, const Graph& graph, Style style,
                              uint64_t seed);

// A number from a case's name and the run's seed.
uint64_t seed_of(std::string_view name, uint64_t seed);

}  // namespace ferrule::conformance
