// Walking over tensors: strides, and the index of each element in row-major order.
#pragma once

#include <array>

#include "core/op/shape.h"

namespace ferrule {

using Strides = std::array<int64_t, kMaxRank>;  // in elements, by axis

inline Strides row_major(const Shape& shape) {
  Strides out{};
  int64_t stride = 1;
  for (size_t i = shape.rank(); i-- > 0;) {
    out[i] = stride;
    stride *= shape[i];
  }
  return out;
}

// Strides with which a dense tensor of shape `from` is read over `to`: 0 where it repeats.
inline Strides broadcast_strides(const Shape& from, const Shape& to) {
  const Strides dense = row_major(from);
  const size_t offset = to.rank() - from.rank();
  Strides out{};
  for (size_t i = 0; i < from.rank(); ++i) out[offset + i] = from[i] == 1 ? 0 : dense[i];
  return out;
}

// for (Odometer at(shape); at.more(); at.next()): every index of the shape, last axis fastest.
class Odometer {
 public:
  explicit Odometer(const Shape& shape) : shape_(shape), more_(shape.n_elements() > 0) {}
  bool more() const { return more_; }
  int64_t operator[](size_t axis) const { return index_[axis]; }
  void next() {
    for (size_t i = shape_.rank(); i-- > 0;) {
      if (++index_[i] < shape_[i]) return;
      index_[i] = 0;
    }
    more_ = false;
  }
  // Where the element lies.
  int64_t offset(const Strides& strides) const {
    int64_t out = 0;
    for (size_t i = 0; i < shape_.rank(); ++i) out += index_[i] * strides[i];
    return out;
  }

 private:
  Shape shape_;
  Strides index_{};
  bool more_;
};

// The axes first .. last - 1 of a shape.
inline Shape sub_shape(const Shape& shape, size_t first, size_t last) {
  Shape out;
  for (size_t i = first; i < last; ++i) out.push_back(shape[i]);
  return out;
}

// fn(place of the first element in each operand, in the result, n) for every row along the last
// axis of `shape`; within it operand k steps by step_of(shape, strides[k]).
template <size_t N, class Fn>
void walk_rows(const Shape& shape, const std::array<Strides, N>& strides, Fn&& fn) {
  if (shape.n_elements() == 0) return;
  const int64_t n = shape.rank() ? shape.back() : 1;
  int64_t result = 0;
  for (Odometer at(sub_shape(shape, 0, shape.rank() ? shape.rank() - 1 : 0)); at.more();
       at.next()) {
    std::array<int64_t, N> offsets{};
    for (size_t k = 0; k < N; ++k) offsets[k] = at.offset(strides[k]);
    fn(offsets, result, n);
    result += n;
  }
}
inline int64_t step_of(const Shape& shape, const Strides& strides) {
  return shape.rank() ? strides[shape.rank() - 1] : 0;
}

// A shape seen as [outer, n, inner] around one axis: element (o, i, k) lies at (o * n + i) * inner
// + k.
struct Lanes {
  int64_t outer = 1, n = 1, inner = 1;
  Lanes(const Shape& shape, size_t axis) : n(shape[axis]) {
    for (size_t i = 0; i < axis; ++i) outer *= shape[i];
    for (size_t i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
  }
  // fn(offset of the lane's first element); its elements are `inner` apart. Empty lanes are left
  // out.
  template <class Fn>
  void each(Fn&& fn) const {
    if (n == 0) return;
    for (int64_t o = 0; o < outer && inner > 0; ++o)
      for (int64_t k = 0; k < inner; ++k) fn(o * n * inner + k);
  }
};

// An axis counted from the end, known to be in range.
inline size_t from_end(const Shape& shape, int64_t axis) {
  return size_t(int64_t(shape.rank()) + axis);
}

}  // namespace ferrule
