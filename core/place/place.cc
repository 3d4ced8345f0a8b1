#include "core/place/place.h"

#include <algorithm>

#include "core/base/text.h"
#include "core/pass/region.h"
#include "core/place/assign.h"
#include "core/place/lock.h"
#include "core/place/price.h"

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

// "want WANT, got 2 without one:", a line for each, and the hint.
Status every_fault(Code code, std::string want, std::span<const std::string> faults,
                   const char* hint) {
  constexpr size_t kMost = 8;
  std::string text = cat("placement: want ", want, ", got ", faults.size(), " without one:");
  for (size_t i = 0; i < std::min(faults.size(), kMost); ++i) text += cat("\n  ", faults[i]);
  if (faults.size() > kMost) text += cat("\n  and ", faults.size() - kMost, " more");
  return Status(code, cat(text, "\n  ", hint));
}

class Placing {
 public:
  Placing(Graph& graph, std::span<const Target> targets, const FuseOptions& options,
          const Pinned& pinned)
      : graph_(graph),
        targets_(targets),
        options_(options),
        pinned_(pinned),
        item_(graph.n_nodes(), kNoItem),
        root_(graph.n_values()),
        traffic_(graph.n_values(), kNoTraffic) {}

  Result<Placement> run() {
    ask_targets();
    FRL_TRY(check_support());
    if (pinned_.lock) FRL_TRY(follow_lock());
    FRL_TRY(price());
    list_items();
    list_traffic();
    const Devices devices = assign(problem_);
    out_.predicted_ps = total_ps(problem_, devices);
    settle(devices);
    return std::move(out_);
  }

 private:
  static constexpr int32_t kNoItem = -1, kNoTraffic = -1;
  static constexpr size_t kMostNear = 8;  // faults for which the nearest line is looked for

  const Node& node(size_t i) const { return graph_.node(NodeId(i)); }
  PlacedNode& placed(size_t i) { return out_.nodes[i]; }
  bool is_item(size_t i) const { return !out_.nodes[i].view && !out_.nodes[i].options.empty(); }

  void ask_targets() {
    Graph scratch = graph_;  // asking leaves regions behind
    allowed_.resize(graph_.n_nodes());
    for (size_t i = 0; i < graph_.n_nodes(); ++i) {
      PlacedNode asked;
      asked.nodes = graph_.source_text(node(i)), asked.op = op_row(node(i).op).name;
      asked.view = is_view(node(i));
      if (!is_control(node(i)))
        for (const Target& target : targets_)
          asked.options.push_back(
              support_of(scratch, NodeId(i), *target.row, options_.gate.compute));
      out_.nodes.push_back(std::move(asked));
    }
  }

  // Strict: a target of `also` may run only what no other one can.
  Status check_support() {
    std::vector<std::string> faults;
    for (size_t i = 0; i < out_.nodes.size(); ++i) {
      const auto& options = placed(i).options;
      for (const bool also : {false, true}) {
        if (!allowed_[i].empty()) break;
        for (size_t t = 0; t < options.size(); ++t)
          if (options[t].support != Support::refused && targets_[t].also == also)
            allowed_[i].push_back(uint32_t(t));
      }
      if (!allowed_[i].empty() || options.empty()) continue;
      std::string text = cat(placed(i).nodes, " as ", placed(i).op);
      for (size_t t = 0; t < options.size(); ++t)
        text += cat("; ", targets_[t].id, ": ", options[t].refusal.text);
      faults.push_back(std::move(text));
    }
    if (faults.empty()) return {};
    return every_fault(Code::no_device, "every node on a device", faults,
                       "another device that is present joins by targets.order or targets.also");
  }

  Status follow_lock() {
    const PlacementLock& lock = *pinned_.lock;
    const std::vector<std::string> keys = lock_keys(out_.nodes, pinned_.scope);
    const std::vector<std::string> others = lock.nodes_but(keys);
    std::vector<std::string> faults, ids;
    for (const Target& target : targets_) ids.push_back(json_quote(target.id));
    for (size_t i = 0; i < keys.size(); ++i) {
      if (keys[i].empty()) continue;
      const std::string* id = lock.find(keys[i]);  // quoted
      if (!id && !lock.complete()) continue;
      const size_t t = id ? size_t(std::find(ids.begin(), ids.end(), *id) - ids.begin()) : 0;
      if (!id)
        faults.push_back(
            cat(keys[i], ": no line", faults.size() < kMostNear ? near_text(keys[i], others) : ""));
      else if (t == ids.size())
        faults.push_back(cat(keys[i], ": want one of the targets ", join(ids), ", got ", *id,
                             near_text(*id, ids)));
      else if (const Option& option = placed(i).options[t]; option.support == Support::refused)
        faults.push_back(cat(keys[i], ": ", *id, ": ", option.refusal.text));
      else
        allowed_[i] = {uint32_t(t)};
    }
    if (faults.empty()) return {};
    return every_fault(
        Code::invalid_argument, cat("a usable line of ", lock.name(), " for every node"), faults,
        "--lock-write (placement.lock_write) renews the lock, which may be another model's");
  }

