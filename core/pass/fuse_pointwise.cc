// Pointwise regions: nodes of one shape that end in one sink, grown from the sink backwards.
//
// A node joins the region of its users if all of them are in it. A region can therefore only be
// left through its sink, so regions never wait for each other in a circle.
#include <algorithm>

#include "core/base/text.h"
#include "core/pass/region.h"

namespace ferrule {
namespace {

constexpr int32_t kAlone = -1;

struct Group {
  std::vector<NodeId> members;  // sink first
  std::vector<ValueId> operands;
};

class Growing {
 public:
  Growing(Graph& graph, PassContext& context, const Claim& claim)
      : graph_(graph),
        context_(context),
        claim_(claim),
        users_(graph.n_values()),
        group_of_(graph.n_nodes(), kAlone) {
    for (size_t i = 0; i < graph.n_nodes(); ++i)
      for (ValueId operand : graph.node(NodeId(i)).operands)
        if (operand != kNoValue) users_[index(operand)].push_back(NodeId(i));
    output_.resize(graph.n_values());
    for (const Output& output : graph.outputs()) output_[index(output.value)] = true;
  }

  Result<bool> run() {
    for (size_t i = group_of_.size(); i-- > 0;) grow(NodeId(i));
    bool changed = false;
    for (Group& group : groups_) {
      if (group.members.size() < 2) continue;
      std::sort(group.members.begin(), group.members.end());
      const ValueId sink = graph_.node(group.members.back()).results[0];
      FRL_LET(const NodeId region,
              emit_region(graph_, FRL_OP_pointwise, group.members, std::span(&sink, 1)));
      if (!admit(graph_, context_, "fuse_pointwise", region, group.members)) continue;
      graph_.replace(sink, graph_.node(region).results[0]);
      changed = true;
    }
    return changed;
  }

 private:
  bool eligible(const Node& node) const {
    const OpRow* row = find_op(node.op);
    return row && row->form == Form::pointwise && node.device == context_.number &&
           std::binary_search(claim_.members.begin(), claim_.members.end(), node.op);
  }

  void grow(NodeId id) {
    const Node& node = graph_.node(id);
    if (!eligible(node)) return;
    const int32_t joined = group_to_join(node);
    if (joined != kAlone && join(groups_[size_t(joined)], id)) {
      group_of_[index(id)] = joined;
      return;
    }
    group_of_[index(id)] = int32_t(groups_.size());
    groups_.push_back({{id}, region_operands(graph_, std::span(&id, 1))});
  }

  // The one group that holds all users of the node's result, if their shape is the node's.
  int32_t group_to_join(const Node& node) const {
    const ValueId result = node.results[0];
    if (output_[index(result)] || users_[index(result)].empty()) return kAlone;
    int32_t found = kAlone;
    for (NodeId user : users_[index(result)]) {
      const int32_t group = group_of_[index(user)];
      if (group == kAlone || (found != kAlone && group != found)) return kAlone;
      found = group;
    }
    const ValueId sink = graph_.node(groups_[size_t(found)].members[0]).results[0];
    return graph_.shape(sink) == graph_.shape(result) ? found : kAlone;
  }

  // False, and the group as before, if the region would be larger than the claim allows.
  bool join(Group& group, NodeId id) {
    if (group.members.size() + 1 > claim_.max_nodes)
      return refuse(id, cat("nodes: one more than ", claim_.max_nodes));
    std::vector<ValueId> operands = group.operands;
    std::erase(operands, graph_.node(id).results[0]);
    for (ValueId operand : region_operands(graph_, std::span(&id, 1)))
      if (std::find(operands.begin(), operands.end(), operand) == operands.end())
        operands.push_back(operand);
    if (operands.size() > claim_.max_inputs)
      return refuse(id, cat("inputs: ", operands.size(), " are more than ", claim_.max_inputs));
    group.operands = std::move(operands);
    group.members.push_back(id);
    return true;
  }

  bool refuse(NodeId id, std::string reason) {
    context_.report.candidates.push_back({"fuse_pointwise", "pointwise",
                                          graph_.source_text(graph_.node(id)), false,
                                          std::move(reason)});
    return false;
  }

  Graph& graph_;
  PassContext& context_;
  const Claim& claim_;
  std::vector<std::vector<NodeId>> users_;
  std::vector<bool> output_;
  std::vector<int32_t> group_of_;
  std::vector<Group> groups_;
};

std::string when(const PassContext& context) {
  if (!context.options.fusion) return "fusion is off";
  const auto claim = limited_claim(context, FRL_OP_pointwise);
  if (!claim) return "the device does not claim pointwise";
  return claim->max_nodes < 2 ? "pointwise regions hold one node only" : std::string();
}

}  // namespace

extern const Pass fuse_pointwise;
const Pass fuse_pointwise = {
    .name = "fuse_pointwise",
    .doc = "pointwise nodes of one shape become one region",
    .when = when,
    .run = [](Graph& graph, PassContext& context) -> Result<bool> {
      const auto claim = limited_claim(context, FRL_OP_pointwise);
      return Growing(graph, context, *claim).run();
    },
};

}  // namespace ferrule
