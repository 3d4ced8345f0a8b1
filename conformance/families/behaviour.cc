// E: each claim row on its own, against what the device does: pairs of types, ranks, layouts and
// broadcasts; limits at their most and one more; choices obeyed; refuse() that only narrows.
#include <algorithm>

#include "conformance/cases/bodies.h"
#include "conformance/cases/check.h"
#include "conformance/cases/layout.h"
#include "conformance/cases/ranks.h"
#include "conformance/families/bounded.h"
#include "conformance/families/limits.h"
#include "conformance/suite/families.h"
#include "core/base/text.h"
#include "core/claim/match.h"

namespace ferrule::conformance {
namespace {

RowAtHand row_at(const Target& target, size_t number) {
  auto alone = std::make_shared<DeviceRow>(target.row());
  const Claim& claim = target.row().claims[number];
  std::erase_if(alone->claims, [&](const Claim& other) { return other.op == claim.op; });
  alone->claims.push_back(claim);
  return {claim, number, std::move(alone)};
}

void add_row_case(const Target& target, std::vector<Case>& cases, const std::string& name,
                  const Subject& subject, const Graph& graph, const RunOptions& options,
                  Repeats repeats = {}) {
  add_laid_out(target, cases, name, subject, graph, options, std::move(repeats), check_claimed);
}

// ---- types, ranks, layouts, broadcasts ----

// Every layout of every operand and result that the row allows, each once; others rotate along, so
// that pairs meet over the subjects of the op.
RunOptions laid_out(const RowAtHand& row, const Graph& graph, size_t turn, Repeats* repeats) {
  const Node& node = graph.node(NodeId(0));
  RunOptions out;
  out.operands.resize(node.operands.size()), out.results.resize(node.results.size());
  const auto choose = [&](size_t i, bool result) -> const LayoutRow* {
    const frl_operand* operand = operand_row(row.claim, i, result);
    std::vector<const LayoutRow*> fit = {nullptr};  // dense
    for (const LayoutRow& layout : layout_rows())
      if (operand && (operand->layouts & layout.needs) == layout.needs &&
          !(result && layout.repeats))
        fit.push_back(&layout);
    return fit[(turn / (i + (result ? 3 : 1)) + turn) % fit.size()];
  };
  for (size_t i = 0; i < node.operands.size(); ++i) {
    const ValueId id = node.operands[i];
    const LayoutRow* layout = id == kNoValue || graph.known(id) ? nullptr : choose(i, false);
    if (!layout) continue;
    const auto axis = repeated_axis(graph.shape(id));
    out.operands[i] = layout->make(graph.shape(id));
    for (size_t k = 0; layout->repeats && axis && k < graph.inputs().size(); ++k)
      if (graph.inputs()[k] == id) repeats->push_back({k, *axis});
  }
  for (size_t r = 0; r < node.results.size(); ++r)
    if (const LayoutRow* layout = choose(r, true))
      out.results[r] = layout->make(graph.shape(node.results[r]));
  return out;
}

// The subject with more leading axes, while the row admits that.
Subject lifted(Subject subject, size_t by) {
  for (OperandSpec& operand : subject.operands) {
    if (operand.type.type == Type::none || operand.fill == Fill::given ||
        operand.type.shape.rank() !=
            subject.operands[0].type.shape.rank() + (&operand == &subject.operands[0] ? 0 : by)) {
      if (&operand != &subject.operands[0]) continue;
    }
    Shape shape;
    for (size_t i = 0; i < by; ++i) shape.push_back(i == 0 ? 2 : 1);
    for (const Dim& dim : operand.type.shape.dims()) shape.push_back(dim);
    operand.type.shape = shape;
  }
  return subject;
}

void list_pairs(const Target& target, std::vector<Case>& cases, const RowAtHand& row) {
  const OpRow* op = find_op(row.claim.op);
  if (!op || op->form == Form::control || op->form == Form::open) return;
  size_t turn = row.number;
  for (Type type : types_of(op->id)) {
    for (const Subject& subject : subjects_of(op->id, type)) {
      if (target.depth == Depth::smoke && !subject.is_smoke(type)) continue;
      if (subject.label == "long" || subject.label == "add_long") continue;
      const auto graph = graph_of(subject, 1);
      if (!graph.ok() || !admits(row, *graph)) continue;
      const std::string name = cat(row.name(), type_name(type), "/", subject.label);
      const int turns = target.depth == Depth::deep                            ? 24
                        : target.depth == Depth::standard && type == Type::f32 ? 3
                                                                               : 1;
      for (int i = 0; i < turns; ++i) {
        Repeats repeats;
        const RunOptions options = laid_out(row, *graph, turn++, &repeats);
        add_row_case(target, cases, cat(name, "/layout_", i), subject, *graph, options,
                     std::move(repeats));
      }
      if (!subject.is_first || subject.operands[0].type.shape.rank() == 0) continue;
      // The highest rank that the row names.
      const frl_operand* main = operand_row(row.claim, 0, false);
      const size_t rank = subject.operands[0].type.shape.rank(),
                   most = main ? std::min<size_t>(main->max_rank, kMaxRank) : rank;
      if (most <= rank) continue;
      const Subject high = lifted(subject, most - rank);
      const auto lifted_graph = graph_of(high, 1);
      if (lifted_graph.ok() && admits(row, *lifted_graph) &&
          evaluate(*lifted_graph, inputs_of(high, *lifted_graph, Style::data, 1)).ok())
        add_row_case(target, cases, name + "/highest_rank", high, *lifted_graph, {});
    }
  }
}

// The ranks that the row names, at their ends and in between.
void list_ranks(const Target& target, std::vector<Case>& cases, const RowAtHand& row) {
  const frl_operand* main = operand_row(row.claim, 0, false);
  if (!main || target.depth == Depth::smoke) return;
  const size_t most = std::min<size_t>(main->max_rank, kMaxRank);
  std::vector<size_t> ranks = {main->min_rank, most};
  for (size_t rank : {size_t{2}, size_t{5}, size_t{8}})
    if (rank > main->min_rank && rank < most) ranks.push_back(rank);
  if (main->min_rank == most) ranks.pop_back();
  for (Type type : {Type::f32, Type::f64, Type::i32, Type::boolean})
    for (size_t rank : ranks)
      for (const Subject& subject : subjects_of_rank(type, rank)) {
        if (subject.op != row.claim.op) continue;
        const auto graph = graph_of(subject, 1);
        if (graph.ok() && admits(row, *graph))
          add_row_case(target, cases,
                       cat(row.name(), type_name(type), "/rank_", rank, "/", subject.label),
                       subject, *graph, {});
      }
}

// ---- compute modes ----

// Each way of computing products that the row names, judged by its own bound.
void list_computes(const Target& target, std::vector<Case>& cases, const RowAtHand& row) {
  const OpRow* op = find_op(row.claim.op);
  if (!op || op->form == Form::control || op->form == Form::open || target.depth == Depth::smoke)
    return;
  for (uint32_t compute : {FRL_COMPUTE_TF32, FRL_COMPUTE_BF16X3, FRL_COMPUTE_REDUCED}) {
    if (!(row.claim.compute & compute)) continue;
    for (Type type : types_of(op->id))
      for (const Subject& subject : subjects_of(op->id, type)) {
        const auto graph = graph_of(subject, 1);
        if (!graph.ok() || !match_claims(*row.alone, *graph, graph->node(NodeId(0)), compute).claim)
          continue;
        RunOptions options;
        options.compute = compute;
        add_row_case(target, cases,
                     cat(row.name(), type_name(type), "/", subject.label, "/compute_", compute),
                     subject, *graph, options);
      }
  }
}

// ---- members of the pointwise kind: each as a lone node, in each type and broadcast ----

void list_members(const Target& target, std::vector<Case>& cases, const RowAtHand& row) {
  if (row.claim.op != FRL_OP_pointwise) return;
  size_t turn = row.number;
  for (OpId member : row.claim.members) {
    const OpRow* op = find_op(member);
    if (!op || op->form != Form::pointwise) continue;
    for (Type type : types_of(member)) {
      for (const Subject& subject : subjects_of(member, type)) {
        if (subject.label == "long" || (target.depth == Depth::smoke && !subject.is_smoke(type)))
          continue;
        const auto graph = graph_of(subject, 1);
        if (!graph.ok()) continue;
        const auto wrapped = as_pointwise(*graph);
        if (!wrapped.ok() || !admits(row, *wrapped)) continue;
        Repeats repeats;
        const RunOptions options = laid_out(row, *wrapped, turn++, &repeats);
        add_row_case(target, cases,
                     cat(row.name(), op->name, "/", type_name(type), "/", subject.label), subject,
                     *wrapped, options, std::move(repeats));
      }
    }
  }
}

// ---- outside ----

// What no row admits is not run, for a plugin may trust the host; but refuse(), asked all the same,
// answers yes or no with a reason, the same twice, and changes nothing.
Outcome check_refusal(const Target& target, const Graph& graph) {
  const Node& node = graph.node(NodeId(0));
  std::vector<Placed> operands(node.operands.size()), results(node.results.size());
  for (Placed& placed : operands) placed.align_bytes = 64;
  for (Placed& placed : results) placed.align_bytes = 64;
  const auto block = encode_region(graph, node, operands, results, FRL_COMPUTE_IEEE);
  if (!block.ok()) return {Verdict::internal_error, block.status().message(), 0, 0};
  const Refusal first = target.driver->refuse(target.device, *block),
                second = target.driver->refuse(target.device, *block);
  if (first.code != second.code || first.text != second.text)
    return fail(
        cat("refuse: want the same answer twice, got ", first.text, ", then ", second.text));
  if (first.refused() && first.text.empty())
    return fail(cat("refuse: code ", int(first.code), ": want a reason, got none"));
  return pass(1);
}

void list_outside(const Target& target, std::vector<Case>& cases) {
  if (!target.driver->table().refuse) return;
  for (const OpRow& op : op_rows()) {
    if (op.form == Form::control || op.form == Form::open) continue;
    for (Type type : types_of(op.id))
      for (const Subject& subject : subjects_of(op.id, type)) {
        if (!subject.is_first && target.depth != Depth::deep) continue;
        if (!target.wants(cat("E/", op.name, "/outside/"))) continue;
        const auto graph = graph_of(subject, 1);
        if (!graph.ok() ||
            match_claims(target.row(), *graph, graph->node(NodeId(0)), FRL_COMPUTE_IEEE).claim)
          continue;
        auto shared = std::make_shared<const Graph>(*graph);
        cases.push_back({cat("E/", op.name, "/outside/", type_name(type), "/", subject.label),
                         [shared](const Target& t) { return check_refusal(t, *shared); },
                         text_of(shared)});
      }
  }
}

// The scratch that a kernel asks for stays within what its row says.
void list_scratch(const Target& target, std::vector<Case>& cases, const RowAtHand& row) {
  const OpRow* op = find_op(row.claim.op);
  if (!op || op->form == Form::control || op->form == Form::open || target.depth == Depth::smoke)
    return;
  for (Type type : types_of(op->id))
    for (const Subject& subject : subjects_of(op->id, type)) {
      const auto graph = graph_of(subject, 1);
      if (!subject.is_first || !graph.ok() || !admits(row, *graph)) continue;
      auto shared = std::make_shared<const Graph>(*graph);
      const uint64_t most = row.claim.scratch_bytes;
      const std::string name = cat(row.name(), type_name(type), "/scratch");
      cases.push_back({name,
                       [shared, subject, name, most](const Target& t) {
                         RunResult result;
                         std::vector<Expected> expected;
                         Outcome out = check_run(
                             t, *shared,
                             inputs_of(subject, *shared, Style::data, seed_of(name, t.seed)), {},
                             &result, &expected);
                         if (out.verdict == Verdict::not_claimed) return pass(1);
                         if (result.scratch_bytes > most)
                           merge(out, fail(cat("scratch: want at most ", most, " bytes, got ",
                                               result.scratch_bytes)));
                         return out;
                       },
                       text_of(shared)});
    }
}

}  // namespace

void list_behaviour(const Target& target, std::vector<Case>& cases) {
  for (size_t number = 0; number < target.row().claims.size(); ++number) {
    const RowAtHand row = row_at(target, number);
    if (!target.wants(row.name())) continue;
    list_pairs(target, cases, row);
    list_ranks(target, cases, row);
    list_computes(target, cases, row);
    list_bounded(target, cases, row.claim, row.number);
    list_members(target, cases, row);
    list_counts(target, cases, row);
    list_extents(target, cases, row);
    list_scratch(target, cases, row);
  }
  list_outside(target, cases);
}

}  // namespace ferrule::conformance
