#include "core/place/place.h"

#include <algorithm>

#include "core/base/text.h"
#include "core/pass/region.h"

namespace ferrule {
namespace {

bool is_control(const Node& node) {
  const OpRow* row = find_op(node.op);
  return row && row->form == Form::control;
}

Option decomposed(const Graph& graph, const Node& node, const DeviceRow& device, uint32_t compute,
                  Refusal why) {
  Option out{Support::refused, std::move(why)};
  const auto body = region_body(graph, node);
  if (!body.ok()) return out;
  Graph scratch = **body;
  const size_t n_nodes = scratch.n_nodes();
  for (size_t i = 0; i < n_nodes; ++i) {
    const Option part = support_of(scratch, NodeId(i), device, compute);
    if (part.support == Support::refused) {
      out.refusal.text += cat("; its expansion has ", op_row(scratch.node(NodeId(i)).op).name, ": ",
                              part.refusal.text);
      return out;
    }
    out.time_ps += part.time_ps;
  }
  return {Support::decomposed, {}, out.time_ps};
}

class Placing {
 public:
  Placing(Graph& graph, std::span<const Target> targets, uint32_t compute)
      : graph_(graph), targets_(targets), compute_(compute), home_(graph.n_values(), -1) {}

  Result<Placement> run() {
    const size_t n_nodes = graph_.n_nodes();
    for (size_t i = 0; i < n_nodes; ++i) node(NodeId(i));
    graph_.set_sources({}), graph_.set_device(-1);
    graph_.compact();  // probing left nodes behind
    if (unsupported_.empty()) return std::move(out_);
    constexpr size_t kMost = 20;
    std::string text = cat("placement: want every node on a device, got ", unsupported_.size(),
                           " that none runs:");
    for (size_t i = 0; i < std::min(unsupported_.size(), kMost); ++i)
      text += cat("\n  ", unsupported_[i]);
    if (unsupported_.size() > kMost) text += cat("\n  and ", unsupported_.size() - kMost, " more");
    text += "\n  targets.order or targets.also in the config may name more devices";
    return Status(Code::no_device, std::move(text));
  }

 private:
  void node(NodeId id) {
    PlacedNode placed;
    placed.nodes = graph_.source_text(graph_.node(id)), placed.op = op_row(graph_.node(id).op).name;
    if (!is_control(graph_.node(id))) {
      for (const Target& target : targets_)
        placed.options.push_back(support_of(graph_, id, *target.row, compute_));
      charge_transfers(graph_.node(id), placed);
      placed.device = cheapest(placed, false);
      if (placed.device < 0) placed.device = cheapest(placed, true);
      if (placed.device < 0) complain(placed);
    }
    Node& node = graph_.node(id);
    node.device = placed.device;
    for (ValueId result : node.results) home_[index(result)] = placed.device;
    out_.nodes.push_back(std::move(placed));
  }

  // Parameters and literals move free: they are uploaded once.
  void charge_transfers(const Node& node, PlacedNode& placed) const {
    for (ValueId operand : node.operands) {
      if (operand == kNoValue || graph_.known(operand)) continue;
      const int32_t from = index(operand) < home_.size() ? home_[index(operand)] : -1;
      const double kib = double(graph_.type(operand).size_bytes()) / 1024;
      for (size_t t = 0; t < targets_.size(); ++t) {
        if (from == int32_t(t)) continue;
        const Cost& to = targets_[t].row->cost;
        double ps = kib * double(to.to_device_ps_per_kib) + double(to.round_trip_ps);
        if (from >= 0)
          ps += kib * double(targets_[size_t(from)].row->cost.from_device_ps_per_kib) +
                double(targets_[size_t(from)].row->cost.round_trip_ps);
        placed.options[t].transfer_ps += int64_t(ps);
      }
    }
  }

  int32_t cheapest(const PlacedNode& placed, bool also) const {
    int32_t best = -1;
    for (size_t t = 0; t < targets_.size(); ++t) {
      const Option& option = placed.options[t];
      if (option.support == Support::refused || targets_[t].also != also) continue;
      const auto cost = [](const Option& o) { return o.time_ps + o.transfer_ps; };
      if (best < 0 || cost(option) < cost(placed.options[size_t(best)])) best = int32_t(t);
    }
    return best;
  }

  void complain(const PlacedNode& placed) {
    std::string text = cat(placed.nodes, " as ", placed.op);
    for (size_t t = 0; t < targets_.size(); ++t)
      text += cat("; ", targets_[t].id, ": ", placed.options[t].refusal.text);
    unsupported_.push_back(std::move(text));
  }

  Graph& graph_;
  std::span<const Target> targets_;
  uint32_t compute_;
  std::vector<int32_t> home_;
  Placement out_;
  std::vector<std::string> unsupported_;
};

}  // namespace

Option support_of(Graph& graph, NodeId id, const DeviceRow& device, uint32_t compute) {
  const int64_t time = time_ps(device.cost, profile_node(graph, graph.node(id)), compute);
  if (is_view(graph.node(id))) return {Support::native, {}, 0};
  Answer answer = match_claims(device, graph, graph.node(id), compute);
  if (answer.claim) return {Support::native, {}, time};
  const OpRow* row = find_op(graph.node(id).op);
  if (row && row->form == Form::pointwise && find_claim(device, FRL_OP_pointwise)) {
    const ValueId result = graph.node(id).results[0];
    const auto region =
        emit_region(graph, FRL_OP_pointwise, std::span(&id, 1), std::span(&result, 1));
    if (!region.ok())
      return {Support::refused, {region.status().code(), region.status().message()}};
    answer = match_claims(device, graph, graph.node(*region), compute);
    if (answer.claim) return {Support::native, {}, time};
  }
  if (row && row->form == Form::closed)
    return decomposed(graph, graph.node(id), device, compute, answer.refusal);
  return {Support::refused, answer.refusal};
}

Result<Placement> place(Graph& graph, std::span<const Target> targets, uint32_t compute) {
  return Placing(graph, targets, compute).run();
}

}  // namespace ferrule
