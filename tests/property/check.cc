#include "tests/property/check.h"

#include <cmath>

#include "conformance/judge/number.h"
#include "core/base/text.h"

namespace ferrule::property {
namespace {

using conformance::Expected;

Finding fault(std::string text) { return {true, std::move(text)}; }

// Outputs that control flow has a part in.
std::set<size_t> behind_control(const Graph& graph) {
  std::vector<bool> behind(graph.n_values(), false);
  for (const Node& node : graph.nodes()) {
    const OpRow* row = find_op(node.op);
    bool is_behind = row && row->form == Form::control;
    for (ValueId id : node.operands) is_behind |= id != kNoValue && behind[index(id)];
    for (ValueId id : node.results) behind[index(id)] = is_behind;
  }
  std::set<size_t> out;
  for (size_t i = 0; i < graph.outputs().size(); ++i)
    if (behind[index(graph.outputs()[i].value)]) out.insert(i);
  return out;
}

// Where the judge has no rule: what small changes of the inputs do to the results.
Result<std::vector<Expected>> expect_by_trial(const Sample& sample) {
  FRL_LET(const auto values, evaluate(sample.graph, sample.inputs));
  std::vector<Expected> out;
  for (const Tensor& tensor : values) {
    Expected one{tensor.type(), {}, {}, tensor};
    for (int64_t i = 0; i < tensor.n_elements(); ++i) {
      const double v = tensor.at_f64(i);
      if (is_float(tensor.element())) one.value.push_back(v);
      const double ulp = conformance::format_of(tensor.element()).ulp(v);
      one.bound.push_back(is_float(tensor.element()) ? 16 * ulp : 0);
    }
    out.push_back(std::move(one));
  }
  Chance chance(7);
  for (int trial = 0; trial < 4; ++trial) {
    std::vector<Tensor> inputs;
    for (const Tensor& tensor : sample.inputs) {
      inputs.push_back(Tensor(tensor.type()));
      const double eps = conformance::format_of(tensor.element()).eps();
      for (int64_t i = 0; i < tensor.n_elements(); ++i)
        inputs.back().set_f64(
            i, tensor.at_f64(i) *
                   (is_float(tensor.element()) ? 1 + (chance.with(0.5) ? 4 : -4) * eps : 1));
    }
    const auto moved = evaluate(sample.graph, inputs);
    for (size_t r = 0; r < out.size(); ++r)
      for (int64_t i = 0; i < values[r].n_elements(); ++i) {
        const double a = values[r].at_f64(i), b = moved.ok() ? (*moved)[r].at_f64(i) : INFINITY;
        const double off = a == b || (std::isnan(a) && std::isnan(b)) ? 0 : std::fabs(a - b);
        double& bound = out[r].bound[size_t(i)];
        bound = std::isnan(off) || (off > 0 && out[r].value.empty()) ? INFINITY
                                                                     : std::max(bound, 8 * off);
      }
  }
  return out;
}

Result<std::vector<Expected>> expect_of(const Sample& sample, const DeviceRow& row) {
  Change change;
  change.dropped = behind_control(sample.graph);
  if (change.dropped.empty())
    return conformance::expect(sample.graph, sample.inputs, row, conformance::Inner::claimed);
  FRL_LET(auto out, expect_by_trial(sample));
  if (change.dropped.size() == out.size()) return out;
  FRL_LET(const Sample rest, rebuild(sample, change));
  FRL_LET(auto judged,
          conformance::expect(rest.graph, rest.inputs, row, conformance::Inner::claimed));
  for (size_t i = 0, at = 0; i < out.size(); ++i)
    if (!change.dropped.count(i)) out[i] = std::move(judged[at++]);
  return out;
}

// Composites are known by numbers that are right to seven digits, whatever the type: f64 results of
// a graph with such numbers are those of f32 arithmetic.
bool has_rounded_numbers(const Graph& graph) {
  const auto rounded = [](double v) { return std::isfinite(v) && v * 64 != std::floor(v * 64); };
  for (const Value& value : graph.values())
    for (int64_t i = 0; !value.known.empty() && i < std::min<int64_t>(8, value.known.n_elements());
         ++i)
      if (is_float(value.known.element()) && rounded(value.known.at_f64(i))) return true;
  for (const Node& node : graph.nodes()) {
    for (size_t slot = 0; slot < node.attributes.size(); ++slot)
      if (rounded(node.attributes[slot].f)) return true;
    for (const Body& body : node.bodies)
      if (has_rounded_numbers(*body)) return true;
  }
  return false;
}

// The shape depends on numbers that are not known exactly.
bool is_uncertain(const Graph& graph, size_t output, const Expected& want) {
  if (graph.shape(graph.outputs()[output].value).is_exact()) return false;
  for (double bound : want.bound)
    if (bound > 0) return true;
  return want.bound.empty();
}

// Elements for which the walk in double went another way than the rounded evaluation, as where a
// comparison is a matter of the last digit: the walk's bounds say nothing there.
void leave_out(const std::vector<Tensor>& rounded, std::vector<Expected>& want) {
  for (size_t r = 0; r < want.size(); ++r) {
    Expected& y = want[r];
    if (rounded[r].type() != y.type) {
      std::fill(y.bound.begin(), y.bound.end(), INFINITY);
      continue;
    }
    for (int64_t i = 0; i < rounded[r].n_elements(); ++i) {
      Expected one{{y.type.type, {}}, {}, {y.bound[size_t(i)]}, Tensor({y.type.type, {}})};
      Tensor element({y.type.type, {}});
      const auto width = size_t(size_bytes(y.type.type));
      std::memcpy(one.exact.mutable_data(), y.exact.bytes().data() + size_t(i) * width, width);
      std::memcpy(element.mutable_data(), rounded[r].bytes().data() + size_t(i) * width, width);
      if (!y.value.empty()) one.value = {y.value[size_t(i)]};
      if (conformance::judge(element, one, FRL_FP_LOSES_ZERO_SIGN).verdict !=
          conformance::Verdict::pass)
        y.bound[size_t(i)] = INFINITY;
    }
  }
}

// What may come out of the sample's graph; evaluated once in double and once as it is.
Result<std::vector<Expected>> expect_rounded(const Sample& sample, const DeviceRow& row) {
  FRL_LET(auto want, expect_of(sample, row));
  FRL_LET(const auto rounded, evaluate(sample.graph, sample.inputs));
  leave_out(rounded, want);
  return want;
}

Status place_and_fuse(Graph& graph, const Setting& setting, FuseReport* all) {
  if (setting.canonical)
    FRL_TRY(canonicalise(graph, setting.options, *all, nullptr, &setting.devices[0]));
  for (size_t i = 0; i < graph.n_nodes(); ++i)
    graph.node(NodeId(i)).device = setting.placed[i % setting.placed.size()];
  const auto refuse = [&](const Block& block) {
    return block.key() % setting.refuses ? Refusal() : Refusal{Code::no_benefit, "not today"};
  };
  for (size_t d = 0; d < setting.devices.size(); ++d) {
    FRL_LET(FuseReport report,
            setting.refuses ? fuse(graph, setting.devices[d], int32_t(d), setting.options, refuse)
                            : fuse(graph, setting.devices[d], int32_t(d), setting.options));
    std::move(report.passes.begin(), report.passes.end(), std::back_inserter(all->passes));
    std::move(report.candidates.begin(), report.candidates.end(),
              std::back_inserter(all->candidates));
  }
  return {};
}

std::string check_signature(const Graph& before, const Graph& after) {
  if (before.outputs().size() != after.outputs().size())
    return cat("outputs: want ", before.outputs().size(), ", got ", after.outputs().size());
  for (size_t i = 0; i < before.outputs().size(); ++i) {
    const Output &want = before.outputs()[i], &got = after.outputs()[i];
    if (want.name != got.name) return cat("output ", i, ": want ", want.name, ", got ", got.name);
    if (got.absent && !want.droppable) return cat("output ", want.name, ": absent, not droppable");
    const TensorType &a = before.type(want.value), &b = after.type(got.value);
    if (!got.absent && (a.type != b.type || a.shape.extents() != b.shape.extents()))
      return cat("output ", want.name, ": want ", to_string(a), ", got ", to_string(b));
  }
  return {};
}

// All that a device would be given.
std::vector<Block> blocks_of(const Graph& graph) {
  std::vector<Block> out;
  for (const Node& node : graph.nodes()) {
    const std::vector<Placed> operands(node.operands.size()), results(node.results.size());
    auto block = encode_region(graph, node, operands, results, FRL_COMPUTE_IEEE);
    if (block.ok()) out.push_back(std::move(*block));
  }
  return out;
}

}  // namespace

Status real_passes(Graph& graph, const Setting& setting, Tally* tally) {
  FuseReport report;
  FRL_TRY(place_and_fuse(graph, setting, &report));
  if (!tally) return {};
  for (const PassRecord& record : report.passes) tally->changed[record.name] += record.changed;
  for (const Candidate& candidate : report.candidates)
    tally->accepted[candidate.pass] += candidate.accepted;
  return {};
}

// Pieces of what is nearly denormal are lost on devices.
constexpr double kTiny = 0x1p-100;

Finding compare(const Sample& sample, const Graph& form, std::span<const Tensor> got,
                const DeviceRow& row, bool on_device, Tally* tally) {
  const auto want = expect_rounded(sample, row);
  if (!want.ok()) return {false, {}};
  const auto formed = expect_rounded({form, sample.inputs}, row);
  if (!formed.ok()) return fault("form: " + formed.status().message());
  // Functions that cancel are as exact as their largest values, which a trial does not see.
  const std::set<size_t> tried = behind_control(sample.graph);
  const double f64_factor = has_rounded_numbers(sample.graph) ? 0x1p29 : 1;
  for (size_t i = 0; i < want->size(); ++i) {
    const double factor = (*want)[i].type.type == Type::f64 ? 2 * f64_factor : 2;
    if (form.outputs()[i].absent) continue;
    Expected both = (*want)[i];
    if (is_uncertain(sample.graph, i, both)) continue;
    const double floor = on_device && tried.count(i) && !both.value.empty()
                             ? 4 * conformance::format_of(both.type.type).eps()
                             : conformance::kLooseZero;
    const double least = on_device ? std::max(floor, kTiny) : floor;
    for (size_t k = 0; k < both.bound.size() && k < (*formed)[i].bound.size(); ++k) {
      const double sum = both.bound[k] + (*formed)[i].bound[k];
      both.bound[k] = both.value.empty() || sum == 0 ? sum : factor * sum + least;
    }
    const auto outcome = conformance::judge(got[i], both, FRL_FP_LOSES_ZERO_SIGN);
    if (tally) tally->elements += both.bound.size(), tally->judged += outcome.judged;
    if (outcome.verdict != conformance::Verdict::pass)
      return fault(cat("output ", sample.graph.outputs()[i].name, ": ", outcome.text));
  }
  return {};
}

Finding check_passes(const Sample& sample, const Setting& setting, const Passes& passes,
                     Tally* tally) {
  if (const Status status = verify(sample.graph); !status.ok())
    return fault("before: " + status.message());
  if (!evaluate(sample.graph, sample.inputs).ok()) return {false, {}};
  Graph graph = sample.graph;
  if (const Status s = passes(graph, setting, tally); !s.ok())
    return fault("passes: " + s.message());
  if (const Status s = verify(graph); !s.ok()) return fault("verify: " + s.message());
  if (std::string text = check_signature(sample.graph, graph); !text.empty()) return fault(text);
  const auto got = evaluate(graph, sample.inputs);
  if (!got.ok()) return fault("evaluate: " + got.status().message());
  Finding finding = compare(sample, graph, *got, reference_row(), false, tally);
  if (!finding.fault.empty()) return finding;
  Graph again = sample.graph;
  if (const Status s = passes(again, setting, nullptr); !s.ok())
    return fault("again: " + s.message());
  if (to_text(again) != to_text(graph)) return fault("the same graph twice: the text differs");
  if (blocks_of(again) != blocks_of(graph)) return fault("the same graph twice: blocks differ");
  return finding;
}

}  // namespace ferrule::property
