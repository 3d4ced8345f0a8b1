// Device, Kernel, Buffer, Queue, Recording: one call each, errors turned into Status.
#include <cstring>

#include "core/base/text.h"
#include "core/driver/driver.h"

namespace ferrule {
namespace {

std::string error_text(const frl_error& error) {
  const std::string text(error.text,
                         strnlen(error.text, std::min<size_t>(error.text_n, sizeof error.text)));
  return text.empty() ? "the plugin gave no reason" : text;
}

Status failed(const Device& device, const char* what, int32_t code, const frl_error& error) {
  return Status(Code(code), cat(device.driver().id(), ": ", what, ": ", error_text(error)));
}

Status no_handle(const Device& device, const char* what) {
  return Status(Code::internal, cat(device.driver().id(), ": ", what, ": want a handle, got NULL"));
}

}  // namespace

Device::~Device() {
  if (!handle_) return;
  std::lock_guard lock(driver_->opening_);  // the ABI wants open and close serialised
  driver_->table_.close(handle_);
}

Result<std::unique_ptr<Kernel>> Device::compile(const Block& region, Bytes cached,
                                                bool restore_only, const uint32_t* cancel) {
  frl_compile request{{sizeof(frl_compile), FRL_TAG_COMPILE},
                      cached.empty() ? nullptr : cached.data(),
                      cached.size(),
                      cancel,
                      restore_only,
                      0};
  frl_error error{};
  auto kernel = std::make_unique<Kernel>();
  kernel->device_ = shared_from_this();
  if (const int32_t code =
          driver_->table_.compile(handle_, region.region(), &request, &kernel->handle_, &error))
    return failed(*this, "compile", code, error);
  if (!kernel->handle_) return no_handle(*this, "compile");
  FRL_LET(kernel->packs_,
          read_rows<frl_pack>(kernel->handle_->packs, sizeof(frl_pack), 256, "packs"));
  FRL_LET(kernel->aliases_,
          read_rows<frl_alias>(kernel->handle_->aliases, sizeof(frl_alias), 256, "aliases"));
  for (const frl_pack& pack : kernel->packs_)
    if (pack.space >= row_->spaces.size())
      return Status(Code::internal,
                    cat(driver_->id(), ": packs: want a space of the device, got ", pack.space));
  return kernel;
}

Kernel::~Kernel() {
  if (handle_) device_->driver().table().drop_kernel(handle_);
}

Result<std::vector<std::byte>> Kernel::serialise() const {
  const auto serialise = device_->driver().table().serialise;
  if (!serialise)
    return Status(Code::unsupported, cat(device_->driver().id(), ": serialise: the plugin cannot"));
  frl_error error{};
  uint64_t size = 0;
  const int32_t first = serialise(handle_, nullptr, 0, &size, &error);
  if (first && first != FRL_NO_MEMORY) return failed(*device_, "serialise", first, error);
  if (size > uint64_t(1) << 32)
    return Status(Code::internal,
                  cat(device_->driver().id(), ": serialise: want at most 4 GiB, got ", size));
  std::vector<std::byte> bytes(size);
  if (const int32_t code = serialise(handle_, bytes.data(), bytes.size(), &size, &error))
    return failed(*device_, "serialise", code, error);
  return bytes;
}

Result<std::unique_ptr<Buffer>> Device::make_buffer(uint32_t space, uint64_t size_bytes) {
  return import_buffer(space, nullptr, size_bytes, false);
}

Result<std::unique_ptr<Buffer>> Device::import_buffer(uint32_t space, void* memory,
                                                      uint64_t size_bytes, bool read_only) {
  const frl_space_request request{{sizeof(frl_space_request), FRL_TAG_SPACE_REQUEST},
                                  size_bytes,
                                  reinterpret_cast<uint64_t>(memory),
                                  space,
                                  read_only};
  frl_error error{};
  auto buffer = std::make_unique<Buffer>();
  buffer->device_ = shared_from_this();
  if (const int32_t code = driver_->table_.make_buffer(handle_, &request, &buffer->handle_, &error))
    return failed(*this, "make_buffer", code, error);
  if (!buffer->handle_) return no_handle(*this, "make_buffer");
  return buffer;
}

Buffer::~Buffer() {
  if (handle_) device_->driver().table().drop_buffer(handle_);
}

Result<std::unique_ptr<Queue>> Device::open_queue() {
  frl_error error{};
  auto queue = std::make_unique<Queue>();
  queue->device_ = shared_from_this();
  if (const int32_t code = driver_->table_.open_queue(handle_, &queue->handle_, &error))
    return failed(*this, "open_queue", code, error);
  if (!queue->handle_) return no_handle(*this, "open_queue");
  return queue;
}

frl_telemetry Device::telemetry() const {
  frl_telemetry out{};
  out.head = {sizeof out, FRL_TAG_TELEMETRY};
  if (driver_->table_.telemetry) driver_->table_.telemetry(handle_, &out);
  return out;
}

Queue::~Queue() {
  if (handle_) device_->driver().table().close_queue(handle_);
}

Result<std::unique_ptr<Recording>> Queue::record(const frl_segment& segment, int32_t* subject) {
  frl_error error{};
  error.subject = -1;
  auto recording = std::make_unique<Recording>();
  recording->device_ = device_;
  if (const int32_t code =
          device_->driver().table().record(handle_, &segment, &recording->handle_, &error)) {
    if (subject) *subject = error.subject;
    return failed(*device_, "record", code, error);
  }
  if (!recording->handle_) return no_handle(*device_, "record");
  return recording;
}

PluginError Queue::submit(frl_submit& request) {
  request.signal = last_signal_ + 1;
  frl_error error;
  error.code = 0, error.text_n = 0, error.subject = -1;
  const int32_t code = device_->driver().table().submit(handle_, &request, &error);
  if (code == FRL_OK) return last_signal_ = request.signal, PluginError{};
  return {failed(*device_, "submit", code, error), error.subject};
}

PluginError Queue::wait(uint64_t value, uint64_t timeout_ns) const {
  frl_error error;
  error.code = 0, error.text_n = 0, error.subject = -1;
  const int32_t code = device_->driver().table().wait(handle_, value, timeout_ns, &error);
  if (code == FRL_OK) return {};
  return {failed(*device_, "wait", code, error), error.subject};
}

Recording::~Recording() {
  if (handle_) device_->driver().table().drop_recording(handle_);
}

}  // namespace ferrule
