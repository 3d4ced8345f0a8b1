#include "conformance/rig/memory.h"

#include <cstring>

#include "core/base/text.h"

namespace ferrule::conformance {
namespace {

constexpr uint64_t kWaitNs = 120'000'000'000;

std::byte guard_byte(uint64_t i) { return std::byte(uint8_t(0xC3 ^ (i * 7))); }

// Signalling NaNs for floats; for the others bytes that are no bool and unlikely numbers.
uint64_t pattern_of(Type type, int round) {
  switch (type) {
    case Type::f64:
      return round ? 0x7ff25a5a5a5a5a5b : 0x7ff4a5a5a5a5a5a5;
    case Type::f32:
      return round ? 0x7f9a5a5b : 0x7fa5a5a5;
    case Type::f16:
      return round ? 0x7d5b : 0x7ca5;
    case Type::bf16:
      return round ? 0x7f9b : 0x7fa5;
    default:
      return round ? 0x5a5a5a5a5a5a5a5a : 0xa5a5a5a5a5a5a5a5;
  }
}

frl_binding host_address(const void* p) { return {nullptr, reinterpret_cast<uint64_t>(p)}; }

}  // namespace

Status copy_bytes(Queue& queue, frl_binding target, frl_binding source, uint64_t size_bytes) {
  if (size_bytes == 0) return {};
  const frl_copy copy{target, source, size_bytes, 1, int64_t(size_bytes), int64_t(size_bytes)};
  frl_submit request{};
  request.head = {sizeof request, FRL_TAG_SUBMIT};
  request.copies = {&copy, 1, sizeof copy};
  FRL_TRY(queue.submit(request).status);
  return queue.wait(request.signal, kWaitNs).status;
}

Status Guarded::make_buffer(Device& device, uint32_t space, uint64_t size_bytes, bool imported) {
  const frl_space& row = device.row().spaces[space];
  const uint64_t bytes = align_up(size_bytes, row.align_bytes);
  if (bytes > row.max_alloc_bytes)
    return Status(Code::no_memory,
                  cat("buffer: want at most ", row.max_alloc_bytes, " bytes, got ", bytes));
  image_.resize(bytes);
  for (uint64_t i = 0; i < bytes; ++i) image_[i] = guard_byte(i);
  if (imported) {
    auto* p = static_cast<std::byte*>(std::aligned_alloc(4096, align_up(bytes, 4096)));
    if (!p) return Status(Code::no_memory, cat("host: no ", bytes, " bytes"));
    memory_ = std::shared_ptr<std::byte>(p, [](std::byte* q) { std::free(q); });
    FRL_LET(buffer_, device.import_buffer(space, p, bytes, false));
    return {};
  }
  FRL_LET(buffer_, device.make_buffer(space, bytes));
  return {};
}

Result<Guarded> Guarded::tensor(Device& device, uint32_t space, const TensorType& type,
                                const Strides& strides, int64_t offset_elements, bool imported) {
  Guarded out;
  out.type_ = type, out.strides_ = strides, out.width_ = size_bytes(type.type);
  int64_t low = 0, high = 0;
  for (size_t i = 0; i < type.shape.rank() && type.shape.n_elements() > 0; ++i)
    (strides[i] < 0 ? low : high) += (type.shape[i] - 1) * strides[i];
  if (type.shape.n_elements() == 0) high = -1;
  const uint64_t align = std::max<uint64_t>(device.row().spaces[space].align_bytes, 16);
  out.first_ = align_up(kGuardBytes + uint64_t(-low * out.width_), align) +
               uint64_t(offset_elements * out.width_);
  FRL_TRY(out.make_buffer(device, space,
                          uint64_t(int64_t(out.first_) + (high + 1) * out.width_) + kGuardBytes,
                          imported));
  return out;
}

Result<Guarded> Guarded::plain(Device& device, uint32_t space, uint64_t size_bytes) {
  return tensor(device, space, {Type::u8, Shape{int64_t(size_bytes)}},
                row_major(Shape{int64_t(size_bytes)}), 0, false);
}

void Guarded::put(const Tensor& tensor) {
  const std::byte* from = tensor.bytes().data();
  for (Odometer at(tensor.shape()); at.more(); at.next(), from += width_)
    std::memcpy(image_.data() + place(at), from, size_t(width_));
}

void Guarded::put_pattern(int round) {
  const uint64_t pattern = pattern_of(type_.type, round);
  for (Odometer at(type_.shape); at.more(); at.next())
    std::memcpy(image_.data() + place(at), &pattern, size_t(width_));
}

Status Guarded::upload(Queue& queue) const {
  if (std::byte* host = memory_ ? memory_.get() : buffer_->host()) {
    std::memcpy(host, image_.data(), image_.size());
    return {};
  }
  return copy_bytes(queue, {buffer_->handle(), 0}, host_address(image_.data()), image_.size());
}

Result<std::vector<std::byte>> Guarded::download(Queue& queue) const {
  std::vector<std::byte> out(image_.size());
  if (const std::byte* host = memory_ ? memory_.get() : buffer_->host()) {
    std::memcpy(out.data(), host, out.size());
    return out;
  }
  FRL_TRY(copy_bytes(queue, host_address(out.data()), {buffer_->handle(), 0}, out.size()));
  return out;
}

Tensor Guarded::take(std::span<const std::byte> bytes, const Shape& shape) const {
  Tensor out(TensorType{type_.type, shape});
  std::byte* to = out.mutable_data();
  for (Odometer at(shape); at.more(); at.next(), to += width_)
    std::memcpy(to, bytes.data() + place(at), size_t(width_));
  return out;
}

std::string Guarded::damage(std::span<const std::byte> bytes, bool all,
                            const std::string& what) const {
  if (std::memcmp(bytes.data(), image_.data(), bytes.size()) == 0) return {};
  std::vector<bool> own;
  if (!all) {
    own.resize(bytes.size());
    for (Odometer at(type_.shape); at.more(); at.next())
      for (int64_t k = 0; k < width_; ++k) own[size_t(place(at) + k)] = true;
  }
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] == image_[i] || (!all && own[i])) continue;
    return cat(what, ": want ", all ? "it left alone" : "nothing written beside its elements", " (",
               to_string(type_), "), got byte ", int64_t(i) - int64_t(first_),
               " from its start on changed from ", int(image_[i]), " to ", int(bytes[i]));
  }
  return {};
}

std::vector<int64_t> Guarded::unwritten(std::span<const std::byte> bytes, const Shape& shape,
                                        int round) const {
  const uint64_t pattern = pattern_of(type_.type, round);
  std::vector<int64_t> out;
  int64_t number = 0;
  for (Odometer at(shape); at.more(); at.next(), ++number)
    if (std::memcmp(bytes.data() + place(at), &pattern, size_t(width_)) == 0) out.push_back(number);
  return out;
}

}  // namespace ferrule::conformance
