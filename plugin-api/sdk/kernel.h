// What a backend author writes: a Kernel, made by compile(region) and called by the SDK.
#pragma once

#include <cstddef>
#include <vector>

#include "plugin-api/sdk/error.h"

namespace frl {

// One run of a kernel.
struct Call {
  // In the ABI's order: inputs (no place for a missing one; a packed one is the packed buffer),
  // outputs, then i64 written extents if the region has any, then scratch if it was asked for.
  std::byte* const* args;
  const int64_t* extents;  // one for each given symbol of the region
  const frl_host* host;

  template <class T>
  const T* in(int place) const {
    return reinterpret_cast<const T*>(args[place]);
  }
  template <class T>
  T* out(int place) const {
    return reinterpret_cast<T*>(args[place]);
  }
};

// Immutable once made; run() is called from many threads at once. Fill the public members in the
// constructor or right after it; the SDK reads them when compile returns.
class Kernel {
 public:
  virtual ~Kernel() = default;

  // Failures are thrown as Failure: an index out of range, no memory for a team.
  virtual void run(const Call& call) const = 0;

  // Makes the packed copy of `input`; bytes and key are those of its row in `packs`.
  virtual void pack(uint32_t input, const std::byte* source, std::byte* target,
                    const frl_host* host) const {
    (void)input, (void)source, (void)target, (void)host;
    throw Failure(FRL_INVALID, "pack: this kernel asked for none");
  }

  // Bytes from which InlineDevice::restore makes this kernel again; empty: not worth saving.
  virtual std::vector<std::byte> save() const { return {}; }

  uint64_t scratch_bytes = 0;
  std::vector<frl_pack> packs;
  std::vector<frl_alias> aliases;
};

}  // namespace frl
