// make_plan: segments, views, residency, lifetimes, offsets, steps - in this order.
#include <algorithm>
#include <map>
#include <set>

#include "core/base/bytes.h"
#include "core/base/text.h"
#include "core/plan/memory.h"
#include "core/plan/plan.h"

namespace ferrule {
namespace {

constexpr uint32_t kHost = 0;
bool is_control(const Node& node) {
  return node.op == FRL_OP_if || node.op == FRL_OP_while || node.op == FRL_OP_scan;
}

// Bytes that one value, or several that share memory, need in one space.
struct Item {
  uint32_t space = kHost;
  uint64_t size_bytes = 0;
  int64_t first = INT64_MAX, last = -1;
  Place place;  // kind arena: still to be assigned
};

class Planner {
 public:
  Planner(const Graph& graph, std::span<const PlanDevice> devices,
          std::span<const PlanKernel> kernels)
      : graph_(graph), devices_(devices), kernels_(kernels), n_(int64_t(graph.n_nodes())) {}

  Result<Plan> run() {
    cut_segments();
    find_roots();
    name_leaves();
    place_outputs();
    touch_all();
    share_in_place();
    FRL_TRY(assign());
    emit_steps();
    return std::move(plan_);
  }

 private:
  bool is_step(size_t i) const { return kernels_[i].present || is_control(graph_.node(NodeId(i))); }
  uint32_t space_of(int32_t device) const {
    return device < 0 || devices_[size_t(device)].host_memory ? kHost : uint32_t(device) + 1;
  }

  // A segment is a run of steps on one device; control flow stands alone (segment device -1).
  void cut_segments() {
    segment_.assign(size_t(n_), -1);
    int32_t device = -2;
    for (size_t i = 0; i < size_t(n_); ++i) {
      if (!is_step(i)) continue;
      const Node& node = graph_.node(NodeId(i));
      const int32_t here = is_control(node) ? -1 : node.device;
      if (here != device || here == -1)
        segment_first_.push_back(int64_t(i)), segment_last_.push_back(int64_t(i));
      device = here;
      segment_[i] = int64_t(segment_first_.size()) - 1;
      segment_last_.back() = int64_t(i);
    }
  }

  // Views lie where their operand lies.
  void find_roots() {
    root_.resize(graph_.n_values());
    for (size_t v = 0; v < root_.size(); ++v) root_[v] = ValueId(v);
    for (size_t i = 0; i < size_t(n_); ++i) {
      const Node& node = graph_.node(NodeId(i));
      if (!is_step(i)) root_[index(node.results[0])] = root_[index(node.operands[0])];
    }
  }
  ValueId root(ValueId id) const { return root_[index(id)]; }

  void name_leaves() {
    for (size_t i = 0; i < graph_.inputs().size(); ++i) {
      const ValueId id = graph_.inputs()[i];
      const bool state = graph_.value(id).role == Role::state;
      if (state) plan_.states.push_back(id);
      fixed_[id] = {state ? Place::Kind::state : Place::Kind::input,
                    state ? uint32_t(plan_.states.size() - 1) : uint32_t(i)};
    }
  }

  Place leaf(ValueId id) {
    const auto found = fixed_.find(id);
    if (found != fixed_.end()) return found->second;
    plan_.parameters.push_back(id);
    return fixed_[id] = {Place::Kind::parameter, uint32_t(plan_.parameters.size() - 1)};
  }

  // An output of exact shape is written where the caller wants it; others are cut to size
  // afterwards.
  void place_outputs() {
    for (size_t j = 0; j < graph_.outputs().size(); ++j) {
      const ValueId id = graph_.outputs()[j].value;
      if (!graph_.shape(id).is_exact()) continue;
      Item& item = item_of(root(id), kHost);
      if (item.place.kind == Place::Kind::arena) item.place = {Place::Kind::output, uint32_t(j)};
    }
  }

  Item& item_of(ValueId value, uint32_t space) {
    const auto key = std::make_pair(value, space);
    const auto found = item_number_.find(key);
    if (found != item_number_.end()) return items_[found->second];
    item_number_[key] = items_.size();
    items_.push_back(
        {space, align_up(uint64_t(std::max<int64_t>(graph_.type(value).size_bytes(), 1)), 8)});
    items_.back().place.kind = Place::Kind::arena;
    return items_.back();
  }
  // Positions in time: node i runs at 2i; copies before it are made at 2i - 1, copies after it at
  // 2i + 1.
  static int64_t at(int64_t node) { return 2 * node; }
  void touch(Item& item, int64_t position) {
    item.first = std::min(item.first, position), item.last = std::max(item.last, position);
  }

