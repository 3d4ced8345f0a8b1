#include "plugins/cpu/program.h"

#include <algorithm>

#include "plugin-api/sdk/part.h"
#include "plugins/cpu/parts.h"

namespace cpu {
namespace {

constexpr uint64_t kAlign = 64;         // of values in scratch
constexpr uint32_t kAnyAddress = 1;     // what arguments are promised to have
constexpr size_t kMostArguments = 256;  // of one step

uint64_t aligned(uint64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

bool is_pointwise(const frl::Region& region, uint32_t number) {
  const frl::OpRow* row = frl::find_op(region.node(number).op);
  return row && row->form == frl::Form::POINTWISE;
}

// Splits a body into parts and compiles them.
class Builder {
 public:
  Builder(const Context& context, const frl::Region& region, const std::vector<Access>& access)
      : context_(context),
        region_(region),
        body_(region.body(0)),
        access_(access),
        uses_(region.n_values()) {
    out_.homes.resize(region.n_values());
    for (uint32_t id : body_.outputs) {
      if (is_inner_literal(id))
        throw frl::Failure(FRL_NO_BODY, "body: want no output that is a literal");
      uses_[id].push_back(body_.n_nodes);
    }
    for (uint32_t i = 0; i < body_.n_nodes; ++i)
      for (uint32_t id : region.node(body_.first_node + i).operands)
        if (id != FRL_NO_VALUE) uses_[id].push_back(i);
    find_arguments();
  }

  Program build() && {
    const uint64_t inner = settle();
    const PartFinder finder(region_, uses_);
    const auto kind_at = [&](uint32_t first) { return dense(finder.at(first)); };
    for (uint32_t first = 0; first < body_.n_nodes;) {
      if (is_view(region_.node(body_.first_node + first)) && ++first) continue;
      if (auto request = kind_at(first)) {
        first += request->n_nodes;
        add_step(flagged(std::move(*request)), inner);
        continue;
      }
      uint32_t end = first + 1;
      while (end < body_.n_nodes && joins(first, end) && !kind_at(end)) ++end;
      add_step(request_of(first, end), inner);
      first = end;
    }
    out_.scratch_bytes = inner + most_scratch_;
    return std::move(out_);
  }

 private:
  bool has_gaps(uint32_t id) const {
    return id != FRL_NO_VALUE && out_.homes[id].argument >= 0 && is_input(id) &&
           !region_.value(id).is_dense();
  }
  // Pointwise parts read by strides; the nodes of a kind may be pointwise, its kernel is not.
  std::optional<frl::PartRequest> dense(std::optional<frl::PartRequest> kind) const {
    const bool gaps =
        kind && std::ranges::any_of(kind->inputs, [&](uint32_t id) { return has_gaps(id); });
    return gaps ? std::nullopt : std::move(kind);
  }

  // Gives every value that has no home one in scratch; where that ends.
  uint64_t settle() {
    uint64_t end = 0;
    const auto keep = [&](uint32_t id) {
      if (id == FRL_NO_VALUE) return;
      Home& home = out_.homes[id];
      if (home.argument >= 0 || home.offset != UINT64_MAX) return;
      home.offset = end, end += aligned(uint64_t(region_.value(id).bytes()));
    };
    for (uint32_t id : body_.inputs) keep(id);
    for (uint32_t i = 0; i < body_.n_nodes; ++i) {
      const frl::Node node = region_.node(body_.first_node + i);
      if (is_view(node))
        out_.homes[node.results[0]] = out_.homes[node.operands[0]];
      else
        for (uint32_t id : node.results) keep(id);
    }
    return end;
  }
  // A reshape of dense elements that stay inside: the same bytes.
  bool is_view(const frl::Node& node) const {
    return node.op == FRL_OP_reshape && !is_inner_literal(node.operands[0]) &&
           std::ranges::find(body_.outputs, node.results[0]) == body_.outputs.end();
  }
  void find_arguments() {
    for (size_t i = 0; i < region_.n_inputs(); ++i)
      if (body_.inputs[i] != FRL_NO_VALUE && access_[body_.inputs[i]] != Access::inside)
        out_.homes[body_.inputs[i]].argument = region_.operand_of(region_.input(i)).argument;
    for (size_t i = 0; i < region_.n_outputs(); ++i)
      if (out_.homes[body_.outputs[i]].argument < 0 && access_[body_.outputs[i]] != Access::inside)
        out_.homes[body_.outputs[i]].argument = region_.output_argument(i);
  }
  // Pointwise neighbours of one shape are one part.
  bool joins(uint32_t first, uint32_t next) const {
    const uint32_t a = body_.first_node + first, b = body_.first_node + next;
    return is_pointwise(region_, a) && is_pointwise(region_, b) &&
           std::ranges::equal(region_.value(region_.node(a).results[0]).shape(),
                              region_.value(region_.node(b).results[0]).shape());
  }

  frl::PartRequest request_of(uint32_t first, uint32_t end) const {
    frl::PartRequest request;
    request.first_node = body_.first_node + first, request.n_nodes = end - first;
    const bool pointwise = is_pointwise(region_, request.first_node);
    request.kind = pointwise ? uint32_t(FRL_OP_pointwise) : region_.node(request.first_node).op;
    for (uint32_t i = first; i < end; ++i) {
      const frl::Node node = region_.node(body_.first_node + i);
      for (uint32_t id : node.operands) add_input(request, id, pointwise);
      for (uint32_t id : node.results)
        if (!pointwise || is_used_behind(id, end)) request.outputs.push_back(id);
    }
    return flagged(std::move(request));
  }
  // A packed input comes as an argument, to one step.
  frl::PartRequest flagged(frl::PartRequest request) const {
    for (uint32_t id : request.inputs) {
      if (id == FRL_NO_VALUE || out_.homes[id].argument < 0) continue;
      if (access_[id] == Access::whole && uses_[id].size() == 1 && region_.value(id).is_parameter())
        request.parameters.push_back(id);
      if (has_gaps(id)) request.strided.push_back(id);
    }
    return request;
  }
  bool is_input(uint32_t id) const {
    return std::ranges::find(body_.inputs, id) != body_.inputs.end();
  }

  void add_step(const frl::PartRequest& request, uint64_t scratch) {
    const frl::Part part(region_, request, kAnyAddress);
    Step step;
    step.kernel = compile_region(context_, frl::Region(part.region()));
    for (uint32_t id : request.inputs)
      if (id != FRL_NO_VALUE) step.args.push_back(out_.homes[id]);
    for (uint32_t id : request.outputs) step.args.push_back(out_.homes[id]);
    if (step.kernel->scratch_bytes) step.args.push_back({-1, scratch});
    if (step.args.size() > kMostArguments)
      throw frl::Failure(FRL_NO_ROOM, "body: want at most 256 operands of one node");
    most_scratch_ = std::max(most_scratch_, step.kernel->scratch_bytes);
    for (const frl_pack& pack : step.kernel->packs) {
      out_.packs.push_back(
          {input_of(request.inputs[pack.input]), pack.space, pack.key, pack.bytes});
      out_.owners.push_back(out_.steps.size());
    }
    out_.steps.push_back(std::move(step));
  }
  // A pointwise part names each input once; other ops have their operands in order.
  void add_input(frl::PartRequest& request, uint32_t id, bool pointwise) const {
    if (id != FRL_NO_VALUE && is_inner_literal(id)) return;
    const bool known = std::ranges::find(request.inputs, id) != request.inputs.end();
    if (pointwise && (id == FRL_NO_VALUE || known || is_inside(request, id))) return;
    request.inputs.push_back(id);
  }
  bool is_inside(const frl::PartRequest& request, uint32_t id) const {
    for (uint32_t i = 0; i < request.n_nodes; ++i)
      for (uint32_t result : region_.node(request.first_node + i).results)
        if (result == id) return true;
    return false;
  }
  bool is_inner_literal(uint32_t id) const {
    return !region_.value(id).literal.empty() && !is_input(id);
  }
  bool is_used_behind(uint32_t id, uint32_t end) const {
    return std::any_of(uses_[id].begin(), uses_[id].end(),
                       [&](uint32_t use) { return use >= end; });
  }
  uint32_t input_of(uint32_t id) const {
    return uint32_t(std::find(body_.inputs.begin(), body_.inputs.end(), id) - body_.inputs.begin());
  }

  const Context& context_;
  const frl::Region& region_;
  frl::Body body_;
  const std::vector<Access>& access_;
  std::vector<std::vector<uint32_t>> uses_;  // by value: nodes of the body; behind them: outputs
  Program out_;
  uint64_t most_scratch_ = 0;  // of one step
};

}  // namespace

void Program::run(std::byte* const* given, std::byte* scratch, const frl::Call& call) const {
  std::byte* args[kMostArguments];
  for (const Step& step : steps) {
    for (size_t i = 0; i < step.args.size(); ++i)
      args[i] =
          step.args[i].argument >= 0 ? given[step.args[i].argument] : scratch + step.args[i].offset;
    step.kernel->run({args, call.extents, call.host});
  }
}

void Program::pack(uint32_t input, const std::byte* source, std::byte* target,
                   const frl_host* host) const {
  size_t first = 0;  // packs of a step lie side by side
  for (size_t p = 0; p < packs.size(); ++p) {
    if (p > 0 && owners[p] != owners[p - 1]) first = p;
    if (packs[p].input != input) continue;
    const frl::Kernel& owner = *steps[owners[p]].kernel;
    return owner.pack(owner.packs[p - first].input, source, target, host);
  }
}

bool takes_strides(const frl::Region& region, uint32_t id) {
  const frl::Body body = region.body(0);
  if (std::ranges::find(body.outputs, id) != body.outputs.end()) return false;
  for (uint32_t i = body.first_node; i < body.first_node + body.n_nodes; ++i) {
    const auto operands = region.node(i).operands;
    if (!is_pointwise(region, i) && std::ranges::find(operands, id) != operands.end()) return false;
  }
  return true;
}

Program build_program(const Context& context, const frl::Region& region,
                      const std::vector<Access>& access) {
  return Builder(context, region, access).build();
}

}  // namespace cpu
