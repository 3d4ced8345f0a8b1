// The services that the core lends to plugins: frl_host, filled in.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/driver/team.h"

namespace ferrule {

// Every line that the library or a plugin has to say. level: 0 error, 1 warning, 2 note, 3 trace.
//   thread  any, several at once
using LogSink = std::function<void(int level, const std::string& from, const std::string& text)>;

// One for each loaded plugin; lives as long as the plugin may call.
class Host {
 public:
  Host(std::string plugin_id, std::shared_ptr<Team> team, LogSink sink,
       const std::map<std::string, std::string>& settings);
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  const frl_host* table() const { return &table_; }
  // Bytes that the plugin holds of the host's allocator.
  int64_t live_bytes() const { return live_bytes_.load(); }

 private:
  static void* FRL_CALL alloc(void* self, uint64_t bytes, uint64_t align_bytes);
  static void FRL_CALL release(void* self, void* p, uint64_t bytes, uint64_t align_bytes);
  static void FRL_CALL log(void* self, uint32_t level, const char* text, uint64_t text_n);
  static int32_t FRL_CALL team(void* self, uint32_t wanted, uint64_t scratch_bytes, Team::Fn fn,
                               void* arg);
  static void FRL_CALL barrier(void* self, const frl_worker* worker);

  std::string id_;
  std::shared_ptr<Team> team_;
  LogSink sink_;
  std::map<std::string, std::string> settings_;
  std::vector<frl_setting> setting_rows_;
  std::atomic<int64_t> live_bytes_{0};
  frl_host table_{};
};

}  // namespace ferrule
