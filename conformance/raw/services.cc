#include "conformance/raw/services.h"

#include <algorithm>
#include <barrier>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>

#include "conformance/raw/state.h"
#include "core/base/text.h"

namespace ferrule::conformance::raw {
namespace {

constexpr unsigned char kGuard = 0xC7, kGarbage = 0xA5;
constexpr uint64_t kGuardBytes = 64;
thread_local bool in_team = false;

frl_str text(const std::string& s) { return {s.data(), s.size()}; }

// A worker's public part, then garbage, then the barrier of its run.
struct Worker {
  frl_worker part{};
  unsigned char garbage[256];
  std::barrier<>* barrier = nullptr;
};

bool untouched(const unsigned char* guard) {
  return std::all_of(guard, guard + kGuardBytes, [](unsigned char c) { return c == kGuard; });
}

}  // namespace

Services::Services(ServiceOptions options)
    : options_(std::move(options)), workers_(options_.workers) {
  for (const auto& [key, value] : options_.settings)
    setting_rows_.push_back({text(key), text(value)});
  table_.resize((sizeof(frl_host) + options_.longer_by + 7) / 8);
  std::memset(table_.data(), kGarbage, table_.size() * 8);
  frl_host host{};
  host.head = {uint32_t(sizeof host + options_.longer_by), FRL_TAG_HOST};
  host.self = this;
  host.settings = {setting_rows_.data(), uint32_t(setting_rows_.size()), sizeof(frl_setting)};
  host.max_workers = options_.workers;
  host.alloc = alloc, host.release = release, host.log = log, host.team = team,
  host.barrier = barrier;
  std::memcpy(table_.data(), &host, sizeof host);
}

// What a plugin leaks stays readable for it: its own destructors may still run.
Services::~Services() = default;

const frl_host* Services::table() const { return reinterpret_cast<const frl_host*>(table_.data()); }

std::string Services::misuse() const {
  const std::lock_guard lock(mutex_);
  return misuse_;
}

void Services::blame(const std::string& what) {
  const std::lock_guard lock(mutex_);
  if (misuse_.empty()) misuse_ = what;
}

void Services::called(const char* slot) {
  if (closed_) blame(cat("host.", slot, ": called after quiesce"));
}

void* Services::alloc(void* self, uint64_t bytes, uint64_t align_bytes) {
  auto& s = *static_cast<Services*>(self);
  s.called("alloc");
  ++s.requests_;
  if (align_bytes == 0 || align_bytes & (align_bytes - 1)) {
    s.blame(cat("host.alloc: want an alignment that is a power of two, got ", align_bytes));
    return nullptr;
  }
  for (uint64_t due = s.fail_at_; due != 0;)
    if (s.fail_at_.compare_exchange_weak(due, due - 1)) {
      if (due == 1) return nullptr;
      break;
    }
  if (bytes > UINT64_MAX / 2 ||
      (s.options_.most_bytes && uint64_t(s.live_bytes_) + bytes > s.options_.most_bytes))
    return nullptr;
  const uint64_t align = std::max<uint64_t>(align_bytes, 16);
  auto* p = static_cast<unsigned char*>(
      std::aligned_alloc(align, (bytes + kGuardBytes + align - 1) / align * align));
  if (!p) return nullptr;
  std::memset(p + bytes, kGuard, kGuardBytes);
  const std::lock_guard lock(s.mutex_);
  s.blocks_[p] = {bytes, align_bytes};
  s.live_bytes_ += int64_t(bytes), ++s.live_blocks_;
  return p;
}

void Services::release(void* self, void* p, uint64_t bytes, uint64_t align_bytes) {
  auto& s = *static_cast<Services*>(self);
  s.called("release");
  if (!p) return;
  Block block{};
  {
    const std::lock_guard lock(s.mutex_);
    const auto it = s.blocks_.find(p);
    if (it != s.blocks_.end()) block = it->second, s.blocks_.erase(it);
  }
  if (block.align_bytes == 0)
    return s.blame(
        "host.release: want memory that alloc gave and that is still held, got other memory");
  if (block.bytes != bytes || block.align_bytes != align_bytes)
    s.blame(cat("host.release: want the sizes of the request, ", block.bytes, " bytes aligned to ",
                block.align_bytes, ", got ", bytes, " aligned to ", align_bytes));
  if (!untouched(static_cast<unsigned char*>(p) + block.bytes))
    s.blame(cat("host.alloc: a block of ", block.bytes, " bytes was written past its end"));
  s.live_bytes_ -= int64_t(block.bytes), --s.live_blocks_;
  std::free(p);
}

void Services::log(void* self, uint32_t level, const char* given, uint64_t n) {
  auto& s = *static_cast<Services*>(self);
  s.called("log");
  if (level > 3) s.blame(cat("host.log: want a level of 0 to 3, got ", level));
  if (!given && n) s.blame("host.log: want a text, got NULL");
}

int32_t Services::team(void* self, uint32_t wanted, uint64_t scratch_bytes,
                       void(FRL_CALL* fn)(void*, const frl_worker*), void* arg) {
  auto& s = *static_cast<Services*>(self);
  s.called("team");
  ++s.team_runs_;
  for (uint64_t due = s.fail_teams_; due != 0;)
    if (s.fail_teams_.compare_exchange_weak(due, due - 1)) return FRL_NO_MEMORY;
  return s.options_.team ? s.options_.team->run(wanted, scratch_bytes, fn, arg)
                         : s.run_team(wanted, scratch_bytes, fn, arg);
}

int32_t Services::run_team(uint32_t wanted, uint64_t scratch_bytes,
                           void(FRL_CALL* fn)(void*, const frl_worker*), void* arg) {
  const uint32_t n = in_team ? 1 : std::max(1u, std::min(wanted, workers_.load()));
  if (scratch_bytes > UINT64_MAX / 2) return FRL_NO_MEMORY;
  std::barrier<> barrier(n);
  std::vector<std::unique_ptr<void, void (*)(void*)>> scratch;
  for (uint32_t i = 0; i < n; ++i) {
    scratch.emplace_back(std::aligned_alloc(64, (scratch_bytes + kGuardBytes + 63) / 64 * 64),
                         std::free);
    if (!scratch.back()) return FRL_NO_MEMORY;
    std::memset(static_cast<char*>(scratch.back().get()) + scratch_bytes, kGuard, kGuardBytes);
  }
  const auto member = [&](uint32_t id) {
    Worker w;
    std::memset(w.garbage, kGarbage, sizeof w.garbage);
    w.part.head = {uint32_t(sizeof(frl_worker) + options_.longer_by), FRL_TAG_WORKER},
    w.part.id = id, w.part.n = n;
    w.part.scratch = scratch[id].get(), w.part.scratch_bytes = scratch_bytes, w.barrier = &barrier;
    const bool before = in_team;
    const uint64_t control = fp_control();
    in_team = true;
    fn(arg, &w.part);
    in_team = before;
    if (fp_control() != control) blame("host.team: a worker came back with other FP control");
    if (!untouched(static_cast<unsigned char*>(w.part.scratch) + scratch_bytes))
      blame("host.team: a worker wrote past its scratch");
  };
  std::vector<std::thread> threads;
  for (uint32_t id = 1; id < n; ++id) threads.emplace_back(member, id);
  member(0);
  for (std::thread& t : threads) t.join();
  return FRL_OK;
}

void Services::barrier(void* self, const frl_worker* worker) {
  auto& s = *static_cast<Services*>(self);
  s.called("barrier");
  if (s.options_.team) return Team::barrier(worker);
  reinterpret_cast<const Worker*>(worker)->barrier->arrive_and_wait();
}

}  // namespace ferrule::conformance::raw
