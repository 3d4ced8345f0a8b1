// The one pool of compute threads in the process: what frl_host.team and .barrier are.
#pragma once

#include <cstdint>
#include <memory>

#include "plugin-api/frl_plugin.h"

namespace ferrule {

// Processors that this process may use: affinity mask, then cgroup quota (rounded up); at least 1.
uint32_t available_processors();

class Team {
 public:
  using Fn = void(FRL_CALL*)(void* arg, const frl_worker* worker);

  // n_workers counts the caller; n_workers - 1 threads are made at the first run that wants them.
  explicit Team(uint32_t n_workers);
  ~Team();  // nobody is inside run()
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  uint32_t n_workers() const { return n_workers_; }

  // As frl_host.team: returns FRL_OK when all have ended, or FRL_NO_MEMORY and fn did not run.
  //   thread  any; who comes while the team is busy, or from within it, runs alone
  int32_t run(uint32_t wanted, uint64_t scratch_bytes, Fn fn, void* arg);

  // Waits until all workers of `worker`'s run have come here equally often.
  static void barrier(const frl_worker* worker);

 private:
  struct Worker;
  struct Run;
  void start_threads();
  void work(Worker& self);

  const uint32_t n_workers_;
  std::unique_ptr<Run> run_;
};

}  // namespace ferrule
