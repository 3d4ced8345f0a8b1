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

std::shared_ptr<const ParameterStore::Held> ParameterStore::find(const Key& key) const {
  const auto found = held_.find(key);
  return found == held_.end() ? nullptr : found->second.lock();
}

Upload ParameterStore::keep(const Key& key, Held held) {
  auto kept = std::make_shared<const Held>(std::move(held));
  held_[key] = kept;
  return {kept->binding, kept};
}

Result<Upload> ParameterStore::upload(const std::shared_ptr<Device>& device, const Tensor& tensor) {
  const Key key{tensor.bytes().data(), device.get(), 0};
  if (const auto found = find(key)) return Upload{found->binding, found};
  const auto address = reinterpret_cast<uint64_t>(tensor.bytes().data());
  Held held{tensor, device, nullptr, {nullptr, address}, {}};
  if (!takes_host_addresses(device->row())) {
    FRL_LET(held.buffer, device->make_buffer(0, tensor.bytes().size()));
    held.binding = {held.buffer->handle(), 0};
    const frl_copy copy{held.binding, {nullptr, address}, tensor.bytes().size(), 1, 0, 0};
    if (copy.row_bytes) FRL_TRY(copy_now(*device, std::span(&copy, 1)));
  } else if (address % device->row().spaces[0].align_bytes) {
    // The file's elements lie where they lie; kernels are promised the device's alignment.
    Tensor aligned(tensor.type());
    std::memcpy(aligned.mutable_data(), tensor.bytes().data(), tensor.bytes().size());
    held.binding.offset = reinterpret_cast<uint64_t>(aligned.bytes().data());
    held.aligned = std::move(aligned);
  }
  return keep(key, std::move(held));
}

Result<Upload> ParameterStore::resident(const std::shared_ptr<Device>& device,
                                        const Tensor& tensor) {
  std::lock_guard lock(mutex_);
  return upload(device, tensor);
}

Result<std::vector<Upload>> ParameterStore::packed(const std::shared_ptr<Device>& device,
                                                   std::span<const PackRequest> requests) {
  std::lock_guard lock(mutex_);
  std::erase_if(held_, [](const auto& entry) { return entry.second.expired(); });
  std::vector<Upload> out, sources;
  std::vector<frl_binding> fixed;
  std::vector<frl_step> steps;
  std::vector<frl_arg> args;
  for (const PackRequest& request : requests) {
    // Kernels of one device agree on what a key means; 0 is the plain form here.
    const Key key{request.source.bytes().data(), device.get(), request.key + 1};
    if (const auto found = find(key)) {
      out.push_back({found->binding, found});
      continue;
    }
    Held held{request.source, device, nullptr, {}, {}};
    FRL_LET(held.buffer, device->make_buffer(request.space, request.size_bytes));
    held.binding = {held.buffer->handle(), 0};
    FRL_LET(Upload source, upload(device, request.source));
    sources.push_back(std::move(source));
    out.push_back(keep(key, std::move(held)));
    steps.push_back(
        {request.kernel->handle(), uint32_t(args.size()), 2, 0, 0, request.input + 1, 0});
    for (const frl_binding& binding : {sources.back().binding, out.back().binding}) {
      args.push_back({uint32_t(fixed.size()), 0, 0});
      fixed.push_back(binding);
    }
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
  return out;
}

uint64_t ParameterStore::size_bytes() const {
  std::lock_guard lock(mutex_);
  uint64_t total = 0;
  for (const auto& [key, entry] : held_)
    if (const auto held = entry.lock(); held && held->buffer) total += held->buffer->size_bytes();
  return total;
}

}  // namespace ferrule
