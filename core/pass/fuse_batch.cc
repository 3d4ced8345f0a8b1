// Slices of one tensor that are treated alike and joined again: one body over all of them.

#include "core/base/text.h"
#include "core/pass/region.h"
#include "core/pass/regions.h"

namespace ferrule {
namespace {

struct Slices {
  NodeId concat;
  std::vector<NodeId> regions;  // one for each slice, in the order of the concat
  int64_t axis = 0;             // from the end
};

class Batching {
 public:
  Batching(Graph& graph, PassContext& context)
      : graph_(graph), context_(context), uses_(graph.count_uses()) {}

  // Lone pointwise nodes over slices become one-node regions.
  Result<bool> mark() {
    bool changed = false;
    for (const Slices& s : all())
      for (NodeId id : s.regions) {
        const Node& node = graph_.node(id);
        if (node.op == FRL_OP_pointwise) continue;
        const ValueId result = node.results[0];
        FRL_LET(const NodeId region,
                emit_region(graph_, FRL_OP_pointwise, std::span(&id, 1), std::span(&result, 1)));
        if (!match_claims(context_.device, graph_, graph_.node(region),
                          context_.options.gate.compute)
                 .claim)
          continue;
        graph_.replace(result, graph_.node(region).results[0]);
        changed = true;
      }
    return changed;
  }

  Result<bool> fuse() {
    bool changed = false;
    for (const Slices& s : all()) {
      FRL_LET(const bool fused, fuse(s));
      changed |= fused;
    }
    return changed;
  }

 private:
  // Concats of pointwise nodes that nothing else uses.
  std::vector<Slices> all() const {
    std::vector<Slices> out;
    for (size_t i = 0; i < graph_.n_nodes(); ++i) {
      const Node& node = graph_.node(NodeId(i));
      if (node.op != FRL_OP_concat || node.device != context_.number || node.operands.size() < 2)
        continue;
      Slices s{NodeId(i), {}, node.attributes.i(FRL_AT_concat_axis)};
      for (ValueId operand : node.operands) {
        const NodeId maker = graph_.value(operand).maker;
        if (maker == kNoNode || uses_[index(operand)] != 1 ||
            graph_.node(maker).device != context_.number ||
            !is_pointwise_node(graph_, graph_.node(maker)))
          break;
        s.regions.push_back(maker);
      }
      if (s.regions.size() == node.operands.size()) out.push_back(std::move(s));
    }
    return out;
  }

  // Each operand of the regions is cut from one tensor in order, or is the same for all.
  const char* misfit(const Slices& s, std::vector<ValueId>& operands,
                     std::vector<int64_t>& axes) const {
    const Node& first = graph_.node(s.regions[0]);
    if (first.op != FRL_OP_pointwise) return "slices: want pointwise regions";
    const std::string body = to_text(*first.bodies[0]);
    for (NodeId id : s.regions) {
      const Node& node = graph_.node(id);
      if (node.op != FRL_OP_pointwise || node.operands.size() != first.operands.size() ||
          to_text(*node.bodies[0]) != body)
        return "slices: want them all treated alike";
    }
    for (size_t k = 0; k < first.operands.size(); ++k)
      if (const char* reason = operand_misfit(s, k, operands, axes)) return reason;
    for (int64_t axis : axes)
      if (axis != 0) return nullptr;
    return "slices: want slices of one tensor";
  }

  // Null: fits.
  const char* operand_misfit(const Slices& s, size_t k, std::vector<ValueId>& operands,
                             std::vector<int64_t>& axes) const {
    const auto operand = [&](size_t i) { return graph_.node(s.regions[i]).operands[k]; };
    bool shared = true;
    for (size_t i = 1; i < s.regions.size(); ++i) shared &= operand(i) == operand(0);
    if (shared) return operands.push_back(operand(0)), axes.push_back(0), nullptr;
    const Cut first = cut_of(graph_, operand(0));
    if (first.axis == 0) return "slices: want slices of one tensor";
    for (size_t i = 0; i < s.regions.size(); ++i) {
      const Cut cut = cut_of(graph_, operand(i));
      if (cut.parent != first.parent || cut.axis != first.axis || cut.extent != first.extent)
        return "slices: want equally long ones of one tensor";
      if (cut.start != int64_t(i) * first.extent) return "slices: want them joined in their order";
    }
    if (graph_.shape(first.parent).from_end(first.axis) != int64_t(s.regions.size()) * first.extent)
      return "slices: want all of the tensor";
    return operands.push_back(first.parent), axes.push_back(first.axis), nullptr;
  }

  bool refuse(const Slices& s, std::string reason) {
    const std::string source = graph_.source_text(graph_.node(s.concat));
    context_.report.candidates.push_back({"fuse_batch", "batch", source, false, std::move(reason)});
    return false;
  }

  Result<bool> fuse(const Slices& s) {
    std::vector<ValueId> operands;
    std::vector<int64_t> axes;
    if (const char* reason = misfit(s, operands, axes)) return refuse(s, reason);
    axes.push_back(s.axis);
    graph_.set_sources(graph_.node(s.concat).sources), graph_.set_device(context_.number);
    const auto region = graph_.emit_node(FRL_OP_batch,
                                         Attributes(FRL_OP_batch)
                                             .set_list(FRL_AT_batch_axes, axes)
                                             .set_i(FRL_AT_batch_slices, int64_t(s.regions.size())),
                                         operands, {graph_.node(s.regions[0]).bodies[0]});
    if (!region.ok()) return refuse(s, region.status().message());
    std::vector<NodeId> members = s.regions;
    for (NodeId id : s.regions)
      for (ValueId operand : graph_.node(id).operands)
        if (cut_of(graph_, operand).axis != 0 && uses_[index(operand)] == 1)
          members.push_back(graph_.value(operand).maker);
    members.push_back(s.concat);
    if (!admit(graph_, context_, "fuse_batch", *region, members)) return false;
    graph_.replace(graph_.node(s.concat).results[0], graph_.node(*region).results[0]);
    return true;
  }

  Graph& graph_;
  PassContext& context_;
  std::vector<uint32_t> uses_;
};

}  // namespace

extern const Pass mark_batch_slices = {
    .name = "mark_batch_slices",
    .doc = "MarkBatchSliceRegions: pointwise nodes over slices that are joined become regions",
    .when = unless_regions,
    .run = [](Graph& g, PassContext& c) { return Batching(g, c).mark(); },
};

extern const Pass fuse_batch = {
    .name = "fuse_batch",
    .doc = "FuseBatchPreprocess: regions over the slices of one tensor become one batch region",
    .when = unless_regions,
    .run = [](Graph& g, PassContext& c) { return Batching(g, c).fuse(); },
};

}  // namespace ferrule
