#include "conformance/rig/rig.h"

#include "conformance/rig/graphs.h"
#include "conformance/rig/run.h"
#include "core/base/text.h"
#include "core/claim/match.h"

namespace ferrule::conformance {

Result<std::unique_ptr<Rig>> Rig::open(const Target& target, uint32_t workers) {
  std::unique_ptr<Rig> out(new Rig);
  out->driver_ = target.driver;
  if (workers) {
    ferrule::Verdict verdict;
    FRL_LET(out->driver_, load_plugin(target.path, std::make_shared<Team>(workers), {}, &verdict));
  }
  if (!out->driver_) return Status(Code::no_device, "rig: want a loaded plugin");
  FRL_LET(out->device_, out->driver_->open(target.device));
  if (out->device_->row().spaces.empty())
    return Status(Code::no_device,
                  cat(out->device_->row().name, ": want a memory space, got none"));
  FRL_TRY(out->reopen_queue());
  return out;
}

Status Rig::reopen_queue() {
  queue_.reset();
  FRL_LET(queue_, device_->open_queue());
  return {};
}

Refusal Rig::asks(const Graph& one_node, const RunOptions& options) const {
  const Answer answer =
      match_claims(device_->row(), one_node, one_node.node(NodeId(0)), options.compute);
  if (!answer.claim) return answer.refusal;
  const Placing plan = placing_of(one_node, options, device_->row().spaces[0].align_bytes);
  auto block = encode_region(one_node, one_node.node(NodeId(0)), plan.operands, plan.results,
                             options.compute);
  if (!block.ok()) return {block.status().code(), block.status().message()};
  return driver_->refuse(device_->number(), *block);
}

RunResult Rig::run(const Graph& one_node, std::span<const Tensor> inputs,
                   const RunOptions& options) {
  RunResult out;
  if (!queue_) out.status = reopen_queue();
  if (!out.status.ok()) return out;
  out.status = run_region(*device_, *queue_, one_node, inputs, options, &out);
  if (!out.status.ok()) queue_.reset();  // it may have failed; the next run opens another
  return out;
}

Result<std::vector<Tensor>> Rig::run_unfused(const Graph& graph, std::span<const Tensor> inputs) {
  std::vector<Tensor> values(graph.n_values());
  for (size_t i = 0; i < graph.n_values(); ++i)
    if (const Tensor* known = graph.known(ValueId(i))) values[i] = *known;
  for (size_t i = 0; i < graph.inputs().size(); ++i) values[index(graph.inputs()[i])] = inputs[i];
  for (const Node& node : graph.nodes()) {
    std::vector<Tensor> operands, given;
    for (ValueId id : node.operands)
      operands.push_back(id == kNoValue ? Tensor() : values[index(id)]);
    for (size_t i = 0; i < node.operands.size(); ++i)
      if (node.operands[i] != kNoValue && !graph.literal(node.operands[i]))
        given.push_back(operands[i]);
    FRL_LET(const Graph alone, claimed_form(row(), lone_node(graph, node, operands)));
    RunResult result = run(alone, given);
    if (!result.status.ok()) return std::move(result.status).within(op_row(node.op).name);
    if (!result.damage.empty())
      return Status(Code::internal, cat(op_row(node.op).name, ": ", result.damage));
    for (size_t r = 0; r < node.results.size(); ++r)
      values[index(node.results[r])] = std::move(result.results[r]);
  }
  std::vector<Tensor> outputs;
  for (const Output& output : graph.outputs()) outputs.push_back(values[index(output.value)]);
  return outputs;
}

}  // namespace ferrule::conformance
