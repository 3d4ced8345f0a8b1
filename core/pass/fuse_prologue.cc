// Resampling: steps in a row become one region, and one that only feeds pointwise nodes of its own
// shape becomes their region's main op.
#include <algorithm>

#include "core/pass/region.h"
#include "core/pass/regions.h"

namespace ferrule {
namespace {

bool is_step(const Node& node) { return node.op == FRL_OP_resize; }

class Resampling {
 public:
  Resampling(Graph& graph, PassContext& context, const char* pass)
      : graph_(graph), context_(context), pass_(pass), uses_(graph.count_uses()) {}

  // Chains, longest first: a chain is taken at its last step.
  Result<bool> transforms() {
    bool changed = false;
    for (size_t i = n_nodes_; i-- > 0;) {
      std::vector<NodeId> chain = {NodeId(i)};
      if (!here(NodeId(i)) || !is_step(graph_.node(NodeId(i))) || taken_[i]) continue;
      for (NodeId id = before(NodeId(i)); id != kNoNode; id = before(id)) chain.push_back(id);
      if (chain.size() < 2) continue;
      std::reverse(chain.begin(), chain.end());
      FRL_LET(const bool fused, fuse(FRL_OP_transform, chain));
      changed |= fused;
    }
    return changed;
  }

  Result<bool> prologues() {
    bool changed = false;
    for (size_t i = 0; i < n_nodes_; ++i) {
      const Node& node = graph_.node(NodeId(i));
      if (!here(NodeId(i)) || !is_pointwise_node(graph_, node)) continue;
      for (size_t k = 0; k < node.operands.size(); ++k) {
        const NodeId step = before(NodeId(i), k);
        if (step == kNoNode ||
            !(graph_.shape(graph_.node(step).results[0]) == graph_.shape(node.results[0])))
          continue;
        FRL_LET(const bool fused, fuse(FRL_OP_epilogue, {step, NodeId(i)}));
        changed |= fused;
        break;
      }
    }
    return changed;
  }

 private:
  bool here(NodeId id) const { return graph_.node(id).device == context_.number; }

  // The resampling step that makes an operand and that nothing else uses.
  NodeId before(NodeId id, size_t operand = 0) const {
    const Node& node = graph_.node(id);
    if (node.operands[operand] == kNoValue) return kNoNode;
    const ValueId value = graph_.resolve(node.operands[operand]);
    const NodeId maker = graph_.value(value).maker;
    const bool fits = maker != kNoNode && index(maker) < n_nodes_ && here(maker) &&
                      is_step(graph_.node(maker)) && uses_[index(value)] == 1;
    return fits ? maker : kNoNode;
  }

  Result<bool> fuse(OpId kind, const std::vector<NodeId>& members) {
    const ValueId result = graph_.node(members.back()).results[0];
    FRL_LET(const NodeId region, emit_region(graph_, kind, members, std::span(&result, 1)));
    if (!admit(graph_, context_, pass_, region, members)) return false;
    graph_.replace(result, graph_.node(region).results[0]);
    for (NodeId id : members) taken_[index(id)] = true;
    return true;
  }

  Graph& graph_;
  PassContext& context_;
  const char* pass_;
  std::vector<uint32_t> uses_;
  size_t n_nodes_ = graph_.n_nodes();
  std::vector<bool> taken_ = std::vector<bool>(n_nodes_);
};

}  // namespace

extern const Pass mark_transforms = {
    .name = "mark_transforms",
    .doc = "MarkTransformRegions: resampling steps in a row become one region",
    .when = unless_regions,
    .run = [](Graph& g,
              PassContext& c) { return Resampling(g, c, "mark_transforms").transforms(); },
};

extern const Pass fuse_prologue = {
    .name = "fuse_prologue",
    .doc = "FuseRegionPrologue: a resampling step goes into the pointwise region that it feeds",
    .when = unless_regions,
    .run = [](Graph& g, PassContext& c) { return Resampling(g, c, "fuse_prologue").prologues(); },
};

}  // namespace ferrule
