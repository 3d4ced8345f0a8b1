// Seeded chance: the same draws on every machine.
#pragma once

#include <cstdint>
#include <iterator>
#include <random>

namespace ferrule::property {

class Chance {
 public:
  explicit Chance(uint64_t seed) : random_(seed * 0x9e3779b97f4a7c15 + 0x632be59bd9b4e019) {}
  uint64_t bits() { return random_(); }
  double unit() { return double(random_() >> 11) * 0x1p-53; }  // [0, 1)
  bool with(double probability) { return unit() < probability; }
  int64_t below(int64_t n) { return n > 0 ? int64_t(random_() % uint64_t(n)) : 0; }
  int64_t between(int64_t least, int64_t most) { return least + below(most - least + 1); }
  // One of a container's elements; it is not empty.
  template <class Row>
  auto& of(Row& row) {
    return *std::next(std::begin(row), below(int64_t(std::size(row))));
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace ferrule::property
