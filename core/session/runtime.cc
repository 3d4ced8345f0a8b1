#include "core/session/compile.h"

#include <algorithm>

#include "core/base/text.h"
#include "core/session/names.h"

namespace ferrule {

Result<std::shared_ptr<Runtime>> Runtime::open(const Config& config,
                                               const RuntimeOptions& options) {
  auto runtime = std::make_shared<Runtime>();
  runtime->config_ = config;
  runtime->check_plans_ = options.check_plans;
  const int64_t threads = config.integer("threads.count");
  if (threads > 4096)
    return Status(Code::invalid_argument, cat("threads.count: want at most 4096, got ", threads))
        .within(config.origin("threads.count"));
  runtime->team_ = std::make_shared<Team>(threads ? uint32_t(threads) : available_processors());
  LoadPolicy policy;
  policy.folders = runtime->searched_ = config.list("plugins.folders");
  policy.optional_folders = options.folders;
  runtime->searched_.insert(runtime->searched_.end(), options.folders.begin(),
                            options.folders.end());
  policy.deny = config.list("plugins.deny");
  policy.settings = config.plugin_settings();
  if (config.text("plugins.probe") == "on") policy.probe = options.probe;
  runtime->loaded_ = load_plugins(policy, runtime->team_, options.log);
  runtime->list_devices();
  runtime->log_ = options.log;
  runtime->log_verdicts();
  FRL_TRY(fuse_options(config).status());
  FRL_TRY(check_plugin_names(config, runtime->verdicts(),
                             [&](const std::string& text) { runtime->log(1, "config", text); }));
  return runtime;
}

void Runtime::log(int level, const std::string& from, const std::string& text) const {
  if (log_) log_(level, from, text);
}

// What the user denied himself is no surprise.
void Runtime::log_verdicts() const {
  for (const Verdict& v : loaded_.verdicts) {
    const int level = v.loaded() || v.status.code() == Code::denied ? 2 : 1;
    log(level, "loader",
        v.loaded()
            ? cat("loaded ", v.id, " ", v.version, " from ", v.path)
            : cat("refused ", v.path, " at ", stage_name(v.stage), ": ", v.status.message()));
  }
}

// One piece of hardware that two plugins list is found by UUID, then PCI address, never by name.
void Runtime::list_devices() {
  for (const auto& driver : loaded_.drivers) {
    for (size_t i = 0; i < driver->devices().size(); ++i) {
      const DeviceRow& row = driver->devices()[i];
      const auto same = [&](const DeviceEntry& other) {
        const bool uuid = row.uuid != std::array<uint8_t, 16>{} && row.uuid == other.row().uuid;
        const bool pci = !row.pci.empty() && row.pci == other.row().pci;
        return row.state == FRL_DEVICE_PRESENT && other.row().state == FRL_DEVICE_PRESENT &&
               (uuid || pci);
      };
      const auto twin = std::find_if(devices_.begin(), devices_.end(), same);
      const bool named = find(row.name) != nullptr;
      std::string id = named ? cat(driver->id(), "/", row.name) : row.name;
      if (twin != devices_.end())
        doubles_.push_back(cat(driver->id(), "/", row.name, " is ", twin->id));
      // A double stays usable by its full name, but is no default.
      devices_.push_back(
          {twin == devices_.end() ? std::move(id) : cat(driver->id(), "/", row.name), driver, i});
    }
  }
}

const DeviceEntry* Runtime::find(const std::string& id) const {
  for (const DeviceEntry& entry : devices_)
    if (entry.id == id) return &entry;
  return nullptr;
}

Status Runtime::check_settings() const {
  const auto settings = config_.plugin_settings();
  for (const Verdict& v : loaded_.verdicts)
    if (v.status.code() == Code::invalid_argument && settings.count(v.id))
      return Status(v.status).within(cat("plugin ", v.id));
  return {};
}

// A device that the config names.
Result<const DeviceEntry*> Runtime::target(const std::string& key, const std::string& id) const {
  const auto no = [&](std::string text) {
    return Status(Code::no_device, cat(key, ": ", text)).within(config_.origin(key));
  };
  std::vector<std::string> ids, alike;
  for (const DeviceEntry& entry : devices_) {
    ids.push_back(entry.id);
    // Two short names with other beginnings are two kinds of device, not one mistyped.
    if (!id.empty() && entry.id[0] == id[0]) alike.push_back(entry.id);
  }
  const DeviceEntry* entry = find(id);
  if (!entry)
    return unknown_name(config_, key,
                        ids.empty() ? cat("a device (no plugin gave one; searched ",
                                          searched_.empty() ? "nothing" : join(searched_), ")")
                                    : cat("one of ", join(ids)),
                        id, alike, Code::no_device);
  if (entry->row().state == FRL_DEVICE_ABSENT)
    return no(cat(id, " is absent: ", entry->row().reason_text));
  if (entry->row().state == FRL_DEVICE_PROFILE)
    return no(cat(id, " is a profile, which can be planned for but not run"));
  return entry;
}

Result<std::vector<Runtime::Allowed>> Runtime::allowed() const {
  FRL_TRY(check_settings());
  std::vector<Allowed> out;
  const auto is_in = [&](const DeviceEntry* entry) {
    return std::any_of(out.begin(), out.end(), [&](const Allowed& a) { return a.device == entry; });
  };
  for (const bool also : {false, true}) {
    const std::string key = also ? "targets.also" : "targets.order";
    for (const std::string& id : config_.list(key)) {
      FRL_LET(const DeviceEntry* const entry, target(key, id));
      if (!is_in(entry)) out.push_back({entry, also});
    }
  }
  if (config_.list("targets.order").empty())
    for (const DeviceEntry& entry : devices_)
      if (entry.row().state == FRL_DEVICE_PRESENT && entry.id.find('/') == std::string::npos &&
          !is_in(&entry))
        out.push_back({&entry, false});
  if (!out.empty()) return out;
  std::string why;
  for (const DeviceEntry& entry : devices_)
    why += cat("; ", entry.id, ": ", entry.row().reason_text);
  for (const Verdict& verdict : verdicts())
    if (!verdict.loaded()) why += cat("; ", verdict.path, ": ", verdict.status.message());
  return Status(Code::no_device,
                cat("devices: want at least one that is present, got none", why, "; searched ",
                    searched_.empty() ? "no folder" : join(searched_)));
}

}  // namespace ferrule
