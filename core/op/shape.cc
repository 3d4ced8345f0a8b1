#include "core/op/shape.h"

#include <cassert>

#include "core/base/bytes.h"
#include "core/base/text.h"

namespace ferrule {

Shape::Shape(std::span<const int64_t> extents) {
  assert(extents.size() <= kMaxRank);
  for (int64_t extent : extents) push_back(extent);
}

Result<Shape> Shape::checked(std::span<const int64_t> extents) {
  if (extents.size() > kMaxRank)
    return Status(Code::out_of_limits,
                  cat("shape: want at most ", kMaxRank, " axes, got ", extents.size()));
  int64_t product = 1;
  for (int64_t extent : extents) {
    if (extent < 0)
      return Status(Code::invalid_argument, cat("shape: want extents of 0 or more, got ", extent));
    // A zero-size axis must not hide an absurd one beside it.
    if (!checked_mul(product, extent > 0 ? extent : 1, &product) || product > int64_t(1) << 59)
      return Status(Code::out_of_limits, "shape: want at most 2^59 elements");
  }
  return Shape(extents);
}

void Shape::push_back(Dim dim) {
  assert(rank_ < kMaxRank);
  dims_[rank_++] = dim;
}

int64_t Shape::n_elements() const {
  int64_t n = 1;
  for (const Dim& dim : dims()) n *= dim.extent;
  return n;
}

bool Shape::is_exact() const {
  for (const Dim& dim : dims())
    if (dim.symbol) return false;
  return true;
}

std::array<int64_t, kMaxRank> Shape::extents() const {
  std::array<int64_t, kMaxRank> out{};
  for (size_t i = 0; i < rank_; ++i) out[i] = dims_[i].extent;
  return out;
}

bool Shape::operator==(const Shape& other) const {
  if (rank_ != other.rank_) return false;
  for (size_t i = 0; i < rank_; ++i)
    if (dims_[i] != other.dims_[i]) return false;
  return true;
}

std::string to_string(const Shape& shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.rank(); ++i) {
    if (i) out += ',';
    if (shape.dim(i).symbol) out += "<=";
    out += std::to_string(shape[i]);
  }
  return out + "]";
}

Result<Shape> broadcast(const Shape& a, const Shape& b) {
  const Shape& longer = a.rank() >= b.rank() ? a : b;
  const Shape& shorter = a.rank() >= b.rank() ? b : a;
  Shape out = longer;
  const size_t offset = longer.rank() - shorter.rank();
  for (size_t i = 0; i < shorter.rank(); ++i) {
    const Dim& x = longer.dim(offset + i);
    const Dim& y = shorter.dim(i);
    if (x == y || y == Dim{1, 0}) continue;
    if (x != Dim{1, 0})
      return Status(Code::invalid_argument, cat("broadcast: want equal or 1 on each axis, got ",
                                                to_string(a), " and ", to_string(b)));
    out.set(offset + i, y);
  }
  return out;
}

bool broadcasts_to(const Shape& from, const Shape& to) {
  const auto both = broadcast(from, to);
  return both.ok() && *both == to;
}

}  // namespace ferrule
