// Control flow: branches and loops over the executables of their bodies.
#include "core/base/text.h"
#include "core/dispatch/context_parts.h"

namespace ferrule {
namespace {

// Bytes of one slice of `whole` along an axis counted from the end, and how they lie.
struct Slicing {
  int64_t outer = 1, length = 0, inner_bytes = 0;
  Slicing(const TensorType& whole, int64_t axis) {
    const auto at = size_t(int64_t(whole.shape.rank()) + axis);
    length = whole.shape[at], inner_bytes = size_bytes(whole.type);
    for (size_t i = 0; i < at; ++i) outer *= whole.shape[i];
    for (size_t i = at + 1; i < whole.shape.rank(); ++i) inner_bytes *= whole.shape[i];
  }
};

void gather(const Slicing& s, const std::byte* whole, std::byte* slice, int64_t number) {
  for (int64_t o = 0; o < s.outer; ++o)
    std::memcpy(slice + o * s.inner_bytes, whole + (o * s.length + number) * s.inner_bytes,
                size_t(s.inner_bytes));
}

void scatter(const Slicing& s, std::byte* whole, const std::byte* slice, int64_t number) {
  for (int64_t o = 0; o < s.outer; ++o)
    std::memcpy(whole + (o * s.length + number) * s.inner_bytes, slice + o * s.inner_bytes,
                size_t(s.inner_bytes));
}

}  // namespace

Status RunContext::step(const ControlStep& step, size_t number) {
  const Node& node = executable_->graph().node(step.node);
  Status status;
  if (node.op == FRL_OP_if)
    status = run_if(step, bodies_[number]);
  else if (node.op == FRL_OP_while)
    status = run_while(step, node, bodies_[number]);
  else
    status = run_scan(step, node, *bodies_[number][0]);
  return std::move(status).within(executable_->graph().source_text(node));
}

Status RunContext::run_if(const ControlStep& step, Bodies& bodies) {
  const bool condition = *reinterpret_cast<const bool*>(host_address(step.operands[0]));
  body_inputs_.clear(), body_outputs_.clear();
  for (size_t i = 1; i < step.operands.size(); ++i)
    body_inputs_.push_back(host_address(step.operands[i]));
  for (const Place& result : step.results) body_outputs_.push_back(host_address(result));
  return bodies[condition ? 0 : 1]->run(body_inputs_, body_outputs_, options_);
}

Status RunContext::run_while(const ControlStep& step, const Node& node, Bodies& bodies) {
  const Graph& graph = executable_->graph();
  const size_t carried = step.results.size();
  const int64_t most = node.attributes.i(FRL_AT_while_max_trips);
  // Carried values alternate between two places: read from one, written to the other.
  body_inputs_.clear(), body_outputs_.clear();
  for (const Place& operand : step.operands) body_inputs_.push_back(host_address(operand));
  for (size_t i = 0; i < carried; ++i) body_outputs_.push_back(host_address(step.results[i]));
  void* condition = host_address(step.slices[0]);
  for (int64_t trip = 0; most == 0 || trip < most; ++trip) {
    if (options_.cancel && __atomic_load_n(options_.cancel, __ATOMIC_RELAXED))
      return Status(Code::cancelled, "loop: cancelled");
    FRL_TRY(bodies[0]->run(body_inputs_, std::span(&condition, 1), options_));
    if (!*static_cast<const bool*>(condition)) break;
    FRL_TRY(bodies[1]->run(body_inputs_, body_outputs_, options_));
    for (size_t i = 0; i < carried; ++i) {
      const void* written = body_outputs_[i];
      body_outputs_[i] =
          trip % 2 == 0 ? host_address(step.spare[i]) : host_address(step.results[i]);
      body_inputs_[i] = written;
    }
  }
  for (size_t i = 0; i < carried; ++i)
    if (body_inputs_[i] != host_address(step.results[i]))
      std::memcpy(host_address(step.results[i]), body_inputs_[i],
                  size_t(graph.type(node.results[i]).size_bytes()));
  return {};
}

Status RunContext::run_scan(const ControlStep& step, const Node& node, RunContext& body) {
  const Graph& graph = executable_->graph();
  const auto carried = size_t(node.attributes.i(FRL_AT_scan_carried)),
             sliced = size_t(node.attributes.i(FRL_AT_scan_sliced));
  const int64_t length = node.attributes.i(FRL_AT_scan_length);
  const auto& axes = node.attributes.list(FRL_AT_scan_axes);
  const auto& reverse = node.attributes.list(FRL_AT_scan_reverse);
  const auto place = [&](size_t i, int64_t trip) {
    return !reverse.empty() && reverse[i] ? length - 1 - trip : trip;
  };
  body_inputs_.clear(), body_outputs_.clear();
  for (const Place& operand : step.operands) body_inputs_.push_back(host_address(operand));
  for (const Place& result : step.results) body_outputs_.push_back(host_address(result));
  for (int64_t trip = 0; trip < length; ++trip) {
    if (options_.cancel && __atomic_load_n(options_.cancel, __ATOMIC_RELAXED))
      return Status(Code::cancelled, "loop: cancelled");
    for (size_t i = 0; i < sliced; ++i) {
      const Slicing s(graph.type(node.operands[carried + i]), axes[i]);
      std::byte* slice = host_address(step.slices[i]);
      gather(s, host_address(step.operands[carried + i]), slice, place(i, trip));
      body_inputs_[carried + i] = slice;
    }
    for (size_t i = sliced; i < step.slices.size(); ++i)
      body_outputs_[carried + i - sliced] = host_address(step.slices[i]);
    FRL_TRY(body.run(body_inputs_, body_outputs_, options_));
    for (size_t i = sliced; i < step.slices.size(); ++i) {
      const size_t result = carried + i - sliced;
      const Slicing s(graph.type(node.results[result]), axes[i]);
      scatter(s, host_address(step.results[result]), host_address(step.slices[i]), place(i, trip));
    }
    for (size_t i = 0; i < carried; ++i) {
      body_inputs_[i] = body_outputs_[i];
      body_outputs_[i] =
          trip % 2 == 0 ? host_address(step.spare[i]) : host_address(step.results[i]);
    }
  }
  for (size_t i = 0; i < carried; ++i)
    if (body_inputs_[i] != host_address(step.results[i]))
      std::memcpy(host_address(step.results[i]), body_inputs_[i],
                  size_t(graph.type(node.results[i]).size_bytes()));
  return {};
}

}  // namespace ferrule
