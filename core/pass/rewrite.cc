// Rules for any target: a pattern and what may stand for its root.
#include "core/pass/match.h"

namespace ferrule {

Result<bool> rewrite(Graph& graph, std::span<const Rule> rules, Inner inner) {
  const std::vector<uint32_t> uses = graph.count_uses();
  const size_t n_nodes = graph.n_nodes();
  bool changed = false;
  for (size_t i = 0; i < n_nodes; ++i) {
    if (graph.node(NodeId(i)).results.size() != 1) continue;
    for (const Rule& rule : rules) {
      Match found{graph};
      if (!match(graph, inner == Inner::keeps ? nullptr : &uses, NodeId(i), rule.pattern, &found))
        continue;
      graph.set_sources(graph.node(NodeId(i)).sources);
      graph.set_device(graph.node(NodeId(i)).device);
      FRL_LET(const ValueId by, rule.result(found));
      const ValueId old = graph.node(NodeId(i)).results[0];
      // x[1] + 0[4] is a broadcast, not an identity: only an equal type may stand for the old one.
      if (by == kNoValue || graph.type(by) != graph.type(old)) continue;
      graph.replace(old, by);
      changed = true;
      break;
    }
  }
  return changed;
}

}  // namespace ferrule
