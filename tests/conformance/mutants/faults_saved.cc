// Faults of saved kernels: cpu saves none, so the wrapper saves for it.
#include <algorithm>
#include <mutex>
#include <utility>

#include "tests/conformance/mutants/mutant.h"

namespace mutant {

namespace {
// What a saved kernel is: a mark, its region, some bytes, and a hash of them.
struct Saved {
  char mark[8];
  uint64_t region;
  unsigned char bytes[48];
  uint64_t hash;
};
bool looks_at_region = true, looks_at_bytes = true, minds_capacity = true;

uint64_t hash(const void* p, uint64_t n) {
  uint64_t h = 1469598103934665603u;
  for (uint64_t i = 0; i < n; ++i)
    h = (h ^ static_cast<const unsigned char*>(p)[i]) * 1099511628211u;
  return h;
}

bool is_good(const frl_compile& q, uint64_t region) {
  Saved s{};
  if (!q.cached || q.cached_n < 8) return false;
  std::memcpy(&s, q.cached, std::min<uint64_t>(q.cached_n, sizeof s));
  if (std::memcmp(s.mark, "MUTANT 1", 8) != 0) return false;
  if (looks_at_bytes && (q.cached_n != sizeof s || s.hash != hash(&s, offsetof(Saved, hash))))
    return false;
  return !looks_at_region || s.region == region;
}

std::mutex saving;
std::vector<std::pair<const frl_kernel*, uint64_t>> hashes;

int32_t FRL_CALL compile_or_restore(frl_device* d, const frl_region* r, const frl_compile* q,
                                    frl_kernel** out, frl_error* e) {
  const uint64_t region = hash(r, r->bytes);
  const bool good = is_good(*q, region);
  if (q->restore_only && !good) return fail(e, FRL_FOREIGN, "saved kernel: not of this region");
  frl_compile plain{{sizeof plain, FRL_TAG_COMPILE}, nullptr, 0, q->cancel, 0, 0};
  if (const int32_t code = below.compile(d, r, &plain, out, e)) return code;
  (*out)->restored = good;
  const std::lock_guard lock(saving);
  hashes.emplace_back(*out, region);
  return FRL_OK;
}
void FRL_CALL drop_saved(frl_kernel* k) {
  {
    const std::lock_guard lock(saving);
    std::erase_if(hashes, [&](const auto& each) { return each.first == k; });
  }
  below.drop_kernel(k);
}
int32_t FRL_CALL serialise(const frl_kernel* k, void* target, uint64_t capacity, uint64_t* bytes,
                           frl_error* e) {
  Saved s{{'M', 'U', 'T', 'A', 'N', 'T', ' ', '1'}, 0, {}, 0};
  {
    const std::lock_guard lock(saving);
    for (const auto& [kernel, region] : hashes)
      if (kernel == k) s.region = region;
  }
  for (size_t i = 0; i < sizeof s.bytes; ++i) s.bytes[i] = static_cast<unsigned char>(i * 37);
  s.hash = hash(&s, offsetof(Saved, hash));
  *bytes = sizeof s;
  if (target && (capacity >= sizeof s || !minds_capacity)) std::memcpy(target, &s, sizeof s);
  return capacity >= sizeof s ? int32_t(FRL_OK)
                              : fail(e, FRL_NO_MEMORY, "serialise: want more room");
}
void saves(Hooks& h) {
  on_table(h, [](frl_plugin& t) {
    t.compile = compile_or_restore, t.drop_kernel = drop_saved, t.serialise = serialise;
  });
}
}  // namespace

void fault_damage_accepted(Hooks& h) { looks_at_bytes = false, saves(h); }
void fault_foreign_restored(Hooks& h) { looks_at_region = false, saves(h); }
void fault_capacity_ignored(Hooks& h) { minds_capacity = false, saves(h); }

}  // namespace mutant
