// Checked byte arithmetic, hashing, and read-only files in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/base/status.h"

namespace ferrule {

using Bytes = std::span<const std::byte>;

// Smallest multiple of alignment_bytes (a power of two) that is >= size_bytes.
constexpr uint64_t align_up(uint64_t size_bytes, uint64_t alignment_bytes) {
  return (size_bytes + alignment_bytes - 1) & ~(alignment_bytes - 1);
}

// a * b and a + b, or false on overflow.
inline bool checked_mul(int64_t a, int64_t b, int64_t* out) {
  return !__builtin_mul_overflow(a, b, out);
}
inline bool checked_add(int64_t a, int64_t b, int64_t* out) {
  return !__builtin_add_overflow(a, b, out);
}

// FNV-1a, 64 bits; continues from `seed`. For cache keys, never for trust.
uint64_t hash_bytes(const void* data, size_t size_bytes, uint64_t seed = 1469598103934665603ull);

// A whole file, mapped read-only and private; unmapped with the last copy.
//   errors  not_found with the system's text; a folder is refused
class MappedFile {
 public:
  static Result<MappedFile> open(const std::string& path);
  Bytes bytes() const { return bytes_; }
  // Keeps the mapping alive for as long as it is held.
  std::shared_ptr<const void> owner() const { return owner_; }

 private:
  Bytes bytes_;
  std::shared_ptr<const void> owner_;
};

// Puts a file in place of what is there, whole or not at all.
//   errors  not_found with the system's text
Status replace_file(const std::string& path, std::string_view text);

}  // namespace ferrule
