#include "plugins/cpu/isa.h"

#include <cstring>

namespace cpu {

namespace generic {
Isa table();
}
#if defined(FRL_HAS_avx2)
namespace avx2 {
Isa table();
}
#endif
#if defined(FRL_HAS_avx512)
namespace avx512 {
Isa table();
}
#endif

namespace {

#if defined(__x86_64__)
// x86-64-v3 and -v4 by the features that tell them apart from older processors.
[[maybe_unused]] bool runs_v3() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
}
[[maybe_unused]] bool runs_v4() {
  return runs_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}
#endif

struct Candidate {
  Isa isa;
  bool runs;
};

const Isa& pick(const char* name) {
  static const Candidate candidates[] = {
#if defined(FRL_HAS_avx512)
    {avx512::table(), runs_v4()},
#endif
#if defined(FRL_HAS_avx2)
    {avx2::table(), runs_v3()},
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
