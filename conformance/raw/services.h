// A host of the suite's own: services that count, fail on request, and notice misuse.
//
// Shares no code with the core's host, so that a plugin is not judged by the code it will meet;
// only where time is measured may the workers be those of the core's team.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/driver/team.h"

namespace ferrule::conformance::raw {

struct ServiceOptions {
  uint32_t workers = 2;     // of a team
  uint32_t longer_by = 0;   // garbage bytes behind frl_host and frl_worker, counted in their sizes
  uint64_t most_bytes = 0;  // alloc answers NULL beyond; 0 no limit
  std::vector<std::pair<std::string, std::string>> settings;
  std::shared_ptr<Team> team;  // whose workers run; null: threads that are started for each run
};

class Services {
 public:
  explicit Services(ServiceOptions options = {});
  Services(const Services&) = delete;
  Services& operator=(const Services&) = delete;
  ~Services();

  const frl_host* table() const;
  int64_t live_bytes() const { return live_bytes_; }
  int64_t live_blocks() const { return live_blocks_; }
  uint64_t requests() const { return requests_; }
  uint64_t team_runs() const { return team_runs_; }

  // The n-th allocation from now (1: the next one) answers NULL, once; 0: none does.
  void fail_alloc(uint64_t n) { fail_at_ = n; }
  bool fault_is_due() const { return fail_at_ != 0; }  // it was not reached
  void set_budget(uint64_t bytes) { options_.most_bytes = bytes; }
  void set_workers(uint32_t n) { workers_ = n; }
  // The next n team calls answer FRL_NO_MEMORY and run nothing.
  void fail_teams(uint64_t n) { fail_teams_ = n; }
  // From now on every call is one that must not happen; release alone is still carried out.
  void close() { closed_ = true; }

  // "", or the first misuse: a release of what was not lent, with other sizes, after close, a block
  // written past its end, a worker that changed FP control.
  std::string misuse() const;

 private:
  struct Block {
    uint64_t bytes, align_bytes;
  };
  static void* FRL_CALL alloc(void* self, uint64_t bytes, uint64_t align_bytes);
  static void FRL_CALL release(void* self, void* p, uint64_t bytes, uint64_t align_bytes);
  static void FRL_CALL log(void* self, uint32_t level, const char* text, uint64_t text_n);
  static int32_t FRL_CALL team(void* self, uint32_t wanted, uint64_t scratch_bytes,
                               void(FRL_CALL* fn)(void* arg, const frl_worker* worker), void* arg);
  static void FRL_CALL barrier(void* self, const frl_worker* worker);
  void blame(const std::string& text);
  void called(const char* slot);
  int32_t run_team(uint32_t wanted, uint64_t scratch_bytes,
                   void(FRL_CALL* fn)(void*, const frl_worker*), void* arg);

  ServiceOptions options_;
  std::vector<frl_setting> setting_rows_;
  std::vector<uint64_t> table_;  // frl_host, then garbage
  std::atomic<int64_t> live_bytes_{0}, live_blocks_{0};
  std::atomic<uint64_t> requests_{0}, team_runs_{0}, fail_at_{0}, fail_teams_{0};
  std::atomic<uint32_t> workers_;
  std::atomic<bool> closed_{false};
  mutable std::mutex mutex_;
  std::map<void*, Block> blocks_;
  std::string misuse_;
};

}  // namespace ferrule::conformance::raw
