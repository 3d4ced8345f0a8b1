// Stream: contexts by compiled form, states carried from one to the other.
#include <algorithm>

#include "core/base/text.h"
#include "core/session/session.h"

namespace ferrule {
namespace {

// Kernels are promised this much; a tensor that does not keep it is copied.
constexpr uint64_t kAlign = 64;

Tensor aligned(const Tensor& tensor) {
  if (reinterpret_cast<uint64_t>(tensor.bytes().data()) % kAlign == 0) return tensor;
  Tensor out(tensor.type());
  std::memcpy(out.mutable_data(), tensor.bytes().data(), tensor.bytes().size());
  return out;
}

}  // namespace

Result<RunContext*> Stream::context(const Compiled& compiled) {
  if (last_ && last_->executable == compiled.executable) return last_->context.get();
  for (Slot& slot : slots_)
    if (slot.executable == compiled.executable) {
      carry_states(*slot.context, *slot.executable);
      last_ = &slot;
      return slot.context.get();
    }
  FRL_LET(auto context, compiled.executable->make_context());
  carry_states(*context, *compiled.executable);
  const auto most =
      size_t(std::max<int64_t>(1, session_->runtime().config().integer("session.executables")));
  if (slots_.size() >= most) slots_.erase(slots_.begin());
  slots_.push_back({compiled.executable, std::move(context)});
  last_ = &slots_.back();
  return last_->context.get();
}

// States belong to the stream: another compiled form goes on where the last one stopped.
void Stream::carry_states(RunContext& to, const Executable& executable) {
  if (!last_) return;
  const auto& from = last_->executable->plan().states;
  for (size_t i = 0; i < executable.plan().states.size(); ++i)
    for (size_t k = 0; k < from.size(); ++k) {
      if (last_->executable->graph().value(from[k]).name !=
          executable.graph().value(executable.plan().states[i]).name)
        continue;
      const auto source = last_->context->state(k), target = to.state(i);
      if (source.size() == target.size()) std::memcpy(target.data(), source.data(), source.size());
    }
}

Status Stream::run_into(const Compiled& compiled, std::span<const Tensor* const> inputs,
                        std::span<void* const> outputs, const RunOptions& options) {
  FRL_LET(RunContext* const context, within_memory([&] { return this->context(compiled); }));
  input_addresses_.clear();
  for (const Tensor* tensor : inputs)
    input_addresses_.push_back(tensor ? tensor->bytes().data() : nullptr);
  return context->run(input_addresses_, outputs, options);
}

Result<std::vector<NamedTensor>> Stream::run(const NamedTensors& inputs,
                                             const RunOptions& options) {
  return within_memory([&] { return run_held(inputs, options); });
}

Result<std::vector<NamedTensor>> Stream::run_held(const NamedTensors& inputs,
                                                  const RunOptions& options) {
  FRL_LET(const auto compiled, session_->compile(inputs));
  const Executable& executable = *compiled->executable;
  std::vector<Tensor> held;  // keeps addresses alive for the run
  std::vector<const Tensor*> given(compiled->inputs.size());
  held.reserve(given.size());
  for (size_t i = 0; i < given.size(); ++i)
    if (const auto found = inputs.find(compiled->inputs[i]); found != inputs.end()) {
      held.push_back(aligned(found->second));
      given[i] = &held.back();
    }
  FRL_LET(RunContext* const run, context(*compiled));
  for (size_t i = 0; i < executable.plan().states.size(); ++i)
    if (const auto start = inputs.find(executable.graph().value(executable.plan().states[i]).name);
        start != inputs.end())
      std::ranges::copy(start->second.bytes(), run->state(i).begin());
  std::vector<NamedTensor> results;
  std::vector<void*> addresses;
  for (const Output& output : executable.graph().outputs()) {
    const bool exact = executable.graph().shape(output.value).is_exact();
    results.push_back({output.name,
                       exact ? Tensor(executable.graph().type(output.value)) : Tensor(),
                       output.absent});
    addresses.push_back(exact ? results.back().tensor.mutable_data() : nullptr);
  }
  FRL_TRY(run_into(*compiled, given, addresses, options));
  for (size_t i = 0; i < results.size(); ++i)
    if (!addresses[i]) {
      FRL_LET(results[i].tensor, last_->context->output(i));
    }
  return results;
}

}  // namespace ferrule
