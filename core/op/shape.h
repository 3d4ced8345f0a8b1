// Shape: how many elements along each axis, outermost first.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "core/base/status.h"

namespace ferrule {

constexpr size_t kMaxRank = FRL_MAX_RANK;

// The extent of one axis. symbol 0: exactly `extent`. Else 1 + the number of a symbol of the graph:
// some value up to `extent`, known only at submit or after the kernel that writes it has run.
struct Dim {
  int64_t extent = 0;
  uint32_t symbol = 0;
  bool operator==(const Dim&) const = default;
};

class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<int64_t> extents)
      : Shape(std::span(extents.begin(), extents.size())) {}
  // At most kMaxRank axes; more are an internal error that callers have excluded (see checked()).
  explicit Shape(std::span<const int64_t> extents);
  // errors  invalid_argument for a negative extent; out_of_limits for too many axes, or more than
  //         2^59 elements, so that bytes of any type fit int64_t too
  static Result<Shape> checked(std::span<const int64_t> extents);

  size_t rank() const { return rank_; }
  int64_t operator[](size_t axis) const { return dims_[axis].extent; }
  const Dim& dim(size_t axis) const { return dims_[axis]; }
  void set(size_t axis, Dim dim) { dims_[axis] = dim; }
  // Extent of an axis counted from the end, -1 is the last.
  int64_t from_end(int64_t axis) const { return dims_[size_t(int64_t(rank_) + axis)].extent; }
  int64_t back() const { return dims_[rank_ - 1].extent; }
  void push_back(Dim dim);
  void push_back(int64_t extent) { push_back(Dim{extent, 0}); }

  std::span<const Dim> dims() const { return {dims_.data(), rank_}; }
  // Product of the extents (upper bounds where there are symbols); 1 for a scalar.
  int64_t n_elements() const;
  bool is_exact() const;
  // The extents alone.
  std::array<int64_t, kMaxRank> extents() const;

  bool operator==(const Shape& other) const;

 private:
  std::array<Dim, kMaxRank> dims_{};
  size_t rank_ = 0;
};

// "[2,3]"; a symbol prints as "<=5".
std::string to_string(const Shape& shape);

// NumPy's rule, trailing axes aligned. Symbols match only themselves.
//   errors  invalid_argument naming both shapes
Result<Shape> broadcast(const Shape& a, const Shape& b);

// True if `from` broadcasts to exactly `to`.
bool broadcasts_to(const Shape& from, const Shape& to);

}  // namespace ferrule