  // Only where there is a choice, and only on devices that may be chosen.
  Status price() {
    std::vector<bool> chosen(targets_.size());
    for (size_t i = 0; i < allowed_.size(); ++i)
      if (is_item(i) && allowed_[i].size() > 1)
        for (uint32_t t : allowed_[i]) chosen[t] = true;
    for (size_t t = 0; t < targets_.size(); ++t)
      if (chosen[t]) FRL_TRY(price_fused(graph_, targets_[t], t, options_, out_.nodes));
    return {};
  }

  void list_items() {
    for (const Target& target : targets_) {
      const Cost& cost = target.row->cost;
      problem_.lanes.push_back({takes_host_addresses(*target.row), int64_t(cost.round_trip_ps),
                                int64_t(cost.to_device_ps_per_kib),
                                int64_t(cost.from_device_ps_per_kib)});
    }
    for (size_t i = 0; i < out_.nodes.size(); ++i) {
      if (!is_item(i)) continue;
      item_[i] = int32_t(problem_.run_ps.size());
      std::vector<int64_t> times(targets_.size(), kNever);
      for (uint32_t t : allowed_[i]) times[t] = placed(i).options[t].time_ps;
      problem_.run_ps.push_back(std::move(times));
    }
  }

  // One traffic for each value that is memory of its own: views lie where their operand lies, and
  // parameters are uploaded once, before any run.
  void list_traffic() {
    for (size_t v = 0; v < root_.size(); ++v) root_[v] = ValueId(v);
    for (size_t i = 0; i < out_.nodes.size(); ++i) {
      if (placed(i).view) root_[index(node(i).results[0])] = root_[index(node(i).operands[0])];
      for (ValueId operand : node(i).operands) {
        Traffic* traffic = operand == kNoValue || placed(i).view ? nullptr : traffic_of(operand);
        if (!traffic) continue;
        if (item_[i] == kNoItem)
          traffic->host_reads = true;
        else
          traffic->readers.push_back(uint32_t(item_[i]));
      }
    }
    std::vector<bool> kept(graph_.outputs().size());
    for (const StatePair& pair : graph_.state_pairs()) {
      // A state lives where its next value is made, from run to run.
      const int32_t updater = maker_of(root_[index(graph_.outputs()[pair.output].value)]);
      kept[pair.output] = updater != kHost;
      if (Traffic* traffic = traffic_of(pair.leaf)) traffic->maker = updater;
    }
    for (size_t j = 0; j < kept.size(); ++j)
      if (Traffic* traffic = kept[j] ? nullptr : traffic_of(graph_.outputs()[j].value))
        traffic->host_reads = true;
  }

  int32_t maker_of(ValueId root) const {
    const NodeId maker = graph_.value(root).maker;
    return maker == kNoNode ? kHost : item_[index(maker)];  // control flow is the host's
  }

  Traffic* traffic_of(ValueId value) {
    const ValueId root = root_[index(value)];
    if (graph_.known(root)) return nullptr;
    int32_t& number = traffic_[index(root)];
    if (number == kNoTraffic) {
      number = int32_t(problem_.traffic.size());
      problem_.traffic.push_back({maker_of(root), {}, false, graph_.type(root).size_bytes()});
    }
    return &problem_.traffic[size_t(number)];
  }

  void settle(const Devices& devices) {
    for (size_t i = 0; i < out_.nodes.size(); ++i) {
      PlacedNode& here = placed(i);
      if (item_[i] != kNoItem) {
        here.device = devices[size_t(item_[i])];
        report_transfers(i, devices);
      } else if (here.view) {
        here.device = view_device(root_[index(node(i).results[0])], devices);
      }
      graph_.node(NodeId(i)).device = here.device;
    }
  }

  // Views of what the host holds go with the first that reads them.
  int32_t view_device(ValueId root, const Devices& devices) const {
    const int32_t number = traffic_[index(root)];
    if (number == kNoTraffic) return 0;
    const Traffic& traffic = problem_.traffic[size_t(number)];
    if (traffic.maker != kHost) return devices[size_t(traffic.maker)];
    return traffic.readers.empty() ? 0 : devices[traffic.readers[0]];
  }

  // What each target would have to fetch for this node, were it the only reader.
  void report_transfers(size_t i, const Devices& devices) {
    for (ValueId operand : node(i).operands) {
      const Traffic* traffic = operand == kNoValue ? nullptr : traffic_of(operand);
      if (!traffic) continue;
      const int32_t from = traffic->maker == kHost ? kHost : devices[size_t(traffic->maker)];
      for (int32_t t = 0; t < int32_t(targets_.size()); ++t) {
        if (t == from || (from == kHost && problem_.lanes[size_t(t)].host_memory)) continue;
        placed(i).options[size_t(t)].transfer_ps +=
            problem_.enter_ps(*traffic, t) +
            (from == kHost ? 0 : problem_.leave_ps(*traffic, from));
      }
    }
  }

  Graph& graph_;
  std::span<const Target> targets_;
  const FuseOptions& options_;
  const Pinned& pinned_;
  Placement out_;
  std::vector<std::vector<uint32_t>> allowed_;  // targets, by node
  Problem problem_;
  std::vector<int32_t> item_;     // by node
  std::vector<ValueId> root_;     // by value: where its elements lie
  std::vector<int32_t> traffic_;  // by root
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

Result<Placement> place(Graph& graph, std::span<const Target> targets, const FuseOptions& options,
                        const Pinned& pinned) {
  return Placing(graph, targets, options, pinned).run();
}

}  // namespace ferrule
