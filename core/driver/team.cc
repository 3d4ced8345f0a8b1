#include "core/driver/team.h"

#include <sched.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ferrule {
namespace {

constexpr auto kSpin = std::chrono::microseconds(50);
constexpr std::align_val_t kAlign{64};

void pause() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

// Spins for at most kSpin while `word` has the value `old`, then sleeps until it changes.
template <class T>
void wait_while(const std::atomic<T>& word, T old) {
  const auto until = std::chrono::steady_clock::now() + kSpin;
  for (int i = 0; word.load(std::memory_order_acquire) == old; ++i) {
    pause();
    if (i % 64 == 63 && std::chrono::steady_clock::now() > until) {
      word.wait(old, std::memory_order_acquire);
      i = 0;
    }
  }
}

// Memory that only grows, so that repeated runs allocate nothing.
struct Scratch {
  void* p = nullptr;
  uint64_t bytes = 0;
  ~Scratch() { ::operator delete(p, kAlign); }
  bool reserve(uint64_t wanted) {
    if (wanted <= bytes) return true;
    void* fresh = ::operator new(wanted, kAlign, std::nothrow);
    if (!fresh) return false;
    ::operator delete(p, kAlign);
    p = fresh, bytes = wanted;
    return true;
  }
};

thread_local Scratch alone_scratch;
thread_local bool inside = false;

}  // namespace

uint32_t available_processors() {
  uint32_t n = 1;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) n = std::max(1, CPU_COUNT(&set));
  if (std::FILE* file = std::fopen("/sys/fs/cgroup/cpu.max", "re")) {
    long long quota = 0, period = 0;
    if (std::fscanf(file, "%lld %lld", &quota, &period) == 2 && quota > 0 && period > 0)
      n = std::min(n, uint32_t(std::max<long long>(1, (quota + period - 1) / period)));
    std::fclose(file);
  }
  return n;
}

// One participant. The public part comes first, so that barrier() finds the rest behind it.
struct Team::Worker {
  frl_worker seen{};
  Run* run = nullptr;  // null: runs alone
  std::atomic<uint64_t> posted{0};
  uint64_t taken = 0;
  Scratch scratch;
  std::thread thread;
};

struct Team::Run {
  std::mutex busy;
  std::vector<std::unique_ptr<Worker>> workers;
  Fn fn = nullptr;
  void* arg = nullptr;
  uint32_t n = 0;
  std::atomic<uint32_t> remaining{0};
  std::atomic<uint32_t> arrived{0};
  std::atomic<uint32_t> phase{0};
  std::atomic<bool> stopping{false};
};

Team::Team(uint32_t n_workers)
    : n_workers_(std::max(1u, n_workers)), run_(std::make_unique<Run>()) {}

Team::~Team() {
  run_->stopping = true;
  for (auto& worker : run_->workers) {
    if (!worker->thread.joinable()) continue;
    worker->posted.fetch_add(1, std::memory_order_release);
    worker->posted.notify_one();
    worker->thread.join();
  }
}

void Team::start_threads() {
  for (uint32_t i = 0; i < n_workers_; ++i) {
    auto worker = std::make_unique<Worker>();
    worker->run = run_.get();
    worker->seen.head = {sizeof(frl_worker), FRL_TAG_WORKER};
    worker->seen.id = i;
    run_->workers.push_back(std::move(worker));
  }
  for (uint32_t i = 1; i < n_workers_; ++i) {
    Worker& worker = *run_->workers[i];
    worker.thread = std::thread([this, &worker] { work(worker); });
  }
}

void Team::work(Worker& self) {
  inside = true;
  for (;;) {
    wait_while(self.posted, self.taken);
    self.taken = self.posted.load(std::memory_order_acquire);
    if (run_->stopping) return;
    run_->fn(run_->arg, &self.seen);
    // The last to end wakes the leader.
    if (run_->remaining.fetch_sub(1, std::memory_order_acq_rel) == 1) run_->remaining.notify_one();
  }
}

int32_t Team::run(uint32_t wanted, uint64_t scratch_bytes, Fn fn, void* arg) {
  std::unique_lock lock(run_->busy, std::defer_lock);
  const uint32_t n = std::min(wanted, n_workers_);
  if (n < 2 || inside || !lock.try_lock()) {
    if (!alone_scratch.reserve(scratch_bytes)) return FRL_NO_MEMORY;
    // Nested runs must not take the scratch that an outer one is using.
    Scratch mine;
    std::swap(mine.p, alone_scratch.p), std::swap(mine.bytes, alone_scratch.bytes);
    Worker alone;
    alone.seen = {{sizeof(frl_worker), FRL_TAG_WORKER}, 0, 1, mine.p, mine.bytes};
    fn(arg, &alone.seen);
    if (mine.bytes >= alone_scratch.bytes) {
      std::swap(mine.p, alone_scratch.p), std::swap(mine.bytes, alone_scratch.bytes);
    }
    return FRL_OK;
  }
  if (run_->workers.empty()) start_threads();
  for (uint32_t i = 0; i < n; ++i) {
    Worker& worker = *run_->workers[i];
    if (!worker.scratch.reserve(scratch_bytes)) return FRL_NO_MEMORY;
    worker.seen.n = n;
    worker.seen.scratch = worker.scratch.p, worker.seen.scratch_bytes = worker.scratch.bytes;
  }
  run_->fn = fn, run_->arg = arg, run_->n = n;
  run_->arrived.store(0, std::memory_order_relaxed);
  run_->remaining.store(n - 1, std::memory_order_relaxed);
  for (uint32_t i = 1; i < n; ++i) {
    run_->workers[i]->posted.fetch_add(1, std::memory_order_release);
    run_->workers[i]->posted.notify_one();
  }
  inside = true;
  fn(arg, &run_->workers[0]->seen);
  inside = false;
  for (uint32_t left; (left = run_->remaining.load(std::memory_order_acquire)) != 0;)
    wait_while(run_->remaining, left);
  return FRL_OK;
}

void Team::barrier(const frl_worker* worker) {
  static_assert(offsetof(Worker, seen) == 0);
  Run* run = reinterpret_cast<const Worker*>(worker)->run;
  if (!run || worker->n < 2) return;
  const uint32_t phase = run->phase.load(std::memory_order_acquire);
  if (run->arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == run->n) {
    run->arrived.store(0, std::memory_order_relaxed);
    run->phase.fetch_add(1, std::memory_order_release);
    run->phase.notify_all();
  } else {
    wait_while(run->phase, phase);
  }
}

}  // namespace ferrule
