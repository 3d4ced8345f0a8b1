// explain as text.
#include <algorithm>
#include <cstdio>
#include <set>

#include "core/base/text.h"
#include "core/cost/calibration.h"
#include "tools/ferrule/report.h"

namespace ferrule::cli {
namespace {

constexpr size_t kMostRejected = 40;

std::string microseconds(int64_t ps) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f us", double(ps) / 1e6);
  return text;
}

std::string mebibytes(uint64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f MiB", double(bytes) / (1 << 20));
  return text;
}

void append_regions(std::string& out, const Executable& executable, const std::string& indent) {
  const Graph& graph = executable.graph();
  for (size_t i = 0; i < graph.n_nodes(); ++i) {
    const Node& node = graph.node(NodeId(i));
    const auto& bodies = executable.bodies(NodeId(i));
    if (!executable.kernel(NodeId(i)) && bodies.empty()) continue;
    const char* device =
        node.device < 0 ? "plan" : executable.report().targets[size_t(node.device)].c_str();
    out +=
        cat(indent, device, "  ", op_row(node.op).name,
            node.bodies.size() == 1 && op_row(node.op).form == Form::open
                ? cat("[", node.bodies[0]->n_nodes(), "]")
                : "",
            "  ", to_string(graph.type(node.results[0])), "  from ", graph.source_text(node), "\n");
    for (const auto& body : bodies) {
      out += cat(indent, "  body\n");
      append_regions(out, *body, indent + "    ");
    }
  }
}

std::set<std::string> names_of(const Candidate& candidate) {
  std::set<std::string> out;
  const std::string& text = candidate.nodes;
  for (size_t at = 0, end; at < text.size(); at = end + 2) {
    end = std::min(text.find(", ", at), text.size());
    out.insert(text.substr(at, end - at));
  }
  return out;
}

void append_fusions(std::string& out, const Executable& executable) {
  std::vector<const Candidate*> missed;
  size_t n_accepted = 0;
  for (const FuseReport& report : executable.report().fusion) {
    const auto some = missed_fusions(report);
    missed.insert(missed.end(), some.begin(), some.end());
    for (const Candidate& c : report.candidates) n_accepted += c.accepted;
  }
  out += cat("fused (", n_accepted, ")\n");
  for (const FuseReport& report : executable.report().fusion)
    for (const Candidate& c : report.candidates)
      if (c.accepted)
        out += cat("  ", c.kind, "  predicted ", microseconds(c.before_ps), " -> ",
                   microseconds(c.after_ps), ", ", c.launches_saved, " launches and ",
                   c.bytes_saved / 1024, " KiB saved  ", c.nodes, "\n");
  out += cat("not fused (", missed.size(), ")\n");
  const size_t shown = std::min(missed.size(), kMostRejected);
  for (const Candidate* c : std::span(missed).first(shown))
    out += cat("  ", c->pass, "  ", c->nodes, ": ", c->reason,
               c->before_ps ? cat(" (predicted ", microseconds(c->before_ps), " -> ",
                                  microseconds(c->after_ps), ")")
                            : "",
               "\n");
  if (missed.size() > shown)
    out += cat("  and ", missed.size() - shown, " more (--format json has all)\n");
}

// Those that changed something and those that are off, a line each; the others in one.
void append_passes(std::string& out, const std::string& of, const FuseReport& report) {
  out += cat("passes of ", of, "\n");
  std::string idle;
  for (const PassRecord& pass : report.passes) {
    if (!pass.on)
      out += cat("  off  ", pass.name, "  ", pass.why_off, "\n");
    else if (pass.changed)
      out +=
          cat("  on   ", pass.name, "  ", pass.nodes_before, " -> ", pass.nodes_after, " nodes\n");
    else
      idle += cat(idle.empty() ? "" : ", ", pass.name);
  }
  if (!idle.empty()) out += cat("  on, without effect:  ", idle, "\n");
}

std::string price(const Option& option) {
  if (option.support == Support::refused) return option.refusal.text;
  return cat(
      microseconds(option.time_ps),
      option.transfer_ps ? cat(" + ", microseconds(option.transfer_ps), " of transfers") : "");
}

// How many nodes each device runs; where there is a choice, what each would have cost elsewhere.
void append_placement(std::string& out, const Session& session, const Executable& executable) {
  constexpr size_t kMostNodes = 12;  // of one device
  const Placement& placement = executable.report().placement;
  const auto& targets = session.context().targets;
  out += cat("placement  predicted ", microseconds(placement.predicted_ps), "\n");
  for (size_t t = 0; t < targets.size(); ++t) {
    std::vector<const PlacedNode*> here;
    for (const PlacedNode& node : placement.nodes)
      if (!node.view && node.device == int32_t(t)) here.push_back(&node);
    out += cat("  ", targets[t].id, "  ", here.size(), here.size() == 1 ? " node" : " nodes",
               targets[t].also ? ", by targets.also" : "", "\n");
    if (targets.size() == 1) continue;
    for (size_t i = 0; i < std::min(here.size(), kMostNodes); ++i) {
      out += cat("    ", here[i]->nodes, " as ", here[i]->op, ": ", price(here[i]->options[t]));
      for (size_t other = 0; other < targets.size(); ++other)
        if (other != t) out += cat("; ", targets[other].id, ": ", price(here[i]->options[other]));
      out += "\n";
    }
    if (here.size() > kMostNodes)
      out += cat("    and ", here.size() - kMostNodes, " more (--format json has all)\n");
  }
}

// Whose constants the gate and the placement went by.
void append_rates(std::string& out, const Session& session) {
  const CompileContext& context = session.context();
  out += cat("gate  ", gate_mode_name(context.options.gate.mode), "\n");
  for (const Target& target : context.targets) {
    out += cat("  ", target.id, "  rates: ", target.rates,
               target.estimate ? ", and its own estimate of a region" : "", "\n");
    for (const auto& [name, ps] : cost_rates(target.row->cost))
      out += cat("    ", name, " ", ps, "\n");
  }
}

}  // namespace

