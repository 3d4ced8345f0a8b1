// The gradients of attention, written out, as one node with three results that shares the weights
// P: dS = P (dP - sum(dP P)), dQ = dS K, dK = dS^T Q, dV = P^T dY.
#include "core/base/text.h"
#include "core/pass/attention_parts.h"
#include "core/pass/match.h"

namespace ferrule {
namespace {

constexpr const char* kName = "fuse_attention_backward";

// Slots: 0 q, 1 k, 2 v, 3 dY, 4 P, 5 dP, 6 dS scaled, 7 scale, 8 and 9 k and v swapped, 10 sum(dP
// P).
Pattern weights() {
  const Pattern transposed = as(8, pat(FRL_OP_transpose, {any(1)}));
  return tee(4, pat(FRL_OP_softmax,
                    {pat(FRL_OP_mul, {pat(FRL_OP_matmul, {any(0), transposed}), number(7)})}));
}
Pattern query_gradient() {
  const Pattern dp = as(5, pat(FRL_OP_matmul, {any(3), as(9, pat(FRL_OP_transpose, {any(2)}))}));
  const Pattern total = as(10, pat(FRL_OP_reduce, {pat(FRL_OP_mul, {any(5), any(4)})}));
  const Pattern ds = pat(FRL_OP_mul, {weights(), pat(FRL_OP_sub, {dp, total})});
  return pat(FRL_OP_matmul, {tee(6, pat(FRL_OP_mul, {ds, number(7)})), any(1)});
}

class Backward {
 public:
  Backward(Graph& graph, PassContext& context) : graph_(graph), context_(context) {}

  bool run() {
    static const Pattern kPattern = query_gradient();
    bool changed = false;
    for (size_t i = 0; i < n_nodes_; ++i) {
      if (graph_.node(NodeId(i)).device != context_.number) continue;
      Match found{graph_};
      if (match(graph_, &uses_, NodeId(i), kPattern, &found)) changed |= fuse(found);
    }
    return changed;
  }

 private:
  bool refuse(const Match& m, std::string reason) {
    const std::string source = graph_.source_text(graph_.node(m.root));
    return context_.report.candidates.push_back({kName, "", source, false, reason}), false;
  }

  std::string misfit(const Match& m, NodeId dk, NodeId dv) const {
    const Attributes& total = m.maker(10).attributes;
    if (!swaps_last(m.maker(8)) || !swaps_last(m.maker(9)))
      return "k and v: want their last two axes swapped";
    if (m.maker(4).attributes.i(FRL_AT_softmax_axis) != -1 ||
        total.i(FRL_AT_reduce_by) != FRL_OP_add || total.i(FRL_AT_reduce_keep) != 1 ||
        total.list(FRL_AT_reduce_axes) != std::vector<int64_t>{-1})
      return "softmax and sum: want both over the last axis";
    if (dk == kNoNode || dv == kNoNode) return "want the gradients of k and v too";
    const bool inside = uses_[index(m[6])] == 2 && uses_[index(m[4])] == 3;
    return inside ? "" : "weights: want no use but the gradients'";
  }

  // matmul(transpose(left), right) among the nodes; kNoNode if there is none.
  NodeId product_of(ValueId left, ValueId right) const {
    for (size_t i = 0; i < n_nodes_; ++i) {
      const Node& node = graph_.node(NodeId(i));
      if (node.op != FRL_OP_matmul || graph_.resolve(node.operands[1]) != right) continue;
      const Node* transpose = graph_.maker(graph_.resolve(node.operands[0]));
      if (transpose && swaps_last(*transpose) && graph_.resolve(transpose->operands[0]) == left)
        return NodeId(i);
    }
    return kNoNode;
  }

  bool fuse(const Match& m) {
    const NodeId dk = product_of(m[6], m[0]), dv = product_of(m[4], m[3]);
    if (std::string reason = misfit(m, dk, dv); !reason.empty()) return refuse(m, reason);
    std::vector<NodeId> members = m.nodes;
    for (NodeId id : {dk, dv})
      members.insert(members.end(),
                     {id, graph_.value(graph_.resolve(graph_.node(id).operands[0])).maker});
    graph_.set_sources(graph_.node(m.root).sources);
    graph_.set_device(context_.number);
    const auto region = graph_.emit_node(
        FRL_OP_attention_backward,
        Attributes(FRL_OP_attention_backward).set_f(FRL_AT_attention_backward_scale, m.number(7)),
        {m[0], m[1], m[2], m[3]});
    if (!region.ok()) return refuse(m, region.status().message());
    const NodeId roots[] = {m.root, dk, dv};
    for (size_t r = 0; r < 3; ++r)
      if (graph_.type(graph_.node(roots[r]).results[0]) !=
          graph_.type(graph_.node(*region).results[r]))
        return refuse(m, "gradients: want the types of q, k and v");
    if (!admit(graph_, context_, kName, *region, members)) return false;
    for (size_t r = 0; r < 3; ++r)
      graph_.replace(graph_.node(roots[r]).results[0], graph_.node(*region).results[r]);
    return true;
  }

  Graph& graph_;
  PassContext& context_;
  std::vector<uint32_t> uses_ = graph_.count_uses();
  size_t n_nodes_ = graph_.n_nodes();
};

}  // namespace

extern const Pass fuse_attention_backward = {
    .name = kName,
    .doc = "FuseAttentionBackwardAll: three gradients that share scores and weights",
    .claim = FRL_OP_attention_backward,
    .run = [](Graph& g, PassContext& c) { return Result<bool>(Backward(g, c).run()); },
};

}  // namespace ferrule
