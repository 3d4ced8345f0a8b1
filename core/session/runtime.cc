#include "core/session/runtime.h"

#include <algorithm>

#include "core/base/text.h"

namespace ferrule {

Result<std::shared_ptr<Runtime>> Runtime::open(const Config& config,
                                               const RuntimeOptions& options) {
  auto runtime = std::make_shared<Runtime>();
  runtime->config_ = config;
  runtime->check_plans_ = options.check_plans;
  const int64_t threads = config.integer("threads.count");
  if (threads > 4096)
    return Status(Code::invalid_argument, cat("threads.count: want at most 4096, got ", threads));
  runtime->team_ = std::make_shared<Team>(threads ? uint32_t(threads) : available_processors());
  LoadPolicy policy;
  policy.folders = config.list("plugins.folders");
  policy.folders.insert(policy.folders.end(), options.folders.begin(), options.folders.end());
  policy.deny = config.list("plugins.deny");
  policy.settings = config.plugin_settings();
  if (config.text("plugins.probe") == "on") policy.probe = options.probe;
  runtime->loaded_ = load_plugins(policy, runtime->team_, options.log);
  runtime->list_devices();
  return runtime;
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

Result<std::vector<Runtime::Allowed>> Runtime::allowed() const {
  std::vector<Allowed> out;
  std::vector<std::string> ids;
  for (const DeviceEntry& entry : devices_) ids.push_back(entry.id);
  for (const bool also : {false, true}) {
    const std::string key = also ? "targets.also" : "targets.order";
    for (const std::string& id : config_.list(key)) {
      const DeviceEntry* entry = find(id);
      if (!entry) {
        const std::string near = nearest(id, ids);
        return Status(
            Code::no_device,
            cat(key, ": want one of ", ids.empty() ? "none (no plugin gave a device)" : join(ids),
                ", got ", id, near.empty() ? "" : cat("; did you mean ", near)));
      }
      if (entry->row().state == FRL_DEVICE_ABSENT)
        return Status(Code::no_device,
                      cat(key, ": ", id, " is absent: ", entry->row().reason_text));
      if (entry->row().state == FRL_DEVICE_PROFILE)
        return Status(Code::no_device,
                      cat(key, ": ", id, " is a profile, which can be planned for but not run"));
      if (std::none_of(out.begin(), out.end(), [&](const Allowed& a) { return a.device == entry; }))
        out.push_back({entry, also});
    }
  }
  if (config_.list("targets.order").empty())
    for (const DeviceEntry& entry : devices_)
      if (entry.row().state == FRL_DEVICE_PRESENT && entry.id.find('/') == std::string::npos &&
          std::none_of(out.begin(), out.end(),
                       [&](const Allowed& a) { return a.device == &entry; }))
        out.push_back({&entry, false});
  if (!out.empty()) return out;
  std::string why;
  for (const DeviceEntry& entry : devices_)
    why += cat("; ", entry.id, ": ", entry.row().reason_text);
  for (const Verdict& verdict : verdicts())
    if (!verdict.loaded()) why += cat("; ", verdict.path, ": ", verdict.status.message());
  return Status(Code::no_device,
                cat("devices: want at least one that is present, got none",
                    why.empty() ? "; no plugin was found in plugins.folders" : why));
}

}  // namespace ferrule
