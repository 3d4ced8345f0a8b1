// The independent checker: replays the steps over a picture of memory in which every byte range
// remembers the value that was last written there.
#include <algorithm>

#include "core/base/text.h"
#include "core/plan/plan.h"

namespace ferrule {
namespace {

struct Range {
  Place place;
  uint64_t size_bytes = 0;
  ValueId value = kNoValue;

  bool same_memory(const Range& o) const {
    return place.kind == o.place.kind && place.number == o.place.number &&
           place.block == o.place.block;
  }
  bool overlaps(const Range& o) const {
    return same_memory(o) && place.offset < o.place.offset + o.size_bytes &&
           o.place.offset < place.offset + size_bytes;
  }
};

class Replay {
 public:
  Replay(const Graph& graph, const Plan& plan, std::span<const PlanKernel> kernels)
      : graph_(graph), plan_(plan), kernels_(kernels) {}

  Status run() {
    find_storage();
    for (const Step& step : plan_.steps) {
      ++number_;
      FRL_TRY(std::visit([this](const auto& s) { return replay(s); }, step));
    }
    for (size_t j = 0; j < plan_.outputs.size(); ++j)
      FRL_TRY(reads(graph_.outputs()[j].value, plan_.outputs[j].place, "output"));
    return {};
  }

 private:
  Status broken(std::string text) const {
    return Status(Code::internal, cat("plan: step ", number_, ": ", text));
  }

  // A value that no step makes is the value of its maker's first operand.
  void find_storage() {
    std::vector<bool> stepped(graph_.n_nodes());
    for (const Step& step : plan_.steps) {
      if (const auto* submit = std::get_if<SubmitStep>(&step))
        for (const KernelStep& kernel : submit->kernels) stepped[index(kernel.node)] = true;
      if (const auto* control = std::get_if<ControlStep>(&step))
        stepped[index(control->node)] = true;
    }
    storage_.resize(graph_.n_values());
    for (size_t v = 0; v < storage_.size(); ++v) {
      ValueId at{uint32_t(v)};
      for (const Node* maker = graph_.maker(at); maker && !stepped[index(graph_.value(at).maker)];
           maker = graph_.maker(at))
        at = maker->operands[0];
      storage_[v] = at;
    }
  }

  uint64_t size_of(ValueId value) const { return uint64_t(graph_.type(value).size_bytes()); }

  Status inside(const Range& range) const {
    if (range.place.kind != Place::Kind::arena) return {};
    const auto& arenas = plan_.arena_bytes;
    const bool fits =
        range.place.number < arenas.size() &&
        range.place.block < arenas[range.place.number].size() &&
        range.place.offset + range.size_bytes <= arenas[range.place.number][range.place.block];
    return fits ? Status()
                : broken(cat("want a place inside the arena, got offset ", range.place.offset));
  }

  Status reads(ValueId value, const Place& place, const char* what) {
    const Range range{place, size_of(value), storage_[index(value)]};
    if (range.size_bytes == 0 || place.kind == Place::Kind::pack ||
        place.kind == Place::Kind::parameter || place.kind == Place::Kind::input ||
        place.kind == Place::Kind::state)
      return {};
    FRL_TRY(inside(range));
    for (const Range& held : memory_)
      if (held.same_memory(range) && held.place.offset == place.offset && held.value == range.value)
        return {};
    return broken(cat(what, ": want value ", index(range.value),
                      " there, but it was overwritten or never written"));
  }

  Status writes(ValueId value, const Place& place) {
    const Range range{place, size_of(value), storage_[index(value)]};
    FRL_TRY(inside(range));
    std::erase_if(memory_, [&](const Range& held) { return held.overlaps(range); });
    memory_.push_back(range);
    return {};
  }

  Status replay(const SubmitStep& step) {
    for (const KernelStep& kernel : step.kernels) FRL_TRY(replay_kernel(kernel));
    return {};
  }

  Status replay_kernel(const KernelStep& step) {
    const Node& node = graph_.node(step.node);
    size_t a = 0;
    std::vector<Range> in, out;
    std::vector<uint32_t> in_number;
    for (size_t i = 0; i < node.operands.size(); ++i) {
      if (node.operands[i] == kNoValue) continue;
      FRL_TRY(reads(node.operands[i], step.args[a], "operand"));
      in.push_back({step.args[a++], size_of(node.operands[i]), node.operands[i]});
      in_number.push_back(uint32_t(i));
    }
    for (ValueId result : node.results) out.push_back({step.args[a++], size_of(result), result});
    for (size_t r = 0; r < out.size(); ++r) {
      for (size_t i = 0; i < in.size(); ++i)
        if (out[r].overlaps(in[i]) &&
            !may_alias(step.node, in_number[i], uint32_t(r), in[i], out[r]))
          return broken(cat("result ", r, " lies on operand ", in_number[i], " and may not"));
      for (size_t q = 0; q < r; ++q)
        if (out[r].overlaps(out[q])) return broken(cat("results ", q, " and ", r, " overlap"));
    }
    if (const uint64_t scratch = kernels_[index(step.node)].scratch_bytes) {
      const Range room{step.args.back(), scratch, kNoValue};
      FRL_TRY(inside(room));
      for (const auto* side : {&in, &out})
        for (const Range& range : *side)
          if (room.overlaps(range)) return broken("scratch overlaps an argument");
      std::erase_if(memory_, [&](const Range& held) { return held.overlaps(room); });
    }
    for (size_t r = 0; r < out.size(); ++r) FRL_TRY(writes(node.results[r], out[r].place));
    return {};
  }

  bool may_alias(NodeId node, uint32_t input, uint32_t output, const Range& in,
                 const Range& out) const {
    if (in.place.offset != out.place.offset || in.size_bytes != out.size_bytes) return false;
    const auto& rows = kernels_[index(node)].aliases;
    return std::any_of(rows.begin(), rows.end(),
                       [&](const frl_alias& a) { return a.input == input && a.output == output; });
  }

  Status replay(const CopyStep& step) {
    for (const CopyStep::Copy& copy : step.copies) {
      FRL_TRY(reads(copy.value, copy.source, "copy"));
      FRL_TRY(writes(copy.value, copy.target));
    }
    return {};
  }

  Status replay(const WaitStep&) { return {}; }

  Status replay(const ControlStep& step) {
    const Node& node = graph_.node(step.node);
    size_t a = 0;
    for (ValueId operand : node.operands)
      if (operand != kNoValue) FRL_TRY(reads(operand, step.operands[a++], "operand"));
    for (size_t r = 0; r < node.results.size(); ++r) {
      // Loops read their operands while they write their results.
      const Range result{step.results[r], size_of(node.results[r]), kNoValue};
      a = 0;
      for (ValueId operand : node.operands) {
        if (operand == kNoValue) continue;
        if (result.overlaps({step.operands[a++], size_of(operand), operand}))
          return broken("a result of control flow lies on an operand");
      }
      FRL_TRY(writes(node.results[r], step.results[r]));
    }
    return {};
  }

  const Graph& graph_;
  const Plan& plan_;
  std::span<const PlanKernel> kernels_;
  std::vector<ValueId> storage_;
  std::vector<Range> memory_;
  size_t number_ = 0;
};

}  // namespace

Status check_plan(const Graph& graph, const Plan& plan, std::span<const PlanKernel> kernels) {
  return Replay(graph, plan, kernels).run();
}

}  // namespace ferrule
