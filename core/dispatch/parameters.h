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

// A parameter on a device, plain or packed. It stays there as long as anybody holds it.
struct Upload {
  frl_binding binding{};
  std::shared_ptr<const void> keep;
};

class ParameterStore {
 public:
  // The elements of `tensor` on the device: a plain address where the device takes one, else a
  // buffer that was filled once.
  //   thread  any
  Result<Upload> resident(const std::shared_ptr<Device>& device, const Tensor& tensor);

  // The packed forms, made in one segment where they are not there yet.
  //   thread  any
  Result<std::vector<Upload>> packed(const std::shared_ptr<Device>& device,
                                     std::span<const PackRequest> requests);

  // Bytes held on devices beside the tensors themselves.
  uint64_t size_bytes() const;

 private:
  using Key =
      std::tuple<const void*, const Device*, uint64_t>;  // elements, device, pack key (0: plain)
  struct Held {
    Tensor tensor;  // as long as it is held, no other one has its address
    std::shared_ptr<Device> device;
    std::unique_ptr<Buffer> buffer;  // null: a plain address
    frl_binding binding{};
    Tensor aligned{};  // a copy where the elements lie askew
  };
  std::shared_ptr<const Held> find(const Key& key) const;
  Upload keep(const Key& key, Held held);
  Result<Upload> upload(const std::shared_ptr<Device>& device, const Tensor& tensor);

  mutable std::mutex mutex_;
  std::map<Key, std::weak_ptr<const Held>> held_;  // the users own them
};

// Runs copies on a queue of their own and waits.
Status copy_now(Device& device, std::span<const frl_copy> copies);

}  // namespace ferrule