std::vector<const Candidate*> missed_fusions(const FuseReport& report) {
  std::vector<std::set<std::string>> taken;
  for (const Candidate& c : report.candidates)
    if (c.accepted) taken.push_back(names_of(c));
  std::vector<const Candidate*> out;
  for (const Candidate& c : report.candidates) {
    const std::set<std::string> names = names_of(c);
    const bool elsewhere = std::ranges::any_of(
        taken, [&](const auto& fusion) { return std::ranges::includes(fusion, names); });
    if (!c.accepted && !elsewhere) out.push_back(&c);
  }
  return out;
}

std::string explain_text(const Session& session, const Executable& executable) {
  std::string out = "plugins\n";
  for (const Verdict& v : session.runtime().verdicts())
    out += v.loaded() ? cat("  loaded   ", v.id, " ", v.version, "  ", v.path, "\n")
                      : cat("  refused  ", v.path, " at ", stage_name(v.stage), ": ",
                            v.status.message(), "\n");
  out += "devices\n";
  for (const DeviceEntry& entry : session.runtime().devices())
    out +=
        cat("  ", entry.id,
            entry.row().state == FRL_DEVICE_PRESENT ? "" : cat(" (", entry.row().reason_text, ")"),
            "\n");
  append_passes(out, "any device", executable.report().canonical);
  const auto& fusion = executable.report().fusion;
  for (size_t t = 0; t < fusion.size(); ++t)
    append_passes(out, session.context().targets[t].id, fusion[t]);
  append_placement(out, session, executable);
  out += "regions\n";
  append_regions(out, executable, "  ");
  append_fusions(out, executable);
  append_rates(out, session);
  const Plan& plan = executable.plan();
  out += cat("plan  ", plan.steps.size(), " steps, arena ", mebibytes(plan.planned_bytes()),
             " (at least ", mebibytes(plan.live_bytes), " alive at once), ", plan.packs.size(),
             " packs\n");
  return out;
}

}  // namespace ferrule::cli
