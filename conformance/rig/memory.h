// One tensor in device memory between guard bytes, and what should lie there.
#pragma once

#include "core/driver/driver.h"
#include "core/op/walk.h"

namespace ferrule::conformance {

constexpr uint64_t kGuardBytes = 1024;

// A buffer of the device with the bytes that it should hold.
class Guarded {
 public:
  // Room for a tensor of `type` (upper bounds where there are symbols) at `strides`, in elements.
  //   errors  those of the device
  static Result<Guarded> tensor(Device& device, uint32_t space, const TensorType& type,
                                const Strides& strides, int64_t offset_elements, bool imported);
  // Room for plain bytes, filled with a pattern.
  static Result<Guarded> plain(Device& device, uint32_t space, uint64_t size_bytes);

  const Buffer& buffer() const { return *buffer_; }
  uint64_t first() const { return first_; }  // byte of the first element
  std::span<std::byte> image() { return image_; }

  // Elements of a tensor of this type, or smaller, into the image.
  void put(const Tensor& tensor);
  // Every element a value that no kernel gives; `round` 0 or 1 chooses between two.
  void put_pattern(int round);
  // Image to device, and device to a copy.
  Status upload(Queue& queue) const;
  Result<std::vector<std::byte>> download(Queue& queue) const;

  // The elements that lie in `bytes`, as a dense tensor of `shape`.
  Tensor take(std::span<const std::byte> bytes, const Shape& shape) const;
  // "" or where `bytes` differ from the image outside the elements (everywhere, if `all`).
  std::string damage(std::span<const std::byte> bytes, bool all, const std::string& what) const;
  // Numbers of the elements of `shape` that still hold the pattern of `round`.
  std::vector<int64_t> unwritten(std::span<const std::byte> bytes, const Shape& shape,
                                 int round) const;

 private:
  Status make_buffer(Device& device, uint32_t space, uint64_t size_bytes, bool imported);
  int64_t place(const Odometer& at) const { return int64_t(first_) + at.offset(strides_) * width_; }

  TensorType type_;
  Strides strides_{};
  int64_t width_ = 1;
  uint64_t first_ = 0;
  std::vector<std::byte> image_;
  std::shared_ptr<std::byte> memory_;  // imported
  std::shared_ptr<Buffer> buffer_;
};

// Copies bytes through the queue; one side is host memory.
Status copy_bytes(Queue& queue, frl_binding target, frl_binding source, uint64_t size_bytes);

}  // namespace ferrule::conformance
