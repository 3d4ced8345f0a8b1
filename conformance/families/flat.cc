#include "conformance/families/flat.h"

#include <vector>

#include "core/base/text.h"

namespace ferrule::conformance {
namespace {

struct Measure {
  const char* name;
  int64_t Held::*value;
  int64_t slack;   // of the whole run: what an allocator or a lazy table may still take
  bool per_round;  // judged by its slope: a leak of one block a round is one
};
constexpr int64_t kLeastBlock = 24;  // bytes that the C library takes for the smallest block
constexpr Measure kMeasures[] = {
    {"bytes of host memory", &Held::host_bytes, 0, false},
    {"blocks of host memory", &Held::host_blocks, 0, false},
    {"open descriptors", &Held::descriptors, 0, false},
    {"threads", &Held::threads, 0, false},
    {"mapped ranges", &Held::maps, 8, false},
    {"bytes of the C heap", &Held::heap_bytes, 0, true},
    {"bytes of device memory", &Held::device_bytes, 0, false},
};

bool grew(const Measure& m, const Held& before, const Held& now, int64_t n) {
  const int64_t more = now.*m.value - before.*m.value;
  return m.per_round ? more >= n * kLeastBlock : more > m.slack;
}

constexpr int kWindows = 3;
constexpr int kFirstRounds = 20;

}  // namespace

Outcome stays_flat(int64_t n, const std::function<Outcome(int64_t)>& run,
                   const std::function<Held()>& see) {
  for (int64_t rounds : {int64_t{kFirstRounds}, n})
    if (Outcome out = run(rounds); out.verdict != Verdict::pass) return out;
  std::vector<const Measure*> suspects;
  for (const Measure& m : kMeasures) suspects.push_back(&m);
  int64_t done = kFirstRounds + n;
  Held before = see();
  for (int window = 0;; ++window, n *= 2) {
    if (Outcome out = run(n); out.verdict != Verdict::pass) return out;
    done += n;
    const Held now = see();
    std::erase_if(suspects, [&](const Measure* m) { return !grew(*m, before, now, n); });
    if (suspects.empty()) return pass(uint64_t(done));
    const Measure& m = *suspects[0];
    const int64_t more = now.*m.value - before.*m.value;
    if (window + 1 == kWindows)
      return fail(cat(m.name, ": want as many after ", done, " rounds as after ", done - n, ", ",
                      more, " more are held (", more / n, " a round)"));
    before = now;
  }
}

}  // namespace ferrule::conformance
