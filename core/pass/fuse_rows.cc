// Fusions as rows: a pattern, a guard, the region that it becomes.
#include <algorithm>

#include "core/base/text.h"
#include "core/pass/match.h"

namespace ferrule {
namespace {

// One run of rows over a graph. Every region gets a place in the old order: behind its operands,
// before its users. A region with tees stands where the first of them was made.
class Fusing {
 public:
  Fusing(Graph& graph, PassContext& context, const char* pass)
      : graph_(graph),
        context_(context),
        pass_(pass),
        uses_(graph.count_uses()),
        swallowed_(graph.n_nodes()) {
    for (size_t i = 0; i < graph.n_nodes(); ++i) places_.push_back(i);
  }

  Result<bool> run(std::span<const FusionRow> rows) {
    bool changed = false;
    for (size_t i = swallowed_.size(); i-- > 0;) {
      if (swallowed_[i] || graph_.node(NodeId(i)).device != context_.number) continue;
      reasons_.clear();
      const bool fused = std::any_of(rows.begin(), rows.end(),
                                     [&](const FusionRow& row) { return fuse(NodeId(i), row); });
      changed |= fused;
      for (std::string& reason : reasons_)
        if (!fused && !reason.empty())
          context_.report.candidates.push_back(
              {pass_, "", graph_.source_text(graph_.node(NodeId(i))), false, std::move(reason)});
    }
    return changed;
  }

 private:
  bool fuse(NodeId root, const FusionRow& row) {
    Match found{graph_};
    if (!match(graph_, &uses_, root, row.pattern, &found)) return refuse(found.leak);
    for (NodeId id : found.nodes)
      if (swallowed_[index(id)]) return false;
    if (std::string reason = row.guard ? row.guard(found) : ""; !reason.empty())
      return refuse(std::move(reason));
    graph_.set_sources(merged_sources(graph_, found.nodes));
    graph_.set_device(context_.number);
    const size_t n_before = graph_.n_nodes();
    const auto region = row.emit(found);
    if (!region.ok()) return refuse(region.status().message());
    std::vector<NodeId> beside;
    for (size_t i = n_before; i < index(*region); ++i) beside.push_back(NodeId(i));
    std::vector<ValueId> old = {graph_.node(root).results[0]};
    for (uint32_t slot : row.tees) old.push_back(found[slot]);
    const size_t place = place_of(root, found);
    if (std::string reason = misfit(*region, old, place); !reason.empty())
      return refuse(std::move(reason));
    if (!admit(graph_, context_, pass_, *region, found.nodes, beside)) return false;
    for (size_t r = 0; r < old.size(); ++r) graph_.replace(old[r], graph_.node(*region).results[r]);
    for (NodeId id : found.nodes) swallowed_[index(id)] = true;
    places_.resize(index(*region) + 1, SIZE_MAX);
    places_.back() = place;
    return true;
  }

  size_t place_of(NodeId root, const Match& found) const {
    size_t place = index(root);
    for (ValueId tee : found.tees) place = std::min(place, places_[index(graph_.value(tee).maker)]);
    return place;
  }

  std::string misfit(NodeId region, std::span<const ValueId> old, size_t place) const {
    const Node& node = graph_.node(region);
    for (size_t r = 0; r < old.size(); ++r)
      if (graph_.type(old[r]) != graph_.type(node.results[r]))
        return cat("result: want ", to_string(graph_.type(old[r])), ", got ",
                   to_string(graph_.type(node.results[r])));
    for (ValueId operand : node.operands) {
      const NodeId maker = operand == kNoValue ? kNoNode : graph_.value(operand).maker;
      if (maker != kNoNode && index(maker) < places_.size() && places_[index(maker)] >= place &&
          old.size() > 1)
        return "an operand may wait for a result of the region";
    }
    return {};
  }

  bool refuse(std::string reason) {
    if (std::find(reasons_.begin(), reasons_.end(), reason) == reasons_.end())
      reasons_.push_back(std::move(reason));
    return false;
  }

  Graph& graph_;
  PassContext& context_;
  const char* pass_;
  std::vector<uint32_t> uses_;
  std::vector<bool> swallowed_;
  std::vector<size_t> places_;  // by node
  std::vector<std::string> reasons_;
};

}  // namespace

Result<bool> fuse_rows(Graph& graph, PassContext& context, const char* pass,
                       std::span<const FusionRow> rows) {
  return Fusing(graph, context, pass).run(rows);
}

}  // namespace ferrule
