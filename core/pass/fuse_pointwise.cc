// Pointwise regions: nodes of one shape, grown backwards from their last node.
//
// A node joins a region of its users. If all its users are in it, it is an inner value; else it is
// a further result, where the claim allows one more and no user outside leads back into the region,
// so that regions never wait for each other in a circle.
#include <algorithm>
#include <set>

#include "core/base/text.h"
#include "core/pass/region.h"

namespace ferrule {
namespace {

constexpr int32_t kAlone = -1;

constexpr size_t kMostSteps = 256;  // that are looked ahead for a way back into a region

struct Group {
  std::vector<NodeId> members;  // sink first
  std::vector<ValueId> operands;
  std::vector<ValueId> results;  // beside the sink's
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
      std::vector<ValueId> results = {sink_of(group)};
      results.insert(results.end(), group.results.begin(), group.results.end());
      std::sort(group.members.begin(), group.members.end());
      FRL_LET(const NodeId region, emit_region(graph_, FRL_OP_pointwise, group.members, results));
      if (!admit(graph_, context_, "fuse_pointwise", region, group.members)) continue;
      for (size_t r = 0; r < results.size(); ++r)
        graph_.replace(results[r], graph_.node(region).results[r]);
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

  ValueId sink_of(const Group& group) const { return graph_.node(group.members[0]).results[0]; }

  void grow(NodeId id) {
    const Node& node = graph_.node(id);
    if (!eligible(node)) return;
    const ValueId result = node.results[0];
    bool leaves = output_[index(result)];
    std::vector<int32_t> groups;  // of its users, first user first
    for (NodeId user : users_[index(result)]) {
      const int32_t group = group_of_[index(user)];
      if (group == kAlone)
        leaves = true;
      else if (std::find(groups.begin(), groups.end(), group) == groups.end())
        groups.push_back(group);
    }
    for (int32_t group : groups)
      if (fits(groups_[size_t(group)], id, leaves || groups.size() > 1, group) &&
          join(groups_[size_t(group)], id)) {
        if (leaves || groups.size() > 1) groups_[size_t(group)].results.push_back(result);
        group_of_[index(id)] = group;
        return;
      }
    group_of_[index(id)] = int32_t(groups_.size());
    groups_.push_back({{id}, region_operands(graph_, std::span(&id, 1)), {}});
  }

  bool fits(const Group& group, NodeId id, bool is_result, int32_t number) const {
    const ValueId result = graph_.node(id).results[0];
    if (!(graph_.shape(sink_of(group)) == graph_.shape(result))) return false;
    if (!is_result) return true;
    return group.results.size() + 2 <= claim_.max_outputs && !leads_back(id, number);
  }

  // Whether a user outside the group leads to one of its members, regions taken as a whole. What is
  // too far to see counts as a way.
  bool leads_back(NodeId id, int32_t number) const {
    const NodeId sink = groups_[size_t(number)].members[0];
    std::vector<NodeId> ahead;
    std::vector<bool> seen_group(groups_.size());
    std::set<NodeId> seen;
    const auto look = [&](NodeId from) {
      for (ValueId result : graph_.node(from).results)
        for (NodeId user : users_[index(result)])
          if (seen.insert(user).second) ahead.push_back(user);
    };
    for (NodeId user : users_[index(graph_.node(id).results[0])])
      if (group_of_[index(user)] != number && seen.insert(user).second) ahead.push_back(user);
    for (size_t i = 0; i < ahead.size(); ++i) {
      if (i == kMostSteps) return true;
      const int32_t group = group_of_[index(ahead[i])];
      if (group == number) return true;
      if (group == kAlone) {
        if (index(ahead[i]) < index(sink)) look(ahead[i]);
      } else if (!seen_group[size_t(group)]) {
        seen_group[size_t(group)] = true;
        for (NodeId member : groups_[size_t(group)].members) look(member);
      }
    }
    return false;
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
  if (!context.options.pointwise) return "pointwise regions are off";
  const auto claim = limited_claim(context, FRL_OP_pointwise);
  if (!claim) return "the device does not claim pointwise";
  return claim->max_nodes < 2 ? "pointwise regions hold one node only" : std::string();
}

}  // namespace

extern const Pass fuse_pointwise = {
    .name = "fuse_pointwise",
    .doc = "MarkElementwiseRegions: pointwise nodes of one shape become one region",
    .when = when,
    .run = [](Graph& graph, PassContext& context) -> Result<bool> {
      const auto claim = limited_claim(context, FRL_OP_pointwise);
      return Growing(graph, context, *claim).run();
    },
};

}  // namespace ferrule