  // Which spaces hold which value, and how long.
  void touch_all() {
    for (size_t i = 0; i < size_t(n_); ++i) {
      if (!is_step(i)) continue;
      const Node& node = graph_.node(NodeId(i));
      const uint32_t space = is_control(node) ? kHost : space_of(node.device);
      for (ValueId result : node.results) {
        touch(item_of(result, space), at(int64_t(i)));
        made_in_[result] = space;
      }
      for (ValueId operand : node.operands)
        if (operand != kNoValue) read(root(operand), space, int64_t(i));
    }
    for (const Output& output : graph_.outputs()) read(root(output.value), kHost, n_);
  }

  void read(ValueId value, uint32_t space, int64_t position) {
    const Value& v = graph_.value(value);
    const bool is_leaf = v.role != Role::computed;
    if (is_leaf && (space == kHost || graph_.known(value))) return void(leaf(value));
    if (is_leaf) leaf(value);
    const uint32_t from = is_leaf ? kHost : made_in_.at(value);
    if (from != space) move(value, is_leaf, from, space, position);
    touch(item_of(value, space), at(position));
  }

  // From one space to another, by way of the host. Both copies are alive while the copy is made: at
  // the end of the segment that made it, and at the start of the one that reads it.
  void move(ValueId value, bool is_leaf, uint32_t from, uint32_t to, int64_t position) {
    if (from != kHost) {
      const int64_t end = segment_last_[size_t(segment_[index(graph_.value(value).maker)])];
      touch(item_of(value, from), at(end) + 1);
      if (copied_out_.insert(value).second) copy_out_[end].push_back(value);
      touch(item_of(value, kHost), at(end) + 1);
    }
    if (to == kHost) return;
    const int64_t start = position == n_ ? n_ : segment_first_[size_t(segment_[size_t(position)])];
    touch(item_of(value, to), at(start) - 1);
    if (!is_leaf) touch(item_of(value, kHost), at(start) - 1);
    if (copied_in_.insert({value, to}).second) copy_in_[start].push_back(value);
  }

  // A kernel that may write its result onto an operand that nobody needs any more does so.
  void share_in_place() {
    for (size_t i = 0; i < size_t(n_); ++i) {
      const Node& node = graph_.node(NodeId(i));
      for (const frl_alias& alias : kernels_[i].aliases) {
        if (alias.input >= node.operands.size() || alias.output >= node.results.size() ||
            node.operands[alias.input] == kNoValue)
          continue;
        const ValueId from = root(node.operands[alias.input]), to = node.results[alias.output];
        if (graph_.value(from).role != Role::computed ||
            graph_.type(node.operands[alias.input]).size_bytes() != graph_.type(to).size_bytes())
          continue;
        const auto a = item_number_.find({from, space_of(node.device)}),
                   b = item_number_.find({to, space_of(node.device)});
        if (a == item_number_.end() || b == item_number_.end() || a->second == b->second) continue;
        Item &old = items_[a->second], &fresh = items_[b->second];
        const bool free = old.last == at(int64_t(i)) && old.place.kind == Place::Kind::arena &&
                          fresh.place.kind == Place::Kind::arena &&
                          old.size_bytes == fresh.size_bytes && reads_once(node, from);
        if (!free) continue;
        old.last = std::max(old.last, fresh.last);
        fresh.last = -1;  // no memory of its own
        b->second = a->second;
        break;
      }
    }
  }
  bool reads_once(const Node& node, ValueId value) const {
    int64_t n = 0;
    for (ValueId operand : node.operands) n += operand != kNoValue && root(operand) == value;
    return n == 1;
  }

