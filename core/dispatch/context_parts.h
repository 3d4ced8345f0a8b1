// Parts of a RunContext that only its own files see.
#pragma once

#include <cstdlib>

#include <utility>

#include "core/dispatch/executable.h"

namespace ferrule {

struct RunContext::HostBlock {
  explicit HostBlock(uint64_t size);
  HostBlock(HostBlock&& other) noexcept
      : memory(std::exchange(other.memory, nullptr)), size_bytes(other.size_bytes) {}
  HostBlock& operator=(HostBlock&&) = delete;
  ~HostBlock() { std::free(memory); }
  std::byte* memory = nullptr;
  uint64_t size_bytes = 0;
};

// One recorded submit, with everything that it points to.
struct RunContext::Segment {
  std::unique_ptr<Recording> recording;
  std::vector<Place> late_places;
  std::vector<frl_binding> late;
  std::vector<uint64_t> times;
  frl_submit request{};
};

}  // namespace ferrule
