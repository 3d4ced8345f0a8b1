// explain as JSON, HTML and dot.
#include "core/base/text.h"
#include "core/cost/calibration.h"
#include "tools/ferrule/print.h"
#include "tools/ferrule/report.h"

namespace ferrule::cli {
namespace {

const char* support_name(Support support) {
  constexpr const char* kNames[] = {"native", "decomposed", "refused"};
  return kNames[size_t(support)];
}

std::string device_of(const Executable& executable, const Node& node) {
  return node.device < 0 ? "plan" : executable.report().targets[size_t(node.device)];
}

std::string regions_json(const Executable& executable) {
  const Graph& graph = executable.graph();
  std::string out = "[";
  for (size_t i = 0; i < graph.n_nodes(); ++i) {
    const Node& node = graph.node(NodeId(i));
    const auto& bodies = executable.bodies(NodeId(i));
    if (!executable.kernel(NodeId(i)) && bodies.empty()) continue;
    out += cat(out.size() > 1 ? ",\n  " : "\n  ",
               "{\"device\": ", json_quote(device_of(executable, node)), ", \"kind\": \"",
               op_row(node.op).name, "\", \"members\": [");
    if (op_row(node.op).form == Form::open)
      for (const Node& member : node.bodies[0]->nodes())
        out += cat(out.back() == '[' ? "" : ", ", "\"", op_row(member.op).name, "\"");
    out += cat("], \"result\": \"", to_string(graph.type(node.results[0])), "\", \"nodes\": [");
    for (SourceId id : node.sources)
      out += cat(out.back() == '[' ? "" : ", ", "{\"name\": ", json_quote(graph.source(id).name),
                 ", \"op\": ", json_quote(graph.source(id).op), "}");
    out += "]";
    if (!bodies.empty()) {
      out += ", \"bodies\": [";
      for (const auto& body : bodies)
        out += cat(out.back() == '[' ? "" : ", ", regions_json(*body));
      out += "]";
    }
    out += "}";
  }
  return out + "]";
}

std::string passes_json(const FuseReport& report) {
  std::string out = "[";
  for (const PassRecord& p : report.passes)
    out += cat(out.size() > 1 ? ",\n  " : "\n  ", "{\"name\": \"", p.name, "\", \"on\": ", p.on,
               ", \"why_off\": ", json_quote(p.why_off), ", \"changed\": ", p.changed,
               ", \"time_ns\": ", p.time_ns, ", \"nodes_before\": ", p.nodes_before,
               ", \"nodes_after\": ", p.nodes_after, "}");
  return out + "]";
}

std::string candidates_json(const Executable& executable) {
  std::string out = "[";
  for (size_t t = 0; t < executable.report().fusion.size(); ++t)
    for (const Candidate& c : executable.report().fusion[t].candidates)
      out += cat(out.size() > 1 ? ",\n  " : "\n  ",
                 "{\"device\": ", json_quote(executable.report().targets[t]), ", \"pass\": \"",
                 c.pass, "\", \"kind\": \"", c.kind, "\", \"nodes\": ", json_quote(c.nodes),
                 ", \"accepted\": ", c.accepted, ", \"reason\": ", json_quote(c.reason),
                 ", \"before_ps\": ", c.before_ps, ", \"after_ps\": ", c.after_ps,
                 ", \"bytes_saved\": ", c.bytes_saved, ", \"launches_saved\": ", c.launches_saved,
                 "}");
  return out + "]";
}

std::string placement_json(const Executable& executable) {
  std::string out = "[";
  for (const PlacedNode& node : executable.report().placement.nodes) {
    out +=
        cat(out.size() > 1 ? ",\n  " : "\n  ", "{\"nodes\": ", json_quote(node.nodes),
            ", \"op\": \"", node.op, "\", \"device\": ",
            json_quote(node.device < 0 ? "plan" : executable.report().targets[size_t(node.device)]),
            ", \"options\": [");
    for (size_t t = 0; t < node.options.size(); ++t)
      out += cat(t ? ", " : "", "{\"device\": ", json_quote(executable.report().targets[t]),
                 ", \"support\": \"", support_name(node.options[t].support),
                 "\", \"reason\": ", json_quote(node.options[t].refusal.text),
                 ", \"time_ps\": ", node.options[t].time_ps,
                 ", \"transfer_ps\": ", node.options[t].transfer_ps, "}");
    out += "]}";
  }
  return out + "]";
}

std::string html_text(std::string_view text) {
  std::string out;
  for (char c : text)
    out += c == '<'   ? "&lt;"
           : c == '>' ? "&gt;"
           : c == '&' ? "&amp;"
           : c == '"' ? "&quot;"
                      : std::string(1, c);
  return out;
}

std::string microseconds(int64_t ps) {
  return ps ? number_text(double(ps / 10000) / 100) : std::string();
}

constexpr const char* kStyle =
    "body{font:14px/1.45 system-ui,sans-serif;margin:2rem "
    "auto;max-width:72rem;color:#222}h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}"
    "table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:.25rem "
    ".6rem;border-bottom:1px solid #ddd;vertical-align:top}"
    "th{background:#f4f4f4}.no{color:#a33}.yes{color:#283}.n{text-align:right;font-variant-numeric:"
    "tabular-nums}";

std::string target_rates_json(const std::vector<Target>& targets) {
  std::string out = "[";
  for (const Target& target : targets)
    out += cat(out.size() > 1 ? ", " : "", "{\"target\": ", json_quote(target.id),
               ", \"from\": ", json_quote(target.rates), ", \"estimate\": ", bool(target.estimate),
               ", \"ps\": ", rates_json(target.row->cost), "}");
  return out + "]";
}

std::string devices_json(const Session& session) {
  std::string out = "[";
  for (const DeviceEntry& entry : session.runtime().devices())
    out += cat(out.size() > 1 ? ", " : "", "{\"id\": ", json_quote(entry.id),
               ", \"present\": ", entry.row().state == FRL_DEVICE_PRESENT,
               ", \"reason\": ", json_quote(entry.row().reason_text), "}");
  return out + "]";
}

std::string devices_html(const Session& session) {
  std::string out = "</table><h2>Devices</h2><table><tr><th>device<th>by<th>state</tr>";
  for (const DeviceEntry& entry : session.runtime().devices())
    out += cat(
        "<tr><td>", html_text(entry.id), "<td>", html_text(entry.driver->id()), "<td>",
        entry.row().state == FRL_DEVICE_PRESENT ? "present" : html_text(entry.row().reason_text),
        "</tr>");
  return out;
}

// "native", or why not.
std::string option_text(const Option& option) {
  return option.support == Support::refused ? option.refusal.text : support_name(option.support);
}

std::string placement_html(const Executable& executable) {
  const CompileReport& report = executable.report();
  std::string out =
      "</table><h2>Placement</h2><table><tr><th>nodes<th>op<th>device<th>could run on<th>as<th "
      "class=n>time, us<th class=n>transfers, us</tr>";
  for (const PlacedNode& node : report.placement.nodes) {
    if (node.view || node.options.empty()) continue;
    const std::string device = node.device < 0 ? "plan" : report.targets[size_t(node.device)];
    const std::string begin =
        cat("<tr><td>", html_text(node.nodes), "<td>", node.op, "<td>", html_text(device), "<td>");
    for (size_t t = 0; t < node.options.size(); ++t)
      out +=
          cat(begin, html_text(report.targets[t]), "<td>", html_text(option_text(node.options[t])),
              "<td class=n>", microseconds(int64_t(node.options[t].time_ps)), "<td class=n>",
              microseconds(int64_t(node.options[t].transfer_ps)), "</tr>");
  }
  return out;
}

std::string passes_html(const Executable& executable) {
  const CompileReport& report = executable.report();
  std::string out =
      "</table><h2>Passes</h2><table><tr><th>device<th>pass<th>state<th class=n>nodes "
      "before<th class=n>after</tr>";
  const auto rows = [&](const std::string& of, const FuseReport& fusion) {
    for (const PassRecord& pass : fusion.passes)
      out += cat("<tr><td>", html_text(of), "<td>", pass.name, "<td>",
                 pass.on ? pass.changed ? "on" : "on, without effect" : html_text(pass.why_off),
                 "<td class=n>", pass.changed ? cat(pass.nodes_before) : "", "<td class=n>",
                 pass.changed ? cat(pass.nodes_after) : "", "</tr>");
  };
  rows("any", report.canonical);
  for (size_t t = 0; t < report.fusion.size(); ++t) rows(report.targets[t], report.fusion[t]);
  return out;
}

std::string rates_html(const std::vector<Target>& targets) {
  std::string out =
      "</table><h2>Rates</h2><table><tr><th>device<th>from<th>rate<th class=n>ps</tr>";
  for (const Target& target : targets)
    for (const auto& [name, ps] : cost_rates(target.row->cost))
      out += cat("<tr><td>", html_text(target.id), "<td>", html_text(target.rates), "<td>", name,
                 "<td class=n>", ps, "</tr>");
  return out;
}

}  // namespace

std::string rates_json(const Cost& cost) {
  std::string out = "{";
  for (const auto& [name, ps] : cost_rates(cost))
    out += cat(out.size() > 1 ? ", " : "", json_quote(name), ": ", ps);
  return out + "}";
}

std::string explain_json(const Session& session, const Executable& executable) {
  std::string out = "{\"plugins\": [";
  for (const Verdict& v : session.runtime().verdicts())
    out += cat(out.back() == '[' ? "" : ", ", "{\"path\": ", json_quote(v.path),
               ", \"id\": ", json_quote(v.id), ", \"loaded\": ", v.loaded(),
               ", \"text\": ", json_quote(v.status.message()), "}");
  out += cat("],\n \"devices\": ", devices_json(session),
             ",\n \"canonical_passes\": ", passes_json(executable.report().canonical),
             ",\n \"passes\": [");
  for (const FuseReport& report : executable.report().fusion)
    out += cat(out.back() == '[' ? "" : ", ", passes_json(report));
  const Plan& plan = executable.plan();
  out +=
      cat("],\n \"predicted_ps\": ", executable.report().placement.predicted_ps,
          ",\n \"placement\": ", placement_json(executable),
          ",\n \"regions\": ", regions_json(executable),
          ",\n \"candidates\": ", candidates_json(executable), ",\n \"gate\": \"",
          gate_mode_name(session.context().options.gate.mode),
          "\",\n \"rates\": ", target_rates_json(session.context().targets),
          ",\n \"plan\": {\"steps\": ", plan.steps.size(),
          ", \"planned_bytes\": ", plan.planned_bytes(), ", \"live_bytes\": ", plan.live_bytes,
          ", \"packs\": ", plan.packs.size(), "},\n \"compile_ns\": ", executable.report().total_ns,
          ", \"place_ns\": ", executable.report().place_ns,
          ", \"kernels_ns\": ", executable.report().kernels_ns,
          ", \"plan_ns\": ", executable.report().plan_ns, "}\n");
  return out;
}

std::string explain_html(const Session& session, const Executable& executable) {
  const Graph& graph = executable.graph();
  const Plan& plan = executable.plan();
  std::string out = cat(
      "<!doctype html><meta charset=\"utf-8\"><title>ferrule explain</title><style>", kStyle,
      "</style><h1>", html_text(graph.name()), "</h1><p>Gate ",
      gate_mode_name(session.context().options.gate.mode), ", predicted ",
      microseconds(executable.report().placement.predicted_ps), " us; plan of ", plan.steps.size(),
      " steps, arena of ", plan.planned_bytes(), " bytes, ", plan.packs.size(), " packs.</p>");
  out += "<h2>Plugins</h2><table><tr><th>file<th>verdict</tr>";
  for (const Verdict& v : session.runtime().verdicts())
    out += cat("<tr><td>", html_text(v.path),
               "<td class=", v.loaded() ? "yes>loaded" : cat("no>", html_text(v.status.message())),
               "</tr>");
  out += devices_html(session) + placement_html(executable);
  out += "</table><h2>Regions</h2><table><tr><th>device<th>kind<th>result<th>from</tr>";
  for (size_t i = 0; i < graph.n_nodes(); ++i) {
    const Node& node = graph.node(NodeId(i));
    if (!executable.kernel(NodeId(i)) && executable.bodies(NodeId(i)).empty()) continue;
    out += cat("<tr><td>", html_text(device_of(executable, node)), "<td>", op_row(node.op).name,
               "<td>", html_text(to_string(graph.type(node.results[0]))), "<td>",
               html_text(graph.source_text(node)), "</tr>");
  }
  out +=
      "</table><h2>Fusions that were considered</h2><table><tr><th>kind<th>nodes<th>answer<th "
      "class=n>before, us<th class=n>after, us</tr>";
  const auto row = [&](const Candidate& c) {
    out += cat("<tr><td>", c.kind.empty() ? c.pass : c.kind, "<td>", html_text(c.nodes),
               "<td class=", c.accepted ? "yes>fused" : cat("no>", html_text(c.reason)),
               "<td class=n>", microseconds(c.before_ps), "<td class=n>", microseconds(c.after_ps),
               "</tr>");
  };
  for (const FuseReport& report : executable.report().fusion) {
    for (const Candidate& c : report.candidates)
      if (c.accepted) row(c);
    for (const Candidate* c : missed_fusions(report)) row(*c);
  }
  out += passes_html(executable);
  return out + rates_html(session.context().targets) + "</table>\n";
}

namespace {

// A dot string: json_quote escapes more than dot knows.
std::string dot_quote(std::string_view text) {
  std::string out = "\"";
  for (const char c : printable(text, true))
    out += c == '"' ? "\\\"" : c == '\\' ? "\\\\" : c == '\n' ? "\\n" : std::string(1, c);
  return out + "\"";
}

}  // namespace

std::string explain_dot(const Session&, const Executable& executable) {
  const Graph& graph = executable.graph();
  std::string out = "digraph ferrule {\n  node [shape=box, fontname=sans];\n";
  for (size_t i = 0; i < graph.n_nodes(); ++i) {
    const Node& node = graph.node(NodeId(i));
    out +=
        cat("  n", i, " [label=",
            dot_quote(cat(op_row(node.op).name, "\n", device_of(executable, node), "\n",
                          to_string(graph.type(node.results[0])), "\n", graph.source_text(node))),
            "];\n");
    for (ValueId operand : node.operands) {
      if (operand == kNoValue || graph.known(operand)) continue;
      const Value& value = graph.value(operand);
      if (value.maker != kNoNode)
        out += cat("  n", index(value.maker), " -> n", i, ";\n");
      else
        out += cat("  ", dot_quote(value.name), " -> n", i, ";\n");
    }
  }
  for (const Output& output : graph.outputs())
    if (graph.value(output.value).maker != kNoNode)
      out += cat("  n", index(graph.value(output.value).maker), " -> ",
                 dot_quote("out: " + output.name), ";\n");
  return out + "}\n";
}

}  // namespace ferrule::cli
