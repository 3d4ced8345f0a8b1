// From folders to drivers, in seven stages; every file ends with a verdict and none hides another.
//
//   discover > inspect > policy > probe > load > check > activate
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/driver/driver.h"

namespace ferrule {

enum class Stage { discover, inspect, policy, probe, load, check, activate };
const char* stage_name(Stage stage);

// What became of one file (or folder) that was looked at. ok at activate, else the reason.
struct Verdict {
  std::string path;
  Stage stage = Stage::discover;
  Status status;
  std::string id, version;  // once known
  bool loaded() const { return stage == Stage::activate && status.ok(); }
};

struct LoadPolicy {
  std::vector<std::string> folders;  // absolute; searched in this order, entries sorted by name
  std::vector<std::string> optional_folders;  // searched after those; that one is missing is fine
  std::vector<std::string> deny;     // plugin ids or file names
  std::map<std::string, std::map<std::string, std::string>> settings;  // by plugin id, then key
  // Runs the library in another process and says whether that went well; empty: no probe. The
  // program that embeds the library supplies it, because only a program can start itself again.
  std::function<Status(const std::string& path)> probe;
};

struct Loaded {
  std::vector<std::shared_ptr<Driver>> drivers;  // in order of discovery
  std::vector<Verdict> verdicts;                 // one for each file seen
};

// Never fails as a whole.
//   thread  any; loading the same file twice gives two drivers on one library
Loaded load_plugins(const LoadPolicy& policy, std::shared_ptr<Team> team, LogSink sink);

// Stages inspect to check for one file, in this process: what a probe's child runs.
Result<std::shared_ptr<Driver>> load_plugin(const std::string& path, std::shared_ptr<Team> team,
                                            LogSink sink, Verdict* verdict,
                                            const LoadPolicy& policy = {});

}  // namespace ferrule
