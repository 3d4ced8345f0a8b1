// Claims, gate, plugin: the three questions that every fusion must pass, asked in one place.
#include <algorithm>
#include <set>

#include "core/base/text.h"
#include "core/pass/pass.h"

namespace ferrule {
namespace {

std::string member_text(const Graph& graph, std::span<const NodeId> members) {
  Node all;  // with each source once: nodes of one split name it together
  std::vector<std::string> names;
  for (NodeId id : members) {
    const Node& node = graph.node(id);
    if (node.sources.empty()) names.push_back(graph.source_text(node));
    for (SourceId s : node.sources)
      if (!std::count(all.sources.begin(), all.sources.end(), s)) all.sources.push_back(s);
  }
  return all.sources.empty() ? join(names) : graph.source_text(all);
}

Refusal ask_plugin(const Graph& graph, const PassContext& context, const Node& node,
                   uint32_t compute) {
  if (!context.refuse) return {};
  std::vector<Placed> operands, results(node.results.size());
  for (ValueId id : node.operands)
    operands.push_back({.parameter = id != kNoValue && graph.known(id) != nullptr});
  const auto block = encode_region(graph, node, operands, results, compute);
  if (!block.ok()) return {block.status().code(), block.status().message()};
  return context.refuse(*block);
}

// What the device predicts for all these nodes; nothing if it does not know one of them.
std::optional<int64_t> estimated_ps(const Graph& graph, const PassContext& context,
                                    std::span<const NodeId> nodes) {
  int64_t sum = 0;
  for (NodeId id : nodes) {
    const auto ps = estimated_ps(graph, graph.node(id), context.device, *context.estimate,
                                 context.options.gate.compute);
    if (!ps) return {};
    sum += *ps;
  }
  return sum;
}

GateAnswer ask(const Graph& graph, const PassContext& context, const Profile& before,
               const Profile& after, std::span<const NodeId> members,
               std::span<const NodeId> kernels) {
  const Cost& cost = context.device.cost;
  const GateOptions& options = context.options.gate;
  if (context.estimate && *context.estimate)
    if (const auto old_ps = estimated_ps(graph, context, members))
      if (const auto new_ps = estimated_ps(graph, context, kernels))
        return ask_gate(cost, before, after, options, {*old_ps, *new_ps});
  return ask_gate(cost, before, after, options);
}

}  // namespace

std::optional<Claim> limited_claim(const PassContext& context, OpId kind) {
  const Claim* claim = find_claim(context.device, kind);
  if (!claim) return {};
  Claim out = *claim;
  const RegionLimits& limits = context.options.limits;
  if (limits.nodes) out.max_nodes = std::min(out.max_nodes, *limits.nodes);
  if (limits.inputs) out.max_inputs = std::min(out.max_inputs, *limits.inputs);
  if (limits.outputs) out.max_outputs = std::min(out.max_outputs, *limits.outputs);
  return out;
}

std::string unless_off(const PassContext& context) {
  return context.options.fusion ? std::string() : std::string("fusion is off");
}

std::string unless_claimed(const PassContext& context, OpId kind) {
  if (std::string off = unless_off(context); !off.empty()) return off;
  return find_claim(context.device, kind) ? std::string()
                                          : cat("the device does not claim ", op_row(kind).name);
}

bool admit(Graph& graph, PassContext& context, const char* pass, NodeId region,
           std::span<const NodeId> members, std::span<const NodeId> beside) {
  const Node& node = graph.node(region);
  Candidate candidate{pass, node.kind_name.empty() ? op_row(node.op).name : node.kind_name,
                      member_text(graph, members)};
  Profile before, after = profile_node(graph, node);
  for (NodeId id : members) before += profile_node(graph, graph.node(id));
  std::vector<NodeId> kernels = {region};
  std::set<ValueId> once;  // made from known values alone
  Refusal refusal;
  for (NodeId id : beside) {
    const Node& other = graph.node(id);
    Profile profile = profile_node(graph, other);
    if (is_done_once(graph, other, once)) {
      after.one_time_bytes += profile.device_bytes;
      continue;
    }
    after += profile;
    kernels.push_back(id);
    if (!refusal.refused() && !is_view(other))
      refusal = match_claims(context.device, graph, other, context.options.gate.compute).refusal;
  }
  const GateAnswer gate = ask(graph, context, before, after, members, kernels);
  candidate.before_ps = gate.before_ps, candidate.after_ps = gate.after_ps;
  candidate.bytes_saved = before.device_bytes - after.device_bytes;
  candidate.launches_saved = before.launches - after.launches;
  const Answer answer = match_claims(context.device, graph, node, context.options.gate.compute);
  if (!refusal.refused()) refusal = answer.refusal;
  // What only changes places needs no gain.
  if (!refusal.refused() && !gate.fuse && !(before == after))
    refusal = {Code::no_benefit, unless_gains(gate, context.device.cost)};
  if (!refusal.refused()) refusal = ask_plugin(graph, context, node, answer.compute);
  candidate.accepted = !refusal.refused();
  candidate.reason = refusal.text;
  context.report.candidates.push_back(std::move(candidate));
  return !refusal.refused();
}

}  // namespace ferrule
