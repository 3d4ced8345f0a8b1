// Tensor: elements of one type in host memory, dense and row-major.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "core/op/element.h"
#include "core/op/shape.h"

namespace ferrule {

struct TensorType {
  Type type = Type::none;
  Shape shape;
  bool operator==(const TensorType&) const = default;
  // Upper bound where there are symbols.
  int64_t size_bytes() const { return shape.n_elements() * ferrule::size_bytes(type); }
};

// "f32[2,3]"
std::string to_string(const TensorType& type);

// A cheap handle: copies share the elements. Elements are written only by their first holder,
// before the tensor is shared; after that they are constant and any thread may read them.
class Tensor {
 public:
  Tensor() = default;
  // Zero-filled elements of its own, 64-byte aligned.
  explicit Tensor(const TensorType& type);
  // Elements kept alive by `owner` (null: the caller keeps them alive). bytes.size() must fit the
  // type.
  Tensor(const TensorType& type, Bytes bytes, std::shared_ptr<const void> owner);

  template <class T>
  static Tensor of(Type type, const Shape& shape, std::span<const T> elements);
  static Tensor scalar(Type type, double value);
  static Tensor of_i64(std::span<const int64_t> values);  // one axis
  static Tensor of_f64(std::span<const double> values);   // one axis

  const TensorType& type() const { return type_; }
  const Shape& shape() const { return type_.shape; }
  Type element() const { return type_.type; }
  int64_t n_elements() const { return type_.shape.n_elements(); }
  bool empty() const { return type_.type == Type::none; }

  Bytes bytes() const { return {data_, size_t(type_.size_bytes())}; }
  std::byte* mutable_data() { return const_cast<std::byte*>(data_); }
  std::shared_ptr<const void> owner() const { return owner_; }

  template <class T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(data_), size_t(n_elements())};
  }
  template <class T>
  std::span<T> mutable_as() {
    return {reinterpret_cast<T*>(mutable_data()), size_t(n_elements())};
  }

  // Element i, converted. i64 beyond 2^53 loses bits in at_f64.
  double at_f64(int64_t i) const;
  int64_t at_i64(int64_t i) const;
  void set_f64(int64_t i, double value);  // rounds once to the type; integers truncate and saturate
  std::vector<int64_t> to_i64() const;

  // The same elements under another shape with as many elements.
  Tensor reshaped(const Shape& shape) const;

 private:
  TensorType type_;
  const std::byte* data_ = nullptr;
  std::shared_ptr<const void> owner_;
};

// Equal types and equal bits.
bool same_bits(const Tensor& a, const Tensor& b);

// float to integer truncates and saturates, NaN gives 0; to bool is value != 0.
template <class T>
T convert_to(double value);

template <class T>
Tensor Tensor::of(Type type, const Shape& shape, std::span<const T> elements) {
  Tensor out(TensorType{type, shape});
  if (!elements.empty()) std::memcpy(out.mutable_data(), elements.data(), elements.size_bytes());
  return out;
}

}  // namespace ferrule
