// Nodes with the same op, attributes and operands become one.
#include <unordered_map>

#include "core/pass/pass.h"

namespace ferrule {
namespace {

uint64_t key_of(const Graph& graph, const Node& node) {
  uint64_t h = hash_bytes(&node.op, sizeof node.op);
  for (ValueId id : node.operands) {
    const ValueId resolved = id == kNoValue ? id : graph.resolve(id);
    h = hash_bytes(&resolved, sizeof resolved, h);
  }
  for (size_t slot = 0; slot < node.attributes.size(); ++slot) {
    const Attribute& a = node.attributes[slot];
    h = hash_bytes(&a.i, 8, h), h = hash_bytes(&a.f, 8, h);
    h = hash_bytes(a.list.data(), a.list.size() * 8, h);
  }
  return h;
}

bool equal(const Graph& graph, const Node& a, const Node& b) {
  if (a.op != b.op || !(a.attributes == b.attributes) || a.operands.size() != b.operands.size() ||
      a.bodies != b.bodies)
    return false;
  for (size_t i = 0; i < a.operands.size(); ++i) {
    const bool missing = a.operands[i] == kNoValue || b.operands[i] == kNoValue;
    if (missing ? a.operands[i] != b.operands[i]
                : graph.resolve(a.operands[i]) != graph.resolve(b.operands[i]))
      return false;
  }
  return a.device == b.device;
}

// Equal literals first, so that nodes that use them become equal too.
bool merge_literals(Graph& graph) {
  bool changed = false;
  std::unordered_multimap<uint64_t, ValueId> seen;
  for (size_t i = 0; i < graph.n_values(); ++i) {
    const ValueId id{uint32_t(i)};
    const Tensor* literal = graph.literal(id);
    if (!literal) continue;
    const uint64_t key = hash_bytes(literal->bytes().data(), literal->bytes().size(),
                                    uint64_t(literal->element()) + 7);
    bool found = false;
    for (auto [it, end] = seen.equal_range(key); it != end && !found; ++it) {
      found = same_bits(*graph.literal(it->second), *literal);
      if (found) graph.replace(id, it->second);
    }
    if (!found) seen.emplace(key, id);
    changed |= found;
  }
  return changed;
}

Result<bool> run(Graph& graph, PassContext&) {
  bool changed = merge_literals(graph);
  std::unordered_multimap<uint64_t, NodeId> seen;
  for (size_t i = 0; i < graph.n_nodes(); ++i) {
    const Node& node = graph.node(NodeId(i));
    const uint64_t key = key_of(graph, node);
    bool found = false;
    for (auto [it, end] = seen.equal_range(key); it != end && !found; ++it) {
      const Node& other = graph.node(it->second);
      found = equal(graph, node, other);
      // Each data-dependent extent is a symbol of its own, so such nodes stay apart.
      for (ValueId result : node.results) found &= graph.shape(result).is_exact();
      if (!found) continue;
      for (size_t r = 0; r < node.results.size(); ++r)
        graph.replace(node.results[r], other.results[r]);
    }
    if (!found) seen.emplace(key, NodeId(i));
    changed |= found;
  }
  return changed;
}

}  // namespace

extern const Pass merge_equal = {
    .name = "merge_equal",
    .doc = "equal nodes become one",
    .run = run,
};

}  // namespace ferrule
