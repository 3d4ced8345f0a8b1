#include "core/base/bytes.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "core/base/text.h"

namespace ferrule {

uint64_t hash_bytes(const void* data, size_t size_bytes, uint64_t seed) {
  const auto* p = static_cast<const unsigned char*>(data);
  for (size_t i = 0; i < size_bytes; ++i) seed = (seed ^ p[i]) * 1099511628211ull;
  return seed;
}

Result<MappedFile> MappedFile::open(const std::string& path) {
  const auto failed = [&] {
    return Status(Code::not_found, cat(path, ": ", std::strerror(errno)));
  };
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return failed();
  struct stat facts {};
  if (::fstat(fd, &facts) != 0) {
    Status status = failed();
    ::close(fd);
    return status;
  }
  if (!S_ISREG(facts.st_mode)) {
    ::close(fd);
    return Status(Code::not_found, cat(path, ": want a regular file, got ",
                                       S_ISDIR(facts.st_mode) ? "a folder" : "a device or pipe"));
  }
  MappedFile file;
  const size_t size = size_t(facts.st_size);
  if (size > 0) {
    void* at = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (at == MAP_FAILED) {
      Status status = failed();
      ::close(fd);
      return status;
    }
    file.owner_ = std::shared_ptr<const void>(
        at, [size](const void* p) { ::munmap(const_cast<void*>(p), size); });
    file.bytes_ = {static_cast<const std::byte*>(at), size};
  }
  ::close(fd);
  return file;
}

Status replace_file(const std::string& path, std::string_view text) {
  const std::string beside = path + ".new";
  std::ofstream file(beside, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (file && std::rename(beside.c_str(), path.c_str()) == 0) return {};
  Status status(Code::not_found, cat(path, ": cannot be written: ", std::strerror(errno)));
  std::remove(beside.c_str());
  return status;
}

}  // namespace ferrule
