#include "conformance/families/limits.h"

#include <algorithm>

#include "conformance/cases/bodies.h"
#include "core/claim/match.h"

namespace ferrule::conformance {
namespace {

// A region that no row admits: the device may still run it, but then it runs it right.
Outcome check_outside(const Target& target, const Graph& graph, std::span<const Tensor> inputs) {
  auto rig = shared_rig(target);
  if (!rig.ok()) return outcome_of(rig.status(), "open");
  const Node& node = graph.node(NodeId(0));
  if (match_claims(target.row(), graph, node, FRL_COMPUTE_IEEE).claim)
    return {Verdict::internal_error, "outside: a row admits this", 0, 0};
  std::vector<Placed> operands(node.operands.size()), results(node.results.size());
  for (Placed& placed : operands) placed.align_bytes = 64;
  for (Placed& placed : results) placed.align_bytes = 64;
  const auto block = encode_region(graph, node, operands, results, FRL_COMPUTE_IEEE);
  if (!block.ok()) return pass(1);
  const Refusal refusal = (*rig)->device().driver().refuse((*rig)->device().number(), *block);
  if (refusal.refused())
    return refusal.text.empty()
               ? fail(cat("refusal ", int(refusal.code), ": want a reason, got none"))
               : pass(1);
  const RunResult result = (*rig)->run(graph, inputs);
  if (!result.status.ok()) return pass(1);
  if (!result.damage.empty()) return fail(cat("outside the claims, not refused: ", result.damage));
  const auto want = expect(graph, inputs, target.row());
  if (!want.ok()) return {Verdict::internal_error, "reference: " + want.status().message(), 0, 0};
  Outcome out = pass(1);
  for (size_t r = 0; r < want->size(); ++r)
    merge(out, judge(result.results[r], (*want)[r], FRL_FP_LOSES_ZERO_SIGN),
          "outside the claims, not refused");
  return out;
}

void add_limit(const Target& target, std::vector<Case>& cases, std::string name, OpId kind,
               Result<Graph> body) {
  if (!body.ok()) return;
  auto region = one_region(kind, Attributes(kind), std::make_shared<const Graph>(std::move(*body)));
  if (!region.ok()) return;
  const bool inside =
      match_claims(target.row(), *region, region->node(NodeId(0)), FRL_COMPUTE_IEEE).claim;
  auto shared = std::make_shared<const Graph>(std::move(*region));
  cases.push_back({name,
                   [shared, name, inside](const Target& t) {
                     std::vector<Tensor> inputs;
                     for (ValueId id : shared->inputs())
                       inputs.push_back(fill(shared->type(id), Style::ramp,
                                             seed_of(name, t.seed) + inputs.size()));
                     return inside ? check_claimed(t, *shared, inputs, {})
                                   : check_outside(t, *shared, inputs);
                   },
                   text_of(shared)});
}

constexpr uint32_t kMostCount = 2048;  // limits above this are not reached for

}  // namespace

bool admits(const RowAtHand& row, const Graph& graph) {
  return match_claims(*row.alone, graph, graph.node(NodeId(0)), FRL_COMPUTE_IEEE).claim;
}

// Claimed, so refuse() may say no; a yes binds: it compiles, runs and is right.
Outcome check_claimed(const Target& target, const Graph& graph, std::span<const Tensor> inputs,
                      const RunOptions& options) {
  Outcome out = check_run(target, graph, inputs, options);
  if (out.verdict != Verdict::not_claimed) return out;
  return pass(1);  // narrowed, with a reason
}

void list_counts(const Target& target, std::vector<Case>& cases, const RowAtHand& row) {
  if (row.claim.op != FRL_OP_pointwise) return;
  const std::vector<Type> types = member_types(row.claim);
  for (size_t i = 0; i < types.size() && (target.depth == Depth::deep || i < 2); ++i) {
    const BodyMaker make(row.claim, types[i]);
    const std::string name = row.name() + std::string(type_name(types[i]));
    for (uint32_t over : {0u, 1u}) {
      const char* what = over ? "max_plus_1" : "max";
      if (row.claim.max_nodes <= kMostCount)
        add_limit(target, cases, cat(name, "/nodes_", what), FRL_OP_pointwise,
                  make.chain(row.claim.max_nodes + over, Shape{3, 5}));
      if (row.claim.max_inputs <= kMostCount)
        add_limit(target, cases, cat(name, "/inputs_", what), FRL_OP_pointwise,
                  make.inputs(row.claim.max_inputs + over, Spread::same, Shape{3, 5}));
      if (row.claim.max_outputs <= kMostCount)
        add_limit(target, cases, cat(name, "/results_", what), FRL_OP_pointwise,
                  make.results(row.claim.max_outputs + over, Shape{3, 5}));
    }
  }
}

// Extents at max_dim and elements at max_elements, clamped to what fits in memory.
constexpr int64_t kMostElements = int64_t{1} << 22;

void list_extents(const Target& target, std::vector<Case>& cases, const RowAtHand& row) {
  const OpRow* op = find_op(row.claim.op);
  if (!op || op->form == Form::control || op->form == Form::open || target.depth == Depth::smoke)
    return;
  for (Type type : types_of(op->id)) {
    // The subject that grows least.
    std::vector<Subject> subjects = subjects_of(op->id, type);
    std::erase_if(subjects, [](const Subject& s) {
      return s.operands.empty() || s.operands[0].type.shape.rank() == 0;
    });
    const auto others = [](const Subject& s) {
      return s.operands[0].type.shape.n_elements() /
             std::max<int64_t>(1, s.operands[0].type.shape[0]);
    };
    std::stable_sort(subjects.begin(), subjects.end(),
                     [&](const Subject& a, const Subject& b) { return others(a) < others(b); });
    if (subjects.empty()) continue;
    const auto plain = graph_of(subjects[0], 1);
    if (!plain.ok() || !admits(row, *plain)) continue;
    for (const uint64_t limit : {row.claim.max_dim, row.claim.max_elements}) {
      if (limit == 0 || int64_t(limit) > kMostElements) continue;
      for (uint64_t over : {0u, 1u}) {
        Subject subject = subjects[0];
        const int64_t from = subject.operands[0].type.shape[0];
        for (OperandSpec& operand : subject.operands)
          for (size_t axis = 0; axis < operand.type.shape.rank() && operand.fill != Fill::given;
               ++axis)
            if (operand.type.shape[axis] == from)
              operand.type.shape.set(axis, {int64_t(limit + over), 0});
        const auto graph = graph_of(subject, 1);
        if (!graph.ok() ||
            graph->shape(graph->node(NodeId(0)).operands[0]).n_elements() > kMostElements)
          continue;
        const bool inside = admits(row, *graph);
        auto shared = std::make_shared<const Graph>(*graph);
        const std::string name =
            cat(row.name(), type_name(type), limit == row.claim.max_dim ? "/extent_" : "/elements_",
                limit + over);
        cases.push_back({name,
                         [shared, subject, name, inside](const Target& t) {
                           const auto inputs =
                               inputs_of(subject, *shared, Style::data, seed_of(name, t.seed));
                           return inside ? check_claimed(t, *shared, inputs, {})
                                         : check_outside(t, *shared, inputs);
                         },
                         text_of(shared)});
      }
    }
    return;
  }
}

}  // namespace ferrule::conformance
