#include "plugins/cpu/isa.h"

#include <cstring>

namespace cpu {

namespace generic {
Isa table();
}
#if defined(__x86_64__)
namespace avx2 {
Isa table();
}
namespace avx512 {
Isa table();
}
#endif

namespace {

struct Candidate {
  Isa isa;
  bool runs;
};

const Isa& pick(const char* name) {
  static const Candidate candidates[] = {
#if defined(__x86_64__)
    {avx512::table(), __builtin_cpu_supports("x86-64-v4") != 0},
    {avx2::table(), __builtin_cpu_supports("x86-64-v3") != 0},
#endif
    {generic::table(), true},
  };
  for (const Candidate& c : candidates)
    if (c.runs && (!name || std::strcmp(c.isa.name, name) == 0)) return c.isa;
  return candidates[sizeof candidates / sizeof *candidates - 1].isa;
}

}  // namespace

const Isa& choose_isa(const char* name) { return pick(name); }

}  // namespace cpu
