#include "core/op/tensor.h"

#include <cassert>
#include <cmath>
#include <limits>
#include <new>

#include "core/base/text.h"

namespace ferrule {
namespace {

class NoMemory : public std::bad_alloc {
 public:
  explicit NoMemory(const TensorType& type)
      : text_(cat("want ", type.size_bytes(), " bytes for ", to_string(type), ", got none")) {}
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string text_;
};

}  // namespace

std::string to_string(const TensorType& type) {
  return cat(type_name(type.type), to_string(type.shape));
}

Tensor::Tensor(const TensorType& type) : type_(type) {
  const size_t size = align_up(uint64_t(std::max<int64_t>(type.size_bytes(), 1)), 64);
  // Beyond this no machine has it, and some allocators abort instead of answering.
  constexpr size_t kMostBytes = size_t(1) << 39;
  if (size > kMostBytes) throw NoMemory(type);
  auto* data = static_cast<std::byte*>(::operator new(size, std::align_val_t(64), std::nothrow));
  if (!data) throw NoMemory(type);
  std::memset(data, 0, size);
  data_ = data;
  owner_ = std::shared_ptr<const void>(
      data, [](const void* p) { ::operator delete(const_cast<void*>(p), std::align_val_t(64)); });
}

Tensor::Tensor(const TensorType& type, Bytes bytes, std::shared_ptr<const void> owner)
    : type_(type), data_(bytes.data()), owner_(std::move(owner)) {
  assert(int64_t(bytes.size()) >= type.size_bytes());
}

Tensor Tensor::scalar(Type type, double value) {
  Tensor out(TensorType{type, {}});
  out.set_f64(0, value);
  return out;
}

Tensor Tensor::of_i64(std::span<const int64_t> values) {
  return of<int64_t>(Type::i64, Shape{int64_t(values.size())}, values);
}

Tensor Tensor::of_f64(std::span<const double> values) {
  return of<double>(Type::f64, Shape{int64_t(values.size())}, values);
}

template <class T>
T convert_to(double value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value != 0;
  } else if constexpr (std::is_same_v<T, Half>) {
    return to_half(value);
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return to_bfloat16(value);
  } else if constexpr (std::is_floating_point_v<T>) {
    return T(value);
  } else {
    // 2^digits is exact in double, the highest value itself may not be.
    const double above = std::ldexp(1.0, std::numeric_limits<T>::digits);
    if (std::isnan(value)) return 0;
    if (value >= above) return std::numeric_limits<T>::max();
    if (value <= double(std::numeric_limits<T>::lowest())) return std::numeric_limits<T>::lowest();
    return T(value);
  }
}

template bool convert_to(double);
template Half convert_to(double);
template BFloat16 convert_to(double);
template float convert_to(double);
template double convert_to(double);
template int8_t convert_to(double);
template int16_t convert_to(double);
template int32_t convert_to(double);
template int64_t convert_to(double);
template uint8_t convert_to(double);
template uint16_t convert_to(double);
template uint32_t convert_to(double);
template uint64_t convert_to(double);

double Tensor::at_f64(int64_t i) const {
  return with_type(type_.type, [&]<class T>(T) -> double {
    const T x = as<T>()[size_t(i)];
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
      return to_float(x);
    else
      return double(x);
  });
}

int64_t Tensor::at_i64(int64_t i) const {
  return with_type(type_.type, [&]<class T>(T) -> int64_t {
    if constexpr (std::is_integral_v<T>)
      return int64_t(as<T>()[size_t(i)]);
    else
      return convert_to<int64_t>(at_f64(i));
  });
}

void Tensor::set_f64(int64_t i, double value) {
  with_type(type_.type, [&]<class T>(T) { mutable_as<T>()[size_t(i)] = convert_to<T>(value); });
}

std::vector<int64_t> Tensor::to_i64() const {
  std::vector<int64_t> out(static_cast<size_t>(n_elements()));
  for (size_t i = 0; i < out.size(); ++i) out[i] = at_i64(int64_t(i));
  return out;
}

Tensor Tensor::reshaped(const Shape& shape) const {
  assert(shape.n_elements() == n_elements());
  Tensor out = *this;
  out.type_.shape = shape;
  return out;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.type() == b.type() &&
         (a.n_elements() == 0 ||
          std::memcmp(a.bytes().data(), b.bytes().data(), a.bytes().size()) == 0);
}

}  // namespace ferrule
