// H: shapes and places in memory: zero-size axes, every rank, sizes round tiles and vectors,
// primes, each claimed layout and offset.
#include <algorithm>

#include "conformance/cases/check.h"
#include "conformance/cases/layout.h"
#include "conformance/cases/ranks.h"
#include "conformance/families/sizes.h"
#include "conformance/suite/families.h"
#include "core/base/text.h"
#include "core/claim/match.h"

namespace ferrule::conformance {
namespace {

// The subject with extent `from` of its tensors replaced: axes that must stay equal do.
Subject with_extent(Subject subject, int64_t from, int64_t to) {
  for (OperandSpec& operand : subject.operands) {
    if (operand.fill == Fill::given) continue;
    for (size_t axis = 0; axis < operand.type.shape.rank(); ++axis)
      if (operand.type.shape[axis] == from) operand.type.shape.set(axis, {to, 0});
  }
  return subject;
}

// Extents of the subject's operands, each once.
std::vector<int64_t> extents_of(const Subject& subject) {
  std::vector<int64_t> out;
  for (const OperandSpec& operand : subject.operands)
    for (const Dim& dim : operand.type.shape.dims())
      if (std::find(out.begin(), out.end(), dim.extent) == out.end()) out.push_back(dim.extent);
  return out;
}

// Whether the reference takes these operands: indices into nothing, say, it does not.
bool reference_takes(const Subject& subject) {
  const auto graph = graph_of(subject, 1);
  return graph.ok() && evaluate(*graph, inputs_of(subject, *graph, Style::data, 1)).ok();
}

void list_zero(const Target& target, std::vector<Case>& cases, OpId op, Type type) {
  for (const Subject& subject : subjects_of(op, type)) {
    if (!subject.is_first &&
        (target.depth == Depth::smoke || (target.depth == Depth::standard && type != Type::f32)))
      continue;
    if (subject.label == "long" || subject.label == "add_long") continue;
    for (int64_t extent : extents_of(subject)) {
      // Heads without an element have a scale of 1 / 0, no segments have no average.
      const Shape& shape = subject.operands[0].type.shape;
      if (extent == 0 || (op == FRL_OP_attention && extent == shape.back()) ||
          (op == FRL_OP_welch_peaks && extent == shape.from_end(-3)))
        continue;
      const Subject empty = with_extent(subject, extent, 0);
      if (reference_takes(empty))
        add_case(
            target, cases,
            cat("H/", op_row(op).name, "/", type_name(type), "/", subject.label, "/zero_", extent),
            empty, Style::data);
    }
  }
}

// ---- ranks ----

// Leading axes of extent 2 and 1 in front of every operand of the subject that has the rank of the
// first.
Subject with_leading(Subject subject, size_t n) {
  const size_t rank = subject.operands[0].type.shape.rank();
  for (OperandSpec& operand : subject.operands) {
    if (operand.type.type == Type::none || operand.type.shape.rank() != rank ||
        operand.fill == Fill::given)
      continue;
    Shape shape;
    for (size_t i = 0; i < n; ++i) shape.push_back(i == 0 ? 2 : 1);
    for (const Dim& dim : operand.type.shape.dims()) shape.push_back(dim);
    operand.type.shape = shape;
  }
  return subject;
}

constexpr OpId kLeading[] = {FRL_OP_matmul,
                             FRL_OP_gather_elements,
                             FRL_OP_scatter_elements,
                             FRL_OP_trilu,
                             FRL_OP_det,
                             FRL_OP_dft,
                             FRL_OP_log_softmax,
                             FRL_OP_layer_norm,
                             FRL_OP_rms_norm,
                             FRL_OP_attention,
                             FRL_OP_matmul_bias_act,
                             FRL_OP_grid_sample,
                             FRL_OP_gather};

void list_ranks(const Target& target, std::vector<Case>& cases) {
  const std::vector<Type> types =
      target.depth == Depth::smoke
          ? std::vector<Type>{Type::f32}
          : std::vector<Type>{Type::f32, Type::f64, Type::bf16, Type::i32, Type::u8, Type::boolean};
  for (Type type : types) {
    if (target.only &&
        !std::any_of(target.only->begin(), target.only->end(), [&](const std::string& name) {
          return name.find(cat("/", type_name(type), "/")) != std::string::npos;
        }))
      continue;
    for (size_t rank = 0; rank <= kMaxRank; ++rank) {
      std::vector<Subject> subjects = subjects_of_rank(type, rank);
      for (const Subject& subject : subjects)
        if (graph_of(subject, 1).ok())
          add_case(target, cases,
                   cat("H/", op_row(subject.op).name, "/", type_name(type), "/rank_", rank, "/",
                       subject.label),
                   subject, Style::data);
    }
    for (OpId op : kLeading) {
      if (!target.wants(cat("H/", op_row(op).name, "/", type_name(type), "/"))) continue;
      for (const Subject& subject : subjects_of(op, type)) {
        if (target.depth == Depth::smoke && !subject.is_first) continue;
        for (size_t n = 1;
             !subject.operands.empty() && n + subject.operands[0].type.shape.rank() <= kMaxRank;
             n += n < 3 ? 1 : 4) {
          if (!target.wants(cat("H/", op_row(op).name, "/", type_name(type), "/", subject.label,
                                "/leading_", n)))
            continue;
          const Subject higher = with_leading(subject, n);
          if (graph_of(higher, 1).ok() && reference_takes(higher))
            add_case(target, cases,
                     cat("H/", op_row(op).name, "/", type_name(type), "/", subject.label,
                         "/leading_", n),
                     higher, Style::data);
        }
      }
    }
  }
}

// ---- layouts ----

// Whether the claim lets operand (or result) i lie so.
bool may_lie(const Claim& claim, size_t i, bool result, uint32_t needs) {
  const frl_operand* row = operand_row(claim, i, result);
  return row && (row->layouts & needs) == needs;
}

// One tensor of the subject (or all that may) in one layout. Names of inputs say which operand each
// is.
void add_layout(const Target& target, std::vector<Case>& cases, const std::string& name,
                const Subject& subject, const Graph& graph, const LayoutRow& layout, int which) {
  const Claim* claim = claim_of(target.row(), graph);
  const Node& node = graph.node(NodeId(0));
  RunOptions options;
  Repeats repeats;
  bool any = false;
  options.operands.resize(node.operands.size());
  options.results.resize(node.results.size());
  for (size_t i = 0; i < node.operands.size(); ++i) {
    const ValueId id = node.operands[i];
    if (id == kNoValue || (which >= 0 && which != int(i)) || graph.known(id) ||
        !may_lie(*claim, i, false, layout.needs))
      continue;
    const auto axis = repeated_axis(graph.shape(id));
    if (layout.repeats && !axis) continue;
    options.operands[i] = layout.make(graph.shape(id));
    if (layout.repeats)
      for (size_t k = 0; k < graph.inputs().size(); ++k)
        if (graph.inputs()[k] == id) repeats.push_back({k, *axis});
    any = true;
  }
  const int first_result = int(node.operands.size());
  for (size_t r = 0; r < node.results.size() && !layout.repeats; ++r) {
    if ((which >= 0 && which != first_result + int(r)) || !may_lie(*claim, r, true, layout.needs))
      continue;
    options.results[r] = layout.make(graph.shape(node.results[r]));
    any = true;
  }
  if (any) add_laid_out(target, cases, name, subject, graph, options, repeats, check_run);
}

void list_layouts(const Target& target, std::vector<Case>& cases, OpId op, Type type) {
  for (const Subject& subject : subjects_of(op, type)) {
    const bool some =
        target.depth == Depth::smoke || (target.depth == Depth::standard && type != Type::f32);
    if (some && !subject.is_first) continue;
    if (subject.label == "long" || subject.label == "add_long") continue;
    if (!target.wants(cat("H/", op_row(op).name, "/", type_name(type), "/", subject.label, "/")))
      continue;
    const auto graph = claimed_form(target.row(), graph_of(subject, 1));
    if (!graph.ok()) continue;
    // Each tensor alone beside all of them at once.
    const bool each = target.depth == Depth::deep || (!some && subject.is_first);
    const int n =
        int(graph->node(NodeId(0)).operands.size() + graph->node(NodeId(0)).results.size());
    for (const LayoutRow& layout : layout_rows()) {
      const std::string name =
          cat("H/", op_row(op).name, "/", type_name(type), "/", subject.label, "/", layout.name);
      add_layout(target, cases, name, subject, *graph, layout, -1);
      for (int which = 0; which < n && n > 2 && each; ++which)
        add_layout(target, cases, cat(name, "_", which), subject, *graph, layout, which);
    }
  }
}

}  // namespace

void list_shapes(const Target& target, std::vector<Case>& cases) {
  for (const OpRow& row : op_rows()) {
    if (row.form == Form::control || row.form == Form::open) continue;
    for (Type type : some_types(target, row.id)) {
      if (!target.wants(cat("H/", row.name, "/", type_name(type), "/"))) continue;
      list_zero(target, cases, row.id, type);
      list_layouts(target, cases, row.id, type);
    }
  }
  list_ranks(target, cases);
  list_sizes(target, cases);
}

}  // namespace ferrule::conformance
