#include "tools/ferrule/fusion_table.h"

#include <algorithm>
#include <cmath>

#include "core/base/text.h"
#include "tools/ferrule/compare.h"
#include "tools/ferrule/fusion_cases.h"
#include "tools/ferrule/timing.h"

namespace ferrule::cli {
namespace {

constexpr int64_t kMostReferenceFlops = 20'000'000;  // of a check by the reference evaluation
constexpr double kTolerance = 1e-3;                  // of the largest element
constexpr double kDiffers = 1.05, kDear = 1.10;      // design: what counts, what is too much

struct Line {
  const FusionCase* row = nullptr;
  std::string shape;
  std::string why_not;  // neither side was timed
  double fused_us = 0, unfused_us = 0;
  int64_t predicted_before_ps = 0, predicted_after_ps = 0;
  bool chooses_fused = false;
  std::string reason;  // of a choice not to

  double ratio() const { return unfused_us / fused_us; }
  bool differs() const { return std::max(ratio(), 1 / ratio()) > kDiffers; }
  bool fused_is_faster() const { return ratio() > 1; }
  // The chosen side's time over the other's, where it is slower.
  double loss() const { return chooses_fused ? 1 / ratio() : ratio(); }
  bool right() const { return loss() <= 1; }
};

bool is_optional(const Pass& pass) {
  const std::string_view name = pass.name;
  return !pass.mandatory && (name.starts_with("fuse_") || name.starts_with("mark_"));
}

CompileContext context_for(const CompileContext& device, const FusionCase& row, bool fused,
                           GateMode mode) {
  CompileContext out = device;
  out.options.gate.mode = mode;
  const auto with = split(row.with, ' ');
  for (const Pass* pass : all_passes()) {
    const bool kept = std::find(with.begin(), with.end(), pass->name) != with.end() ||
                      (fused && std::string_view(pass->name) == row.pass);
    if (is_optional(*pass) && !kept) out.options.passes_off.insert(pass->name);
  }
  return out;
}

double largest(const Tensor& tensor) {
  double out = 0;
  for (int64_t i = 0; i < tensor.n_elements(); ++i)
    out = std::max(out, std::fabs(tensor.at_f64(i)));
  return out;
}

// Against the reference where that is not too much work, else one side against the other.
Status check_numbers(const Graph& graph, const Runnable& fused, const Runnable& unfused) {
  int64_t flops = 0;
  for (const Node& node : graph.nodes()) flops += count_flops(graph, node);
  std::vector<Tensor> want = unfused.outputs;
  if (flops <= kMostReferenceFlops) {
    FRL_LET(want, evaluate(graph, unfused.inputs));
  }
  for (const Runnable* side : {&fused, &unfused})
    for (size_t i = 0; i < want.size(); ++i) {
      const Comparison found =
          compare(side->outputs[i], want[i], kTolerance, kTolerance * largest(want[i]));
      if (!found.equal)
        return Status(Code::internal, cat(side == &fused ? "fused" : "unfused", ": output ", i,
                                          ": want the reference's numbers, ", found.text));
    }
  return {};
}

// What the gate says; the sums over the pass's candidates.
void predict(const FuseReport& report, Line& line) {
  for (const Candidate& c : report.candidates) {
    if (c.pass != line.row->pass) continue;
    line.predicted_before_ps += c.before_ps, line.predicted_after_ps += c.after_ps;
    line.chooses_fused |= c.accepted;
    if (!c.accepted) line.reason = c.reason;
  }
}

std::string refusal_of(const FuseReport& report, const char* pass) {
  for (const PassRecord& record : report.passes)
    if (record.name == pass && !record.on) return record.why_off;
  std::string reason = "no candidate";
  for (const Candidate& c : report.candidates) {
    if (c.pass != pass) continue;
    if (c.accepted) return {};
    reason = c.reason;
  }
  return reason;
}

Result<Line> measure(const CompileContext& device, Clock clock, const FusionCase& row,
                     const std::string& shape, int64_t samples) {
  Line line;
  line.row = &row, line.shape = shape;
  FRL_LET(const Graph graph, parse_graph(instance(row, shape)));
  const GateMode mode = device.options.gate.mode;
  auto fused = make_runnable(graph, context_for(device, row, true, GateMode::always));
  line.why_not = fused.ok() ? refusal_of(fused->executable->report().fusion[0], row.pass)
                            : fused.status().message();
  if (!line.why_not.empty()) return line;
  FRL_LET(Runnable unfused,
          make_runnable(graph, context_for(device, row, false, GateMode::always)));
  FRL_LET(const auto gated, compile_graph(graph, context_for(device, row, true, mode)));
  predict(gated->report().fusion[0], line);
  FRL_TRY(check_numbers(graph, *fused, unfused));
  FRL_LET(const auto times, time_in_turn_us({&*fused, &unfused}, clock, samples));
  line.fused_us = times[0], line.unfused_us = times[1];
  return line;
}

// ---- writing ----

std::string text_of(const Line& line) {
  if (!line.why_not.empty())
    return cat("| ", line.row->pass, " | ", line.row->name, " | ", line.shape,
               " | not fused: ", line.why_not, " |\n");
  return format("| %s | %s | %s | %.2f | %.2f | %.3f | %+.2f | %s | %s |\n", line.row->pass,
                line.row->name, line.shape.c_str(), line.fused_us, line.unfused_us, line.ratio(),
                double(line.predicted_before_ps - line.predicted_after_ps) / 1e6,
                line.chooses_fused ? "fuse" : "leave",
                !line.differs() ? "same"
                : line.right()  ? "right"
                                : "WRONG");
}

std::string json_of(const Line& line) {
  return cat("{\"pass\": ", json_quote(line.row->pass), ", \"name\": ", json_quote(line.row->name),
             ", \"shape\": ", json_quote(line.shape), ", \"why_not\": ", json_quote(line.why_not),
             ", \"fused_us\": ", line.fused_us, ", \"unfused_us\": ", line.unfused_us,
             ", \"predicted_unfused_us\": ", double(line.predicted_before_ps) / 1e6,
             ", \"predicted_fused_us\": ", double(line.predicted_after_ps) / 1e6,
             ", \"choice\": ", line.chooses_fused ? "\"fuse\"" : "\"leave\"",
             ", \"reason\": ", json_quote(line.reason), "}");
}

std::string summary_of(const std::vector<Line>& lines, const std::string& target) {
  size_t n = 0, n_differ = 0, n_right = 0, n_slower = 0;
  double worst = 1;
  for (const Line& line : lines) {
    if (!line.why_not.empty()) continue;
    ++n;
    n_slower += line.differs() && !line.fused_is_faster();
    n_differ += line.differs(), n_right += line.differs() && line.right();
    worst = std::max(worst, line.loss());
  }
  return format(
      "%s: %zu pairs, %zu differ by more than 5 %% (%zu of them are faster unfused); the "
      "gate chose the faster side in %zu (%.1f %%); it never costs more than %.1f %%%s\n",
      target.c_str(), n, n_differ, n_slower, n_right,
      100 * double(n_right) / double(std::max<size_t>(1, n_differ)), 100 * (worst - 1),
      worst > kDear ? " (want 10 %)" : "");
}

Result<std::vector<Line>> measure_all(const CompileContext& device, const Arguments& arguments) {
  FRL_LET(const Clock clock,
          clock_of(device, arguments.has("--processor-time") ? Clock::processor : Clock::wall));
  FRL_LET(const int64_t pairs, arguments.integer("--repeat", 31, 3));
  const std::string only = arguments.text("--only");
  std::vector<Line> lines;
  Progress progress;
  for (const FusionCase& row : fusion_cases()) {
    if (cat(row.pass, " ", row.name).find(only) == std::string::npos) continue;
    for (const char* shape : row.shapes) {
      progress.show(cat(row.pass, " ", row.name, " ", shape));
      auto line = measure(device, clock, row, shape, pairs);
      if (!line.ok())
        return std::move(line).within(cat(row.pass, " ", row.name, " ", shape)).status();
      lines.push_back(std::move(*line));
    }
  }
  if (!lines.empty()) return lines;
  return Status(Code::invalid_argument,
                cat("--only: want a part of the name of a pass or case, got ", only));
}

}  // namespace

Result<int> run_fusion_table(const Arguments& arguments) {
  FRL_LET(const auto runtime, open_runtime(arguments));
  FRL_LET(const CompileContext all, make_compile_context(*runtime));
  const bool json = arguments.has("--json");
  std::string documents;
  for (size_t target = 0; target < all.targets.size(); ++target) {
    FRL_LET(const auto lines, measure_all(for_target(all, target), arguments));
    std::string text =
        "| pass | case | shape | fused us | unfused us | ratio | predicted gain us | gate | "
        "verdict |\n|---|---|---|---|---|---|---|---|---|\n";
    std::string document =
        cat("{\"target\": ", json_quote(all.targets[target].id),
            ", \"rates\": ", json_quote(all.targets[target].rates), ", \"lines\": [");
    for (const Line& line : lines) {
      text += text_of(line);
      document += cat(&line == &lines[0] ? "\n " : ",\n ", json_of(line));
    }
    documents += cat(documents.empty() ? "" : ",\n", document, "\n]}");
    if (!json) print_text(cat(text, "\n", summary_of(lines, all.targets[target].id)));
  }
  if (json) print(cat("{\"targets\": [", documents, "]}\n"));
  return kFine;
}

}  // namespace ferrule::cli
