// Where parameters lie on each device, and their packed forms. One store for a session: every
// executable of it shares the uploads and packs.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

#include "core/driver/driver.h"

namespace ferrule {

// One packed form that an executable wants.
struct PackRequest {
  const Kernel* kernel = nullptr;  // whose pack it is
  uint32_t input = 0;
  uint32_t space = 0;
  uint64_t key = 0, size_bytes = 0;
  Tensor source;
};

class ParameterStore {
 public:
  // The elements of `tensor` on the device: a plain address where the device takes one, else a
  // buffer that was filled once. The store keeps tensor and buffer alive.
  //   thread  any
  Result<frl_binding> resident(const std::shared_ptr<Device>& device, const Tensor& tensor);

  // The packed forms, made in one segment where they are not there yet.
  //   thread  any
  Result<std::vector<frl_binding>> packed(const std::shared_ptr<Device>& device,
                                          std::span<const PackRequest> requests);

  // Bytes held on devices beside the tensors themselves.
  uint64_t size_bytes() const;

  // Forgets what was derived from these elements (a parameter was set anew).
  void forget(const Tensor& tensor);

 private:
  using Key =
      std::tuple<const void*, const Device*, uint64_t>;  // elements, device, pack key (0: plain)
  struct Held {
    Tensor tensor;
    std::shared_ptr<Device> device;
    std::unique_ptr<Buffer> buffer;  // null: a plain address
  };
  Result<frl_binding> upload(const std::shared_ptr<Device>& device, const Tensor& tensor);

  mutable std::mutex mutex_;
  std::map<Key, Held> held_;
};

// Runs copies on a queue of their own and waits.
Status copy_now(Device& device, std::span<const frl_copy> copies);

}  // namespace ferrule
