#include "tools/ferrule/command.h"

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "core/base/text.h"
#include "tools/ferrule/probe.h"

namespace ferrule::cli {
namespace {

namespace fs = std::filesystem;

// Flags that stand for a key of the config.
struct Flag {
  const char* name;
  const char* key;
  const char* value = nullptr;  // of a switch
};
constexpr Flag kFlags[] = {{"--threads", "threads.count"},
                           {"--lock", "placement.lock"},
                           {"--lock-write", "placement.lock_write", "true"}};

const char* kLevels[] = {"error", "warning", "note", "trace"};

int level_of(const std::string& name) {
  for (int i = 0; i < 4; ++i)
    if (name == kLevels[i]) return i;
  return 1;
}

// While plugins load, one that crashes or leaves takes this program with it: it says so first.
volatile std::sig_atomic_t is_loading = 0;

void say_fault() {
  constexpr char kText[] =
      "ferrule: a plugin ended this program while it was loaded; --set plugins.probe=on says "
      "which\n";
  if (is_loading) [[maybe_unused]]
    const auto written = ::write(STDERR_FILENO, kText, sizeof kText - 1);
}

class Loading {
 public:
  Loading() {
    static const bool ready = [] {
      for (const int number : {SIGSEGV, SIGABRT, SIGILL, SIGFPE, SIGBUS, SIGTRAP})
        if (const auto before = std::signal(number, die); before != SIG_DFL)
          std::signal(number, before);  // of a sanitizer
      return std::atexit(leave) == 0;
    }();
    is_loading = ready;
  }
  ~Loading() { is_loading = 0; }

 private:
  static void die(int number) {
    say_fault();
    std::signal(number, SIG_DFL);
    std::raise(number);
  }
  static void leave() {
    say_fault();
    if (is_loading) ::_exit(kBadUsage);
  }
};

// Where plugins lie beside this program: build trees and installed trees look alike.
std::vector<std::string> own_folders() {
  std::error_code code;
  const fs::path self = fs::read_symlink("/proc/self/exe", code).parent_path();
  if (code) return {};
  return {(self / "plugins").string(), (self.parent_path() / "plugins").string(),
          (self.parent_path() / "lib" / "ferrule" / "plugins").string()};
}

}  // namespace

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
  std::vector<std::string> folders, targets;
  for (const auto& [name, value] : arguments.given()) {
    const std::string origin = cat("flag ", name);
    for (const Flag& flag : kFlags)
      if (name == flag.name)
        FRL_TRY(config.set_list(flag.key, {flag.value ? flag.value : value}, origin).within(name));
    if (name == "--set" || name == kAgainst) {
      FRL_LET(const auto pair, name_and_value(value, name.c_str()));
      FRL_TRY(config.set(pair.first, pair.second, origin).within(name));
    } else if (name == "--target") {
      targets.push_back(value);
      FRL_TRY(config.set_list("targets.order", targets, origin));
    } else if (name == "--plugins") {
      folders.push_back(value);
    }
  }
  if (folders.empty()) return config;
  for (const std::string& folder : config.list("plugins.folders")) folders.push_back(folder);
  FRL_TRY(config.set_list("plugins.folders", folders, "flag --plugins"));
  return config;
}

Result<std::shared_ptr<Runtime>> open_runtime(const Arguments& arguments, bool check_plans,
                                              std::string_view unheard) {
  FRL_LET(const Config config, make_config(arguments));
  const int most = level_of(config.text("log.level"));
  RuntimeOptions options;
  options.log = [most, unheard](int level, const std::string& from, const std::string& text) {
    if (level <= most && from != unheard)
      std::fprintf(stderr, "%s: %s: %s\n", kLevels[level], printable(from, false).c_str(),
                   printable(text, true).c_str());
  };
  options.probe = [timeout_ms = config.integer("plugins.probe_ms")](const std::string& path) {
    return probe_in_child(path, timeout_ms);
  };
  options.folders = own_folders();
  options.check_plans = check_plans;
  const Loading loading;
  return Runtime::open(config, options);
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
