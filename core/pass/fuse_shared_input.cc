// Products of one left operand with several weights: the weights side by side, one product, slices.
#include <map>

#include "core/base/text.h"
#include "core/pass/match.h"

namespace ferrule {
namespace {

constexpr size_t kMostProducts = 4;
constexpr int64_t kMostElements = int64_t{32} << 20;  // of all weights together

Result<ValueId> columns(Graph& graph, ValueId x, int64_t first, int64_t n) {
  const Shape& shape = graph.shape(x);
  std::vector<int64_t> starts(shape.rank()), sizes;
  for (size_t axis = 0; axis < shape.rank(); ++axis) sizes.push_back(shape[axis]);
  starts.back() = first, sizes.back() = n;
  return graph.emit(FRL_OP_slice,
                    Attributes(FRL_OP_slice)
                        .set_list(FRL_AT_slice_starts, std::move(starts))
                        .set_list(FRL_AT_slice_sizes, std::move(sizes)),
                    {x});
}

// Products by their left operand and the type and depth of their weights, in the graph's order.
std::vector<std::vector<NodeId>> groups_of(const Graph& graph, int32_t device) {
  std::vector<std::vector<NodeId>> groups;
  std::map<std::tuple<ValueId, Type, int64_t>, size_t> at;
  for (size_t i = 0; i < graph.n_nodes(); ++i) {
    const Node& node = graph.node(NodeId(i));
    if (node.op != FRL_OP_matmul || node.device != device || !graph.known(node.operands[1]) ||
        graph.shape(node.operands[1]).rank() != 2)
      continue;
    const TensorType& w = graph.type(node.operands[1]);
    const auto [place, is_new] =
        at.try_emplace({node.operands[0], w.type, w.shape[0]}, groups.size());
    if (is_new) groups.emplace_back();
    groups[place->second].push_back(NodeId(i));
  }
  return groups;
}

bool refuse(Graph& graph, PassContext& context, NodeId node, std::string reason) {
  context.report.candidates.push_back({"fuse_shared_input", "matmul",
                                       graph.source_text(graph.node(node)), false,
                                       std::move(reason)});
  return false;
}

Result<bool> fuse_group(Graph& graph, PassContext& context, const std::vector<NodeId>& group) {
  if (group.size() < 2) return false;
  if (group.size() > kMostProducts)
    return refuse(
        graph, context, group[0],
        cat("products of one operand: want at most ", kMostProducts, ", got ", group.size()));
  std::vector<ValueId> weights;
  int64_t elements = 0;
  for (NodeId id : group) {
    weights.push_back(graph.node(id).operands[1]);
    elements += graph.shape(weights.back()).n_elements();
  }
  if (elements > kMostElements)
    return refuse(graph, context, group[0],
                  cat("weights: want at most ", kMostElements, " elements, got ", elements));
  graph.set_sources(graph.node(group[0]).sources), graph.set_device(context.number);
  std::vector<NodeId> beside;
  FRL_LET(const ValueId packed, graph.emit(FRL_OP_concat, Attributes(FRL_OP_concat), weights));
  beside.push_back(graph.value(packed).maker);
  FRL_LET(const ValueId y, graph.emit(FRL_OP_matmul, {graph.node(group[0]).operands[0], packed}));
  std::vector<ValueId> parts;
  int64_t first = 0;
  for (ValueId w : weights) {
    FRL_LET(const ValueId part, columns(graph, y, first, graph.shape(w)[1]));
    parts.push_back(part), first += graph.shape(w)[1];
    beside.push_back(graph.value(part).maker);
  }
  if (!admit(graph, context, "fuse_shared_input", graph.value(y).maker, group, beside))
    return false;
  for (size_t i = 0; i < group.size(); ++i)
    graph.replace(graph.node(group[i]).results[0], parts[i]);
  return true;
}

Result<bool> run(Graph& graph, PassContext& context) {
  bool changed = false;
  for (const auto& group : groups_of(graph, context.number)) {
    FRL_LET(const bool fused, fuse_group(graph, context, group));
    changed |= fused;
  }
  return changed;
}

}  // namespace

extern const Pass fuse_shared_input = {
    .name = "fuse_shared_input",
    .doc = "FuseSharedInputMatMul: products of one operand become one, with slices",
    .claim = FRL_OP_matmul,
    .run = run,
};

}  // namespace ferrule
