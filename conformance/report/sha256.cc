#include "conformance/report/sha256.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "core/base/bytes.h"

namespace ferrule::conformance {
namespace {

// First 32 bits of the fractional part of a root of each of the first primes: 36 bits of a double.
template <size_t N>
std::array<uint32_t, N> root_bits(double (*root)(double)) {
  std::array<uint32_t, N> out{};
  size_t n = 0;
  for (uint32_t candidate = 2; n < N; ++candidate) {
    bool prime = true;
    for (uint32_t d = 2; d * d <= candidate; ++d) prime &= candidate % d != 0;
    if (prime) out[n++] = uint32_t(uint64_t(std::ldexp(root(candidate), 32)));
  }
  return out;
}

void digest_block(std::array<uint32_t, 8>& state, const unsigned char* block) {
  static const auto k = root_bits<64>(std::cbrt);
  std::array<uint32_t, 64> w;
  for (size_t i = 0; i < 16; ++i)
    w[i] = uint32_t(block[4 * i]) << 24 | uint32_t(block[4 * i + 1]) << 16 |
           uint32_t(block[4 * i + 2]) << 8 | uint32_t(block[4 * i + 3]);
  for (size_t i = 16; i < 64; ++i) {
    const uint32_t a = w[i - 15], b = w[i - 2];
    w[i] = w[i - 16] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) + w[i - 7] +
           (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
  }
  std::array<uint32_t, 8> s = state;
  for (size_t i = 0; i < 64; ++i) {
    const uint32_t choose = (s[4] & s[5]) ^ (~s[4] & s[6]);
    const uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
    const uint32_t t1 = s[7] + (std::rotr(s[4], 6) ^ std::rotr(s[4], 11) ^ std::rotr(s[4], 25)) +
                        choose + k[i] + w[i];
    const uint32_t t2 = (std::rotr(s[0], 2) ^ std::rotr(s[0], 13) ^ std::rotr(s[0], 22)) + majority;
    s = {t1 + t2, s[0], s[1], s[2], s[3] + t1, s[4], s[5], s[6]};
  }
  for (size_t i = 0; i < 8; ++i) state[i] += s[i];
}

}  // namespace

std::string sha256(std::string_view bytes) {
  auto state = root_bits<8>(std::sqrt);
  const auto* at = reinterpret_cast<const unsigned char*>(bytes.data());
  size_t left = bytes.size();
  for (; left >= 64; left -= 64, at += 64) digest_block(state, at);
  // The rest, a one bit, zeros, and the length in bits, in one or two blocks.
  std::array<unsigned char, 128> tail{};
  if (left) std::memcpy(tail.data(), at, left);
  tail[left] = 0x80;
  const size_t n = left < 56 ? 64 : 128;
  for (size_t i = 0; i < 8; ++i) tail[n - 1 - i] = uint8_t(uint64_t(bytes.size()) * 8 >> 8 * i);
  for (size_t i = 0; i < n; i += 64) digest_block(state, tail.data() + i);
  std::string out;
  for (uint32_t word : state)
    for (int shift = 28; shift >= 0; shift -= 4) out += "0123456789abcdef"[word >> shift & 15];
  return out;
}

std::string sha256_of_file(const std::string& path) {
  const auto file = MappedFile::open(path);
  if (!file.ok()) return {};
  const Bytes bytes = file->bytes();
  return sha256({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace ferrule::conformance
