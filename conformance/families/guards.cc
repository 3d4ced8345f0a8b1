// Q: memory that a kernel may and may not touch. Guard bytes, patterns in outputs and inputs
// compared afterwards are the rig's, in every case of every family; here are the ways to bind
// memory.
#include "conformance/cases/check.h"
#include "conformance/suite/families.h"
#include "core/base/text.h"

namespace ferrule::conformance {
namespace {

struct Binding {
  const char* name;
  RunOptions options;
};
std::vector<Binding> bindings() {
  RunOptions late, imported, both, repeated;
  late.late = true, imported.imported = true, repeated.repeats = 3;
  both.late = both.imported = true, both.repeats = 2;
  return {{"late", late}, {"imported", imported}, {"late_imported", both}, {"repeated", repeated}};
}

// Each pair that the kernel lists: the result exactly on that input, as right as elsewhere.
Outcome check_aliases(const Target& target, const Graph& graph, std::span<const Tensor> inputs) {
  RunResult first;
  std::vector<Expected> want;
  Outcome out = check_run(target, graph, inputs, {}, &first, &want);
  if (out.verdict != Verdict::pass) return out;
  const Node& node = graph.node(NodeId(0));
  for (const frl_alias& alias : first.aliases) {
    if (alias.input >= node.operands.size() || alias.output >= node.results.size() ||
        node.operands[alias.input] == kNoValue)
      return fail(cat("alias: want an input and an output of the region, got input ", alias.input,
                      ", output ", alias.output));
    const TensorType &from = graph.type(node.operands[alias.input]),
                     &to = graph.type(node.results[alias.output]);
    if (from.size_bytes() != to.size_bytes())
      return fail(cat("alias: want ", to_string(to), " on as many bytes, got ", to_string(from)));
    if (from != to) continue;  // the rig lays out one type in one place
    RunOptions options;
    options.results.resize(node.results.size());
    options.results[alias.output].on_input = int32_t(alias.input);
    merge(out, check_run(target, graph, inputs, options),
          cat("result ", alias.output, " on input ", alias.input));
  }
  return out;
}

// The same tensor at two operands; the rig gives each its own memory.
Outcome check_same(const Target& target, const Graph& graph, const Subject& subject,
                   uint64_t seed) {
  std::vector<Tensor> inputs = inputs_of(subject, graph, Style::ramp, seed);
  for (Tensor& input : inputs)
    if (input.type() == inputs[0].type()) input = inputs[0];
  return check_run(target, graph, inputs);
}

}  // namespace

void list_guards(const Target& target, std::vector<Case>& cases) {
  for (const OpRow& row : op_rows()) {
    if (row.form == Form::control || row.form == Form::open) continue;
    for (Type type : types_of(row.id)) {
      if (target.depth == Depth::smoke && type != Type::f32) continue;
      if (!target.wants(cat("Q/", row.name, "/", type_name(type), "/"))) continue;
      for (const Subject& subject : subjects_of(row.id, type)) {
        if (target.depth != Depth::deep && !subject.is_first &&
            (type != Type::f32 || target.depth == Depth::smoke))
          continue;
        const std::string name = cat("Q/", row.name, "/", type_name(type), "/", subject.label);
        const bool few = target.depth == Depth::smoke || type != Type::f32;
        for (const Binding& binding : bindings())
          if (!few || target.depth == Depth::deep ||
              (binding.options.late && binding.options.imported))
            add_case(target, cases, cat(name, "/", binding.name), subject, Style::data,
                     binding.options);
        add_case(target, cases, name + "/aliases", graph_of(subject, 1),
                 [subject](const Target& t, const Graph& graph, uint64_t seed) {
                   return check_aliases(t, graph, inputs_of(subject, graph, Style::data, seed));
                 });
        if (subject.operands.size() < 2) continue;
        const Subject parameters = with_parameters(subject);
        add_case(target, cases, name + "/parameters", parameters, Style::data);
        add_case(target, cases, name + "/same_operand", graph_of(subject, 1),
                 [subject](const Target& t, const Graph& graph, uint64_t seed) {
                   return check_same(t, graph, subject, seed);
                 });
      }
    }
  }
}

}  // namespace ferrule::conformance
