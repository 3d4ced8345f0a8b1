// What a plugin must leave alone in the process it lives in, read back before and after.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ferrule::conformance::raw {

// Rounding mode, denormal and trap bits of the calling thread; the sticky status flags are left
// out.
uint64_t fp_control();

size_t open_descriptors();
size_t live_threads();
size_t mapped_ranges();
bool is_mapped(const std::string& path);
uint64_t ns_in_line();  // that all threads have waited for a processor; 0 where that is not known
uint64_t heap_bytes_in_use();  // of the C library's allocator, all arenas

// One side of the process that could change: a name and its present state as text.
struct Aspect {
  const char* name;  // "locale"
  std::string (*read)();
};
// FP control, signal handlers, signal mask, locale, working folder, umask, environment, timers.
const std::vector<Aspect>& aspects();

}  // namespace ferrule::conformance::raw
