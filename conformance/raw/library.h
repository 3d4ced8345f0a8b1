// One plugin opened by hand: its entry, offers to it, and structs that are longer than this side
// knows.
#pragma once

#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "core/base/status.h"

namespace ferrule::conformance::raw {

constexpr unsigned char kGarbage = 0xA5;  // behind structs and rows that are longer than known

// What the suite makes longer, as a newer host would.
enum Part : uint32_t {
  kPartHost = 1,
  kPartCompile = 2,
  kPartSpaceRequest = 4,
  kPartSegment = 8,
  kPartSubmit = 16,
  kPartRegion = 32,
  kPartSteps = 64,
  kPartArgs = 128,
  kPartExtents = 256,
  kPartBindings = 512,
  kPartCopies = 1024,
  kPartWaits = 2048,
  kPartRegionRows = 4096
};
struct Longer {
  uint32_t parts = 0, bytes = 0;
  uint32_t of(Part part) const { return parts & part ? bytes : 0; }
};

// A headed struct with garbage behind, which its size counts.
template <class T>
class Grown {
 public:
  Grown(T value, uint32_t longer_by) : words_((sizeof(T) + longer_by + 7) / 8) {
    std::memset(words_.data(), kGarbage, words_.size() * 8);
    value.head.size = uint32_t(sizeof(T) + longer_by);
    std::memcpy(words_.data(), &value, sizeof(T));
  }
  T* get() { return reinterpret_cast<T*>(words_.data()); }

 private:
  std::vector<uint64_t> words_;
};

// Rows with garbage behind each, which the stride counts.
class GrownRows {
 public:
  template <class T>
  GrownRows(std::span<const T> rows, uint32_t longer_by)
      : n_(uint32_t(rows.size())), stride_(uint32_t(sizeof(T)) + longer_by) {
    words_.assign((uint64_t(n_) * stride_ + 7) / 8, 0xA5A5A5A5A5A5A5A5u);
    for (size_t i = 0; i < rows.size(); ++i)
      std::memcpy(reinterpret_cast<char*>(words_.data()) + i * stride_, &rows[i], sizeof(T));
  }
  frl_rows table() const { return {words_.empty() ? nullptr : words_.data(), n_, stride_}; }

 private:
  uint32_t n_, stride_;
  std::vector<uint64_t> words_;
};

// frl_error as a caller keeps it; poisoned, so that what the plugin wrote shows.
class Error {
 public:
  Error() { std::memset(&value, 0x5A, sizeof value); }
  // "" or how the plugin broke the rules of frl_error, given what the call returned.
  std::string fault(int32_t returned) const;
  // What the plugin said; an internal error if it broke the rules, or returned `ok` for a failure.
  Status status(int32_t returned, const std::string& what) const;
  std::string text() const;

  frl_error value;
};

class Library {
 public:
  static Result<Library> load(const std::string& path);
  Library(Library&& other) noexcept { swap(other); }
  Library& operator=(Library&& other) noexcept { return swap(other), *this; }
  ~Library() = default;  // stays mapped; close() unmaps
  void close();

  frl_entry_fn entry() const { return entry_; }
  // The entry's answer to an offer that is longer by some bytes.
  const frl_plugin* offer(uint32_t min_minor, uint32_t max_minor, Error& error,
                          uint32_t longer_by = 0, uint64_t features = 0) const;

 private:
  Library() = default;
  void swap(Library& other) { std::swap(handle_, other.handle_), std::swap(entry_, other.entry_); }
  void* handle_ = nullptr;
  frl_entry_fn entry_ = nullptr;
};

}  // namespace ferrule::conformance::raw
