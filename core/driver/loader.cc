#include "core/driver/loader.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>

#include "core/base/text.h"

namespace ferrule {
namespace {

namespace fs = std::filesystem;

#if defined(_WIN32)
constexpr std::string_view kSuffix = ".dll";
#elif defined(__APPLE__)
constexpr std::string_view kSuffix = ".dylib";
#else
constexpr std::string_view kSuffix = ".so";
#endif

constexpr size_t kMostFiles = 4096;

// Library files of a folder, by name. Problems with the folder or an entry become verdicts.
std::vector<std::string> discover(const std::string& folder, bool optional,
                                  std::vector<Verdict>& verdicts) {
  std::vector<std::string> files;
  const auto trouble = [&](const std::string& path, Code code, std::string text) {
    verdicts.push_back({path, Stage::discover, Status(code, std::move(text)), {}, {}});
  };
  if (!fs::path(folder).is_absolute()) {
    trouble(folder, Code::denied, cat("folder: want an absolute path, got ", folder));
    return files;
  }
  std::error_code code;
  fs::directory_iterator it(folder, code);
  if (code) {
    if (!optional || code != std::errc::no_such_file_or_directory)
      trouble(folder, Code::not_found, cat("folder: ", code.message()));
    return files;
  }
  for (const fs::directory_iterator end; it != end; it.increment(code)) {
    if (code) {
      trouble(folder, Code::not_found, cat("folder: ", code.message()));
      break;
    }
    const std::string path = it->path().string();
    if (it->path().filename().string().starts_with('.')) continue;  // hidden, half copied
    if (path.size() < kSuffix.size() ||
        path.compare(path.size() - kSuffix.size(), kSuffix.size(), kSuffix) != 0)
      continue;
    if (files.size() == kMostFiles) {
      trouble(folder, Code::out_of_limits, cat("folder: want at most ", kMostFiles, " libraries"));
      break;
    }
    files.push_back(path);
  }
  if (files.empty() && !optional && !code)
    trouble(folder, Code::not_found, cat("folder: want files that end in ", kSuffix, ", got none"));
  std::sort(files.begin(), files.end());
  return files;
}

// A file that others may write could be replaced between inspection and load.
Status check_file(const std::string& path) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0) {
    const bool link = errno == ENOENT && ::lstat(path.c_str(), &facts) == 0;
    return Status(Code::not_found,
                  link ? "file: the link leads nowhere" : cat("file: ", std::strerror(errno)));
  }
  if (!S_ISREG(facts.st_mode))
    return Status(Code::incompatible, "file: want a regular file, got a folder or device");
  if (facts.st_mode & S_IWOTH)
    return Status(Code::denied, "file: anybody may write it; chmod o-w it first");
  if (facts.st_uid != 0 && facts.st_uid != ::geteuid() && ::geteuid() != 0)
    return Status(Code::denied, "file: it belongs to another user");
  return {};
}

Status judge_inspection(const Inspection& found) {
  if (found.major != FRL_MAJOR)
    return Status(Code::incompatible, cat("major: want ", FRL_MAJOR, ", got ", found.major));
  if (found.min_minor > FRL_MINOR)
    return Status(Code::incompatible,
                  cat("minor: want a plugin that speaks minor ", FRL_MINOR, ", got ",
                      found.min_minor, " to ", found.max_minor, "; a newer core is needed"));
  if (!machine_runs(found.isa))
    return Status(Code::incompatible, cat("isa: this machine cannot run code for ", found.isa));
  if (found.sanitizer != 0 && found.sanitizer != own_sanitizer())
    return Status(Code::incompatible, cat("sanitizer: want a build like this core's (",
                                          own_sanitizer(), "), got ", found.sanitizer));
  return {};
}

class Loading {
 public:
  Loading(const LoadPolicy& policy, std::shared_ptr<Team> team, LogSink sink)
      : policy_(policy), team_(std::move(team)), sink_(std::move(sink)) {}