  Status assign() {
    // Room beside values: scratch, loop spares, slices.
    for (size_t i = 0; i < size_t(n_); ++i) {
      const Node& node = graph_.node(NodeId(i));
      if (kernels_[i].present && kernels_[i].scratch_bytes)
        scratch_[i] = extra(space_of(node.device), kernels_[i].scratch_bytes, at(int64_t(i)));
      if (is_control(node)) control_room(node, i);
    }
    plan_.arena_bytes.resize(devices_.size() + 1);
    for (uint32_t space = 0; space <= devices_.size(); ++space) {
      std::vector<MemoryItem> memory;
      std::vector<size_t> which;
      for (size_t k = 0; k < items_.size(); ++k) {
        const Item& item = items_[k];
        if (item.space != space || item.place.kind != Place::Kind::arena || item.last < 0) continue;
        memory.push_back({item.size_bytes, item.first, item.last});
        which.push_back(k);
      }
      MemoryLimits limits;
      if (space) limits = {devices_[space - 1].align_bytes, devices_[space - 1].max_alloc_bytes};
      for (const PlanDevice& device : devices_)
        if (space == kHost && device.host_memory)
          limits.align_bytes = std::max(limits.align_bytes, device.align_bytes);
      plan_.live_bytes += most_live_bytes(memory);
      FRL_LET(plan_.arena_bytes[space], assign_offsets(memory, limits));
      for (size_t k = 0; k < which.size(); ++k)
        items_[which[k]].place = {Place::Kind::arena, space, memory[k].block, memory[k].offset};
    }
    return {};
  }

  size_t extra(uint32_t space, uint64_t size_bytes, int64_t position) {
    items_.push_back({space, align_up(size_bytes, 8), position, position});
    items_.back().place.kind = Place::Kind::arena;
    return items_.size() - 1;
  }

  void control_room(const Node& node, size_t i) {
    const auto room = [&](const TensorType& type) {
      return extra(kHost, uint64_t(std::max<int64_t>(type.size_bytes(), 1)), at(int64_t(i)));
    };
    ControlRoom& out = control_[i];
    if (node.op == FRL_OP_if) return;
    const auto carried = size_t(
        node.attributes.i(node.op == FRL_OP_while ? FRL_AT_while_carried : FRL_AT_scan_carried));
    for (size_t k = 0; k < carried; ++k) out.spare.push_back(room(graph_.type(node.results[k])));
    if (node.op == FRL_OP_while) {
      out.slices.push_back(extra(kHost, 8, at(int64_t(i))));  // the condition
      return;
    }
    const Graph& body = *node.bodies[0];
    const auto sliced = size_t(node.attributes.i(FRL_AT_scan_sliced));
    for (size_t k = 0; k < sliced; ++k)
      out.slices.push_back(room(body.type(body.inputs()[carried + k])));
    for (size_t k = carried; k < body.outputs().size(); ++k)
      out.slices.push_back(room(body.type(body.outputs()[k].value)));
  }

  // ---- steps ----

  Place where(ValueId value, uint32_t space) {
    const ValueId r = root(value);
    if (graph_.value(r).role != Role::computed && (space == kHost || graph_.known(r)))
      return leaf(r);
    return items_[item_number_.at({r, space})].place;
  }

  void emit_steps() {
    plan_.symbol_slot.assign(graph_.symbols().size(), -1);
    plan_.symbol_device.assign(graph_.symbols().size(), 0);
    plan_.extents_count.assign(devices_.size(), 0);
    for (size_t i = 0; i < size_t(n_); ++i) {
      if (!is_step(i)) continue;
      const Node& node = graph_.node(NodeId(i));
      if (const auto found = copy_in_.find(int64_t(i)); found != copy_in_.end())
        copies(found->second, uint32_t(node.device), true);
      if (is_control(node))
        control_step(node, i);
      else
        kernel_step(node, i);
      if (const auto found = copy_out_.find(int64_t(i)); found != copy_out_.end())
        copies(found->second, uint32_t(node.device), false);
    }
    settle(-1);
    for (const Output& output : graph_.outputs())
      plan_.outputs.push_back({where(output.value, kHost), graph_.type(output.value)});
  }

  // Work on another device, or on the host, waits for what was submitted before: memory is shared.
  void settle(int32_t next) {
    if (busy_ >= 0 && busy_ != next && !devices_[size_t(busy_)].is_inline)
      plan_.steps.push_back(WaitStep{uint32_t(busy_)});
    if (busy_ != next) busy_ = -1;
  }

  void copies(const std::vector<ValueId>& values, uint32_t device, bool to_device) {
    settle(int32_t(device));
    CopyStep step{device, to_device, {}};
    for (ValueId value : values) {
      const Place host = graph_.value(value).role == Role::computed
                             ? items_[item_number_.at({value, kHost})].place
                             : leaf(value);
      const Place there = items_[item_number_.at({value, device + 1})].place;
      const auto size = uint64_t(graph_.type(value).size_bytes());
      step.copies.push_back(to_device ? CopyStep::Copy{there, host, size, value}
                                      : CopyStep::Copy{host, there, size, value});
    }
    plan_.steps.push_back(std::move(step));
    busy_ = int32_t(device);
  }

