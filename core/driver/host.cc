#include "core/driver/host.h"

#include <algorithm>
#include <new>

namespace ferrule {

Host::Host(std::string plugin_id, std::shared_ptr<Team> team, LogSink sink,
           const std::map<std::string, std::string>& settings)
    : id_(std::move(plugin_id)),
      team_(std::move(team)),
      sink_(std::move(sink)),
      settings_(settings) {
  for (const auto& [key, value] : settings_)
    setting_rows_.push_back({{key.data(), key.size()}, {value.data(), value.size()}});
  table_.head = {sizeof(frl_host), FRL_TAG_HOST};
  table_.self = this;
  table_.settings = {setting_rows_.data(), uint32_t(setting_rows_.size()), sizeof(frl_setting)};
  table_.max_workers = team_->n_workers();
  table_.alloc = alloc, table_.release = release, table_.log = log, table_.team = Host::team,
  table_.barrier = barrier;
}

void* Host::alloc(void* self, uint64_t bytes, uint64_t align_bytes) {
  void* p = ::operator new(bytes ? bytes : 1, std::align_val_t(std::max<uint64_t>(align_bytes, 1)),
                           std::nothrow);
  if (p) static_cast<Host*>(self)->live_bytes_ += int64_t(bytes);
  return p;
}

void Host::release(void* self, void* p, uint64_t bytes, uint64_t align_bytes) {
  if (!p) return;
  static_cast<Host*>(self)->live_bytes_ -= int64_t(bytes);
  ::operator delete(p, std::align_val_t(std::max<uint64_t>(align_bytes, 1)));
}

void Host::log(void* self, uint32_t level, const char* text, uint64_t text_n) {
  auto* host = static_cast<Host*>(self);
  constexpr uint64_t kMost = 1 << 20;
  if (host->sink_ && text)
    host->sink_(int(std::min(level, 3u)), host->id_, std::string(text, std::min(text_n, kMost)));
}

int32_t Host::team(void* self, uint32_t wanted, uint64_t scratch_bytes, Team::Fn fn, void* arg) {
  return static_cast<Host*>(self)->team_->run(wanted, scratch_bytes, fn, arg);
}

void Host::barrier(void*, const frl_worker* worker) { Team::barrier(worker); }

}  // namespace ferrule