  Loaded run() {
    std::set<std::string> seen;
    const auto search = [&](const std::string& folder, bool optional) {
      for (const std::string& path : discover(folder, optional, out_.verdicts)) {
        std::error_code code;
        const fs::path real = fs::canonical(path, code);
        // The same file by another path is the same plugin.
        if (code || seen.insert(real.string()).second) file(path);
      }
    };
    for (const std::string& folder : policy_.folders) search(folder, false);
    for (const std::string& folder : policy_.optional_folders) search(folder, true);
    return std::move(out_);
  }

  Result<std::shared_ptr<Driver>> stages(const std::string& path, Verdict& verdict) {
    verdict.path = path;
    verdict.stage = Stage::discover;
    FRL_TRY(check_file(path));
    verdict.stage = Stage::policy;
    FRL_TRY(denied(fs::path(path).filename().string(), "file"));
    verdict.stage = Stage::inspect;
    FRL_LET(const Inspection found, inspect_library(path));
    verdict.id = found.id, verdict.version = found.version;
    FRL_TRY(judge_inspection(found));
    verdict.stage = Stage::policy;
    FRL_TRY(denied(found.id, "plugin"));
    FRL_TRY(clash(found));
    if (policy_.probe) {
      verdict.stage = Stage::probe;
      FRL_TRY(policy_.probe(path));
    }
    verdict.stage = Stage::load;
    FRL_LET(Library library, Library::load(path, found));
    verdict.stage = Stage::check;
    std::map<std::string, std::string> settings;
    if (const auto it = policy_.settings.find(found.id); it != policy_.settings.end())
      settings = it->second;
    FRL_LET(auto driver, Driver::start(std::move(library), found, path, team_, sink_, settings));
    FRL_TRY(known_settings(*driver, settings));
    verdict.stage = Stage::activate;
    taken_.push_back({found.id, found.soname, path});
    return driver;
  }

 private:
  void file(const std::string& path) {
    Verdict verdict;
    auto driver = stages(path, verdict);
    if (driver.ok()) out_.drivers.push_back(*driver);
    verdict.status = driver.status();
    out_.verdicts.push_back(std::move(verdict));
  }

  Status denied(const std::string& name, const char* what) const {
    if (std::find(policy_.deny.begin(), policy_.deny.end(), name) == policy_.deny.end()) return {};
    return Status(Code::denied, cat(what, ": ", name, " is in plugins.deny"));
  }

  // Two plugins of one id would fight over settings and caches; of two libraries with one SONAME
  // the system's loader silently gives the first to both.
  Status clash(const Inspection& found) const {
    for (const Taken& other : taken_) {
      if (other.id == found.id)
        return Status(Code::denied, cat("id: ", found.id, " is loaded already, from ", other.path));
      if (!found.soname.empty() && other.soname == found.soname)
        return Status(Code::denied,
                      cat("soname: ", found.soname, " is loaded already, from ", other.path));
    }
    return {};
  }

  Status known_settings(const Driver& driver,
                        const std::map<std::string, std::string>& settings) const {
    std::vector<std::string> keys;
    for (const Driver::Option& option : driver.options()) keys.push_back(option.key);
    for (const auto& [key, value] : settings) {
      if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
      return Status(Code::invalid_argument,
                    cat("option ", key, ": want one of ", join(keys), near_text(key, keys)));
    }
    return {};
  }

  struct Taken {
    std::string id, soname, path;
  };
  const LoadPolicy& policy_;
  std::shared_ptr<Team> team_;
  LogSink sink_;
  std::vector<Taken> taken_;
  Loaded out_;
};

}  // namespace

const char* stage_name(Stage stage) {
  constexpr const char* kNames[] = {"discover", "inspect", "policy",  "probe",
                                    "load",     "check",   "activate"};
  return kNames[size_t(stage)];
}

Loaded load_plugins(const LoadPolicy& policy, std::shared_ptr<Team> team, LogSink sink) {
  return Loading(policy, std::move(team), std::move(sink)).run();
}

Result<std::shared_ptr<Driver>> load_plugin(const std::string& path, std::shared_ptr<Team> team,
                                            LogSink sink, Verdict* verdict,
                                            const LoadPolicy& policy) {
  auto driver = Loading(policy, std::move(team), std::move(sink)).stages(path, *verdict);
  verdict->status = driver.status();
  return driver;
}

}  // namespace ferrule