  void kernel_step(const Node& node, size_t i) {
    const uint32_t space = space_of(node.device);
    KernelStep step{NodeId(i), {}};
    for (size_t k = 0; k < node.operands.size(); ++k) {
      if (node.operands[k] == kNoValue) continue;
      step.args.push_back(packed(node, i, uint32_t(k)));
      if (step.args.back().kind == Place::Kind::none)
        step.args.back() = where(node.operands[k], space);
    }
    for (ValueId result : node.results)
      step.args.push_back(items_[item_number_.at({result, space})].place);
    if (const uint32_t symbol = written_symbol(node)) {
      const auto device = uint32_t(node.device);
      step.args.push_back({Place::Kind::extents, device, 0, plan_.extents_count[device] * 8});
      plan_.symbol_slot[symbol - 1] = plan_.extents_count[device]++;
      plan_.symbol_device[symbol - 1] = device;
    }
    if (kernels_[i].scratch_bytes) step.args.push_back(items_[scratch_.at(i)].place);
    settle(node.device);
    if (busy_ != node.device || !std::holds_alternative<SubmitStep>(plan_.steps.back()))
      plan_.steps.push_back(SubmitStep{uint32_t(node.device), {}});
    busy_ = node.device;
    std::get<SubmitStep>(plan_.steps.back()).kernels.push_back(std::move(step));
  }

  uint32_t written_symbol(const Node& node) const {
    for (ValueId result : node.results)
      for (const Dim& dim : graph_.shape(result).dims())
        if (dim.symbol && graph_.symbols()[dim.symbol - 1].written) return dim.symbol;
    return 0;
  }

  // The packed copy of an operand, if the kernel wants one. Kind none if not.
  Place packed(const Node& node, size_t i, uint32_t operand) {
    for (const frl_pack& pack : kernels_[i].packs) {
      if (pack.input != operand) continue;
      const uint32_t parameter = leaf(root(node.operands[operand])).number;
      const auto device = uint32_t(node.device);
      for (uint32_t p = 0; p < plan_.packs.size(); ++p) {
        const PackPlan& other = plan_.packs[p];
        if (other.parameter == parameter && other.device == device && other.key == pack.key)
          return {Place::Kind::pack, p};
      }
      plan_.packs.push_back({parameter, device, NodeId(i), operand, pack.key, pack.bytes});
      return {Place::Kind::pack, uint32_t(plan_.packs.size() - 1)};
    }
    return {};
  }

  void control_step(const Node& node, size_t i) {
    settle(-1);
    ControlStep step{NodeId(i), {}, {}, {}, {}};
    for (ValueId operand : node.operands)
      if (operand != kNoValue) step.operands.push_back(where(operand, kHost));
    for (ValueId result : node.results)
      step.results.push_back(items_[item_number_.at({result, kHost})].place);
    for (size_t k : control_[i].spare) step.spare.push_back(items_[k].place);
    for (size_t k : control_[i].slices) step.slices.push_back(items_[k].place);
    plan_.steps.push_back(std::move(step));
  }

  struct ControlRoom {
    std::vector<size_t> spare, slices;
  };

  const Graph& graph_;
  std::span<const PlanDevice> devices_;
  std::span<const PlanKernel> kernels_;
  const int64_t n_;
  Plan plan_;
  std::vector<int64_t> segment_, segment_first_, segment_last_;
  std::vector<ValueId> root_;
  std::map<ValueId, Place> fixed_;
  std::map<ValueId, uint32_t> made_in_;
  std::vector<Item> items_;
  std::map<std::pair<ValueId, uint32_t>, size_t> item_number_;
  std::map<int64_t, std::vector<ValueId>> copy_in_, copy_out_;  // before, after that position
  std::set<ValueId> copied_out_;
  std::set<std::pair<ValueId, uint32_t>> copied_in_;
  std::map<size_t, size_t> scratch_;
  std::map<size_t, ControlRoom> control_;
  int32_t busy_ = -1;  // device with work that nobody has waited for
};

}  // namespace

Result<Plan> make_plan(const Graph& graph, std::span<const PlanDevice> devices,
                       std::span<const PlanKernel> kernels) {
  return Planner(graph, devices, kernels).run();
}

}  // namespace ferrule
