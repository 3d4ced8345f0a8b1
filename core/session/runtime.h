// Runtime: the plugins that were found, and the devices that the config allows.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/config/config.h"
#include "core/driver/loader.h"

namespace ferrule {

// A device of a loaded plugin.
struct DeviceEntry {
  std::string id;  // its name; with the plugin's id in front where two plugins use one name
  std::shared_ptr<Driver> driver;
  size_t number = 0;
  const DeviceRow& row() const { return driver->devices()[number]; }
};

struct RuntimeOptions {
  LogSink log;                                           // empty: silence
  std::function<Status(const std::string& path)> probe;  // see LoadPolicy
  // Searched after plugins.folders; unlike those they may be missing.
  std::vector<std::string> folders;
  bool check_plans =
      false;  // hold every plan against the independent checker; debug builds always do
};

class Runtime {
 public:
  // Loads what lies in the folders. No device is opened.
  //   errors  those of the config; a bad plugin is a verdict, not an error
  static Result<std::shared_ptr<Runtime>> open(const Config& config, const RuntimeOptions& options);

  const Config& config() const { return config_; }
  bool check_plans() const { return check_plans_; }
  std::span<const Verdict> verdicts() const { return loaded_.verdicts; }
  std::span<const DeviceEntry> devices() const { return devices_; }  // doubles left out
  std::span<const std::string> doubles() const { return doubles_; }  // "b:gpu is a:gpu (same UUID)"
  const DeviceEntry* find(const std::string& id) const;
  std::span<const std::shared_ptr<Driver>> drivers() const { return loaded_.drivers; }
  // A line for RuntimeOptions::log.
  void log(int level, const std::string& from, const std::string& text) const;

  // The devices that may run things, with targets.also marked.
  struct Allowed {
    const DeviceEntry* device;
    bool also;
  };
  //   errors  those of check_settings; no_device, with what was found and why not
  Result<std::vector<Allowed>> allowed() const;
  //   errors  invalid_argument for a setting that its plugin has refused
  Status check_settings() const;

 private:
  void list_devices();
  void log_verdicts() const;
  Result<const DeviceEntry*> target(const std::string& key, const std::string& id) const;

  Config config_;
  bool check_plans_ = false;
  LogSink log_;
  std::vector<std::string> searched_;
  std::shared_ptr<Team> team_;
  Loaded loaded_;
  std::vector<DeviceEntry> devices_;
  std::vector<std::string> doubles_;
};

}  // namespace ferrule
