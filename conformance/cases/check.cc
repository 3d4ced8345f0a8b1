#include "conformance/cases/check.h"

#include "conformance/cases/layout.h"

#include "core/base/text.h"
#include "core/claim/match.h"

namespace ferrule::conformance {
namespace {

// Never destroyed at exit: what a plugin does when a process ends without closing it is for other
// families to find.
struct Kept {
  const Driver* driver = nullptr;
  size_t device = 0;
  std::unique_ptr<Rig> rig;
};
Kept& kept() {
  static Kept* out = new Kept;
  return *out;
}

int badness(Verdict verdict) {
  switch (verdict) {
    case Verdict::pass:
      return 0;
    case Verdict::not_claimed:
      return 1;
    case Verdict::quality_warning:
      return 2;
    case Verdict::resource_error:
      return 3;
    default:
      return 4;
  }
}

}  // namespace

Result<Rig*> shared_rig(const Target& target) {
  Kept& k = kept();
  if (!k.rig || k.driver != target.driver.get() || k.device != target.device) {
    drop_shared_rig();
    FRL_LET(k.rig, Rig::open(target));
    k.driver = target.driver.get(), k.device = target.device;
  }
  return k.rig.get();
}

void drop_shared_rig() { kept().rig.reset(); }

Outcome outcome_of(const Status& status, const std::string& doing) {
  const std::string text = cat(doing, ": ", code_name(status.code()), ": ", status.message());
  switch (status.code()) {
    case Code::no_memory:
      return {Verdict::resource_error, text, 1, 0};
    case Code::device_lost:
      return {Verdict::device_lost, text, 1, 0};
    case Code::timed_out:
      return {Verdict::timeout, text, 1, 0};
    default:
      return {Verdict::fail, text, 1, 0};
  }
}

Outcome not_run(const Graph& one_node, const Status& status) {
  const Node& node = one_node.node(NodeId(0));
  std::vector<std::string> types;
  for (const ValueId operand : node.operands)
    types.push_back(operand == kNoValue ? "none" : to_string(one_node.type(operand)));
  const OpRow* row = find_op(node.op);
  return outcome_of(status, cat("claimed: want ", row ? row->name : node.kind_name, " of ",
                                join(types), " to run, got"));
}

Outcome check_run(const Target& target, const Graph& one_node, std::span<const Tensor> inputs,
                  const RunOptions& options) {
  RunResult result;
  std::vector<Expected> expected;
  return check_run(target, one_node, inputs, options, &result, &expected);
}

Outcome check_run(const Target& target, const Graph& one_node, std::span<const Tensor> inputs,
                  const RunOptions& options, RunResult* result, std::vector<Expected>* expected) {
  auto rig = shared_rig(target);
  if (!rig.ok()) return outcome_of(rig.status(), "open");
  if (const Refusal refusal = (*rig)->asks(one_node, options); refusal.refused())
    return {Verdict::not_claimed, refusal.text, 1, 0};
  auto want = expect(one_node, inputs, target.row(), Inner::claimed, options.compute);
  if (!want.ok()) return {Verdict::internal_error, "reference: " + want.status().message(), 0, 0};
  *expected = std::move(*want);
  *result = (*rig)->run(one_node, inputs, options);
  if (!result->status.ok()) return not_run(one_node, result->status);
  if (!result->damage.empty()) return fail(result->damage);
  const uint32_t fp = fp_of(one_node, target.row(), options.compute);
  Outcome out = pass(0);
  for (size_t r = 0; r < expected->size(); ++r)
    merge(out, judge(result->results[r], (*expected)[r], fp),
          expected->size() > 1 ? cat("result ", r) : "");
  return out;
}

void merge(Outcome& into, const Outcome& other, const std::string& what) {
  into.judged += other.judged;
  into.worst = std::max(into.worst, other.worst);
  if (badness(other.verdict) <= badness(into.verdict)) return;
  into.verdict = other.verdict;
  into.text = what.empty() ? other.text : cat(what, ": ", other.text);
}

void add_case(const Target& target, std::vector<Case>& cases, std::string name,
              Result<Graph> one_node, CaseBody run, const RunOptions& shown) {
  if (!target.wants(name)) return;
  auto graph = claimed_form(target.row(), std::move(one_node));
  if (!graph.ok()) return;
  auto shared = std::make_shared<const Graph>(std::move(*graph));
  cases.push_back(
      {name,
       [shared, run, name](const Target& t) { return run(t, *shared, seed_of(name, t.seed)); },
       text_of(shared, shown)});
}

void add_case(const Target& target, std::vector<Case>& cases, std::string name,
              const Subject& subject, Style style, const RunOptions& options) {
  const auto add = [&](const Subject& form) {
    add_case(
        target, cases, name, graph_of(form, 1),
        [form, style, options](const Target& t, const Graph& graph, uint64_t seed) {
          return check_run(t, graph, inputs_of(form, graph, style, seed), options);
        },
        options);
  };
  if (!target.wants(name)) return;
  const size_t before = cases.size();
  add(subject);
  // A device may want its weights known.
  if (cases.size() == before && subject.operands.size() > 1) add(with_parameters(subject));
}

void add_laid_out(const Target& target, std::vector<Case>& cases, const std::string& name,
                  const Subject& subject, const Graph& graph, const RunOptions& options,
                  Repeats repeats, Check check) {
  if (!target.wants(name)) return;
  auto shared = std::make_shared<const Graph>(graph);
  cases.push_back({name,
                   [=](const Target& t) {
                     std::vector<Tensor> inputs =
                         inputs_of(subject, *shared, Style::data, seed_of(name, t.seed));
                     for (const auto& [input, axis] : repeats)
                       inputs[input] = constant_along(inputs[input], axis);
                     return check(t, *shared, inputs, options);
                   },
                   text_of(shared, options)});
}

}  // namespace ferrule::conformance
