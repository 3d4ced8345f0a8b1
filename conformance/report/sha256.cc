// The only file that knows OpenSSL.
#include "conformance/report/sha256.h"

#include <openssl/evp.h>

#include "core/base/bytes.h"

namespace ferrule::conformance {

std::string sha256(std::string_view bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned n = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest, &n, EVP_sha256(), nullptr) != 1) return {};
  std::string out;
  for (unsigned i = 0; i < n; ++i) {
    out += "0123456789abcdef"[digest[i] >> 4];
    out += "0123456789abcdef"[digest[i] & 15];
  }
  return out;
}

std::string sha256_of_file(const std::string& path) {
  const auto file = MappedFile::open(path);
  if (!file.ok()) return {};
  const Bytes bytes = file->bytes();
  return sha256({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace ferrule::conformance
