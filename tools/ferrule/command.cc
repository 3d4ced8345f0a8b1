#include "tools/ferrule/command.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "core/base/text.h"
#include "tools/ferrule/probe.h"

namespace ferrule::cli {
namespace {

namespace fs = std::filesystem;

const char* kLevels[] = {"error", "warning", "note", "trace"};

int level_of(const std::string& name) {
  for (int i = 0; i < 4; ++i)
    if (name == kLevels[i]) return i;
  return 1;
}

// Where plugins lie beside this program: build trees and installed trees look alike.
std::vector<std::string> own_folders() {
  std::error_code code;
  const fs::path self = fs::read_symlink("/proc/self/exe", code).parent_path();
  if (code) return {};
  return {(self.parent_path() / "plugins").string(),
          (self.parent_path() / "lib" / "ferrule" / "plugins").string()};
}

}  // namespace

std::string Arguments::text(const std::string& name, const std::string& fallback) const {
  const auto found = values_.find(name);
  return found == values_.end() || found->second.empty() ? fallback : found->second.back();
}

const std::vector<std::string>& Arguments::list(const std::string& name) const {
  static const std::vector<std::string> kNone;
  const auto found = values_.find(name);
  return found == values_.end() ? kNone : found->second;
}

Result<int64_t> Arguments::integer(const std::string& name, int64_t fallback) const {
  if (!has(name)) return fallback;
  if (const auto value = parse_int(text(name))) return *value;
  return Status(Code::invalid_argument, cat(name, ": want an integer, got ", text(name)));
}

Result<double> Arguments::number(const std::string& name, double fallback) const {
  if (!has(name)) return fallback;
  if (const auto value = parse_double(text(name))) return *value;
  return Status(Code::invalid_argument, cat(name, ": want a number, got ", text(name)));
}

Result<std::pair<std::string, std::string>> name_and_value(const std::string& text,
                                                           const char* option) {
  const size_t at = text.find('=');
  if (at == 0 || at == std::string::npos)
    return Status(Code::invalid_argument, cat(option, ": want NAME=VALUE, got ", text));
  return std::pair(text.substr(0, at), text.substr(at + 1));
}

Result<Config> make_config(const Arguments& arguments) {
  Config config;
  FRL_TRY(config.add_standard_files("."));
  for (const std::string& path : arguments.list("--config")) FRL_TRY(config.add_file(path));
  for (const std::string& text : arguments.list("--set")) {
    FRL_LET(const auto pair, name_and_value(text, "--set"));
    FRL_TRY(config.set(pair.first, pair.second, "flag --set"));
  }
  if (arguments.has("--target"))
    FRL_TRY(config.set("targets.order", join(arguments.list("--target"), ","), "flag --target"));
  if (arguments.has("--threads"))
    FRL_TRY(config.set("threads.count", arguments.text("--threads"), "flag --threads"));
  if (arguments.has("--plugins")) {
    std::vector<std::string> folders;
    for (const std::string& folder : arguments.list("--plugins"))
      folders.push_back(fs::absolute(folder).lexically_normal().string());
    for (const std::string& folder : config.list("plugins.folders")) folders.push_back(folder);
    FRL_TRY(config.set("plugins.folders", join(folders, ","), "flag --plugins"));
  }
  return config;
}

Result<std::shared_ptr<Runtime>> open_runtime(const Arguments& arguments, bool check_plans) {
  FRL_LET(const Config config, make_config(arguments));
  const int most = level_of(config.text("log.level"));
  RuntimeOptions options;
  options.log = [most](int level, const std::string& from, const std::string& text) {
    if (level <= most)
      std::fprintf(stderr, "%s: %s: %s\n", kLevels[level], from.c_str(), text.c_str());
  };
  options.probe = [timeout_ms = config.integer("plugins.probe_ms")](const std::string& path) {
    return probe_in_child(path, timeout_ms);
  };
  options.folders = own_folders();
  options.check_plans = check_plans;
  return Runtime::open(config, options);
}

int fail(const Status& status) {
  std::fprintf(stderr, "ferrule: %s\n", status.message().c_str());
  return status.code() == Code::no_device ? kNoDevice : kBadUsage;
}

void Progress::show(const std::string& text) {
  if (!::isatty(STDERR_FILENO)) return;
  std::fprintf(stderr, "\r\033[K%s", text.c_str());
  shown_ = true;
}

Progress::~Progress() {
  if (shown_) std::fprintf(stderr, "\r\033[K");
}

}  // namespace ferrule::cli
