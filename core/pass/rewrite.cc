// Rules for any target: a pattern and what may stand for its root.
#include <algorithm>

#include "core/pass/match.h"

namespace ferrule {

std::vector<SourceId> merged_sources(const Graph& graph, std::span<const NodeId> nodes) {
  std::vector<SourceId> out;
  for (NodeId id : nodes)
    out.insert(out.end(), graph.node(id).sources.begin(), graph.node(id).sources.end());
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

Result<bool> rewrite(Graph& graph, std::span<const Rule> rules, Inner inner,
                     std::set<std::string>* read_parameters) {
  std::vector<uint32_t> uses = graph.count_uses();
  const size_t n_nodes = graph.n_nodes();
  bool changed = false;
  for (size_t i = 0; i < n_nodes; ++i) {
    if (graph.node(NodeId(i)).results.size() != 1) continue;
    for (const Rule& rule : rules) {
      Match found{graph};
      found.read_parameters = read_parameters;
      if (!match(graph, inner == Inner::keeps ? nullptr : &uses, NodeId(i), rule.pattern, &found))
        continue;
      graph.set_sources(inner == Inner::keeps ? graph.node(NodeId(i)).sources
                                              : merged_sources(graph, found.nodes));
      graph.set_device(graph.node(NodeId(i)).device);
      const auto result = rule.result(found);
      if (!result.ok() && result.status().code() != Code::invalid_argument) return result.status();
      const ValueId by = result.ok() ? *result : kNoValue;
      const ValueId old = graph.node(NodeId(i)).results[0];
      // x[1] + 0[4] is a broadcast, not an identity: only an equal type may stand for the old one.
      if (by == kNoValue || graph.type(by) != graph.type(old)) continue;
      graph.replace(old, by);
      uses.resize(
          graph.n_values());  // of values that the rule made inside: none that may be swallowed
      uses[index(by)] += uses[index(old)];
      changed = true;
      break;
    }
  }
  return changed;
}

Result<bool> rewrite_lists(Graph& graph, std::initializer_list<std::span<const Rule>> lists,
                           std::set<std::string>* read_parameters) {
  bool changed = false;
  for (const std::span<const Rule> rules : lists) {
    const size_t n_nodes = graph.n_nodes();
    FRL_LET(const bool now, rewrite(graph, rules, Inner::swallows, read_parameters));
    // What was emitted in vain would count as a use.
    if (graph.n_nodes() > n_nodes) graph.compact();
    changed |= now;
  }
  return changed;
}

}  // namespace ferrule
