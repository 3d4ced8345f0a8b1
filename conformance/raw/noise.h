// Bytes without meaning, the same for the same seed on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ferrule::conformance::raw {

// SplitMix64 (Steele, Lea, Flood 2014).
class Noise {
 public:
  explicit Noise(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
  }
  uint64_t below(uint64_t n) { return next() % n; }
  std::vector<std::byte> bytes(uint64_t n) {
    std::vector<std::byte> out(n);
    for (std::byte& b : out) b = std::byte(next());
    return out;
  }

 private:
  uint64_t state_;
};

}  // namespace ferrule::conformance::raw
