#include "plugins/cpu/keys.h"

namespace cpu {
namespace {

constexpr uint64_t kTop = uint64_t{1} << 63;

template <class T>
uint64_t key_of(T x, bool upside_down) {
  using C = Compute<T>;
  const C value = load(x);
  uint64_t key;
  if constexpr (kIsFloat<T>) {
    if (value != value) return UINT64_MAX;
    const uint64_t bits = std::bit_cast<uint64_t>(static_cast<double>(value) + 0.0);
    key = bits & kTop ? ~bits : bits | kTop;
  } else if constexpr (std::is_signed_v<C>) {
    key = static_cast<uint64_t>(static_cast<int64_t>(value)) ^ kTop;
  } else {
    key = value;
  }
  return upside_down ? ~key : key;
}

template <class T>
void load_keys(uint64_t* keys, const std::byte* x, int64_t step, int64_t n, bool upside_down) {
  const T* p = reinterpret_cast<const T*>(x);
  for (int64_t i = 0; i < n; ++i) keys[i] = key_of(p[i * step], upside_down);
}

}  // namespace

KeyLoader key_loader(uint32_t type) {
  return with_type(type, []<class T>(T) -> KeyLoader { return load_keys<T>; });
}

}  // namespace cpu
