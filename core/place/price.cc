#include "core/place/price.h"

#include "core/base/text.h"

namespace ferrule {
namespace {

// A copy whose nodes name themselves as their source: passes keep sources, so every region tells
// which nodes it stands for.
Graph marked_copy(const Graph& graph, size_t number, std::span<const PlacedNode> placed) {
  Graph out = graph;
  while (out.all_sources().size() < out.n_nodes()) out.add_source({});
  for (uint32_t i = 0; i < out.n_nodes(); ++i) {
    Node& node = out.node(NodeId(i));
    node.sources = {SourceId(i)};
    const auto& options = placed[i].options;
    const bool runs = !options.empty() && options[number].support != Support::refused;
    node.device = runs ? 0 : -1;
  }
  return out;
}

// Shares of `time_ps` in proportion to `weights`; equal ones where all weigh nothing.
void spread(int64_t time_ps, std::span<const SourceId> members, std::span<const int64_t> weights,
            std::vector<int64_t>& out) {
  double weight = 0;
  for (SourceId member : members) weight += double(weights[size_t(member)]);
  int64_t left = time_ps;
  for (size_t i = 0; i < members.size(); ++i) {
    const double part =
        weight > 0 ? double(weights[size_t(members[i])]) / weight : 1 / double(members.size());
    const int64_t share = i + 1 == members.size() ? left : int64_t(double(time_ps) * part);
    const int64_t taken = std::min(share, left);
    out[size_t(members[i])] += taken;
    left -= taken;
  }
}

}  // namespace

Status price_fused(const Graph& graph, const Target& target, size_t number,
                   const FuseOptions& options, std::span<PlacedNode> placed) {
  Graph copy = marked_copy(graph, number, placed);
  FuseOptions quick = options;
  quick.verify = false;
  quick.passes_off.insert("fold_weights");  // prices do not need the elements of weights
  auto report = fuse(copy, *target.row, 0, quick, target.refuse, target.estimate);
  if (!report.ok())
    return std::move(report).within(cat("placement: dry run on ", target.id)).status();
  std::vector<int64_t> alone(graph.n_nodes()), shares(graph.n_nodes());
  for (size_t i = 0; i < alone.size(); ++i)
    if (!placed[i].options.empty()) alone[i] = placed[i].options[number].time_ps;
  std::set<ValueId> once;
  for (const Node& node : copy.nodes()) {
    if (node.device != 0 || (options.fusion && is_done_once(copy, node, once))) continue;
    const int64_t time =
        estimated_ps(copy, node, *target.row, target.estimate, options.gate.compute)
            .value_or(time_ps(target.row->cost, profile_node(copy, node), options.gate.compute));
    spread(time, node.sources, alone, shares);
  }
  for (size_t i = 0; i < alone.size(); ++i)
    if (!placed[i].options.empty()) placed[i].options[number].time_ps = shares[i];
  return {};
}

}  // namespace ferrule
