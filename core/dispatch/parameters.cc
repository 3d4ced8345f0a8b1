#include "core/dispatch/parameters.h"

#include "core/base/text.h"

namespace ferrule {

Status copy_now(Device& device, std::span<const frl_copy> copies) {
  FRL_LET(const auto queue, device.open_queue());
  frl_submit request{};
  request.head = {sizeof request, FRL_TAG_SUBMIT};
  request.copies = {copies.data(), uint32_t(copies.size()), sizeof(frl_copy)};
  FRL_TRY(queue->submit(request).status);
  return queue->wait(request.signal).status;
}

Result<frl_binding> ParameterStore::upload(const std::shared_ptr<Device>& device,
                                           const Tensor& tensor) {
  const Key key{tensor.bytes().data(), device.get(), 0};
  if (const auto found = held_.find(key); found != held_.end()) {
    if (found->second.buffer) return frl_binding{found->second.buffer->handle(), 0};
    return frl_binding{nullptr, reinterpret_cast<uint64_t>(found->second.tensor.bytes().data())};
  }
  const auto address = reinterpret_cast<uint64_t>(tensor.bytes().data());
  Held held{tensor, device, nullptr};
  frl_binding binding{nullptr, address};
  if (!takes_host_addresses(device->row())) {
    FRL_LET(held.buffer, device->make_buffer(0, tensor.bytes().size()));
    binding = {held.buffer->handle(), 0};
    const frl_copy copy{binding, {nullptr, address}, tensor.bytes().size(), 1, 0, 0};
    if (copy.row_bytes) FRL_TRY(copy_now(*device, std::span(&copy, 1)));
  } else if (address % device->row().spaces[0].align_bytes) {
    // The file's elements lie where they lie; kernels are promised the device's alignment.
    held.tensor = Tensor(tensor.type());
    std::memcpy(held.tensor.mutable_data(), tensor.bytes().data(), tensor.bytes().size());
    binding.offset = reinterpret_cast<uint64_t>(held.tensor.bytes().data());
  }
  held_.emplace(key, std::move(held));
  return binding;
}

Result<frl_binding> ParameterStore::resident(const std::shared_ptr<Device>& device,
                                             const Tensor& tensor) {
  std::lock_guard lock(mutex_);
  return upload(device, tensor);
}

Result<std::vector<frl_binding>> ParameterStore::packed(const std::shared_ptr<Device>& device,
                                                        std::span<const PackRequest> requests) {
  std::lock_guard lock(mutex_);
  std::vector<frl_binding> out, fixed;
  std::vector<frl_step> steps;
  std::vector<frl_arg> args;
  std::vector<std::pair<Key, Held>> fresh;
  for (const PackRequest& request : requests) {
    // Kernels of one device agree on what a key means; 0 is the plain form here.
    const Key key{request.source.bytes().data(), device.get(), request.key + 1};
    if (const auto found = held_.find(key); found != held_.end()) {
      out.push_back({found->second.buffer->handle(), 0});
      continue;
    }
    Held held{request.source, device, nullptr};
    FRL_LET(held.buffer, device->make_buffer(request.space, request.size_bytes));
    FRL_LET(const frl_binding source, upload(device, request.source));
    out.push_back({held.buffer->handle(), 0});
    steps.push_back(
        {request.kernel->handle(), uint32_t(args.size()), 2, 0, 0, request.input + 1, 0});
    for (const frl_binding& binding : {source, out.back()}) {
      args.push_back({uint32_t(fixed.size()), 0, 0});
      fixed.push_back(binding);
    }
    fresh.emplace_back(key, std::move(held));
  }
  if (!steps.empty()) {
    frl_segment segment{};
    segment.head = {sizeof segment, FRL_TAG_SEGMENT};
    segment.steps = {steps.data(), uint32_t(steps.size()), sizeof(frl_step)};
    segment.args = {args.data(), uint32_t(args.size()), sizeof(frl_arg)};
    segment.fixed = {fixed.data(), uint32_t(fixed.size()), sizeof(frl_binding)};
    FRL_LET(const auto queue, device->open_queue());
    FRL_LET(const auto recording, queue->record(segment, nullptr));
    frl_submit request{};
    request.head = {sizeof request, FRL_TAG_SUBMIT};
    request.recording = recording->handle();
    FRL_TRY(queue->submit(request).status);
    FRL_TRY(queue->wait(request.signal).status);
  }
  for (auto& [key, held] : fresh) held_.emplace(key, std::move(held));
  return out;
}

uint64_t ParameterStore::size_bytes() const {
  std::lock_guard lock(mutex_);
  uint64_t total = 0;
  for (const auto& [key, held] : held_)
    if (held.buffer) total += held.buffer->size_bytes();
  return total;
}

void ParameterStore::forget(const Tensor& tensor) {
  std::lock_guard lock(mutex_);
  std::erase_if(
      held_, [&](const auto& entry) { return std::get<0>(entry.first) == tensor.bytes().data(); });
}

}  // namespace ferrule
