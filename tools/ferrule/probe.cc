#include "tools/ferrule/probe.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "core/base/text.h"
#include "core/driver/loader.h"
#include "tools/ferrule/print.h"

namespace ferrule::cli {
namespace {

constexpr std::string_view kToken = "ferrule-probe-ok";
constexpr std::string_view kReason = "ferrule-probe-no:";
constexpr size_t kMostOutput = 1 << 16;
constexpr int64_t kMostTimeoutMs = 24 * 3600 * 1000;  // a day: what clocks and poll() can add up

Status verdict(std::string text) { return Status(Code::incompatible, std::move(text)); }

// Reads until the child closes its end or the time is over; false then.
bool read_all(int fd, int64_t timeout_ms, std::string& out) {
  const auto until = std::chrono::steady_clock::now() +
                     std::chrono::milliseconds(std::min(timeout_ms, kMostTimeoutMs));
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
                          until - std::chrono::steady_clock::now())
                          .count();
    pollfd wait{fd, POLLIN, 0};
    if (left <= 0 || ::poll(&wait, 1, int(left)) == 0) return false;
    char buffer[4096];
    const ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n <= 0) return true;
    if (out.size() < kMostOutput) out.append(buffer, size_t(n));
  }
}

}  // namespace

Status probe_in_child(const std::string& path, int64_t timeout_ms) {
  int pipe[2];
  if (::pipe2(pipe, O_CLOEXEC) != 0) return verdict(cat("no pipe: ", std::strerror(errno)));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, pipe[1], 3);  // the answer has a channel of its own
  const char* arguments[] = {"ferrule", "plugins", "--probe", path.c_str(), nullptr};
  pid_t child = -1;
  const int failed = ::posix_spawn(&child, "/proc/self/exe", &actions, nullptr,
                                   const_cast<char**>(arguments), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(pipe[1]);
  if (failed)
    return ::close(pipe[0]), verdict(cat("cannot start a process: ", std::strerror(failed)));
  std::string output;
  const bool in_time = read_all(pipe[0], timeout_ms, output);
  ::close(pipe[0]);
  if (!in_time) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!in_time) return verdict(cat("it hung; no answer within ", timeout_ms, " ms"));
  if (WIFSIGNALED(status)) return verdict(cat("it crashed: ", ::strsignal(WTERMSIG(status))));
  const auto said = trim(output);
  if (said == kToken) return {};
  if (said.substr(0, kReason.size()) == kReason)
    return verdict(std::string(said.substr(kReason.size())));
  return verdict(cat("it ended early with exit code ", WEXITSTATUS(status), " and no answer"));
}

Result<int> run_probe(const std::string& path, bool json) {
  const bool asked = ::fcntl(3, F_GETFD) >= 0;
  const rlimit limit{rlim_t(8) << 30, rlim_t(8) << 30};
  ::setrlimit(RLIMIT_AS, &limit);
  Verdict verdict;
  auto driver = load_plugin(path, std::make_shared<Team>(1), {}, &verdict);
  const std::string why = cat(stage_name(verdict.stage), ": ", verdict.status.message());
  const std::string answer = driver.ok() ? std::string(kToken) : cat(kReason, why);
  Status status = driver.ok() ? Status() : Status(driver.status().code(), cat(path, ": ", why));
  driver = Status();  // closing belongs to what is tried
  if (asked && ::write(3, answer.data(), answer.size()) == ssize_t(answer.size())) return kFine;
  FRL_TRY(std::move(status));
  json ? print(cat("{\"path\": ", json_quote(path), ", \"loaded\": true}\n"))
       : print_text(cat("loaded   ", verdict.id, " ", verdict.version, "  ", path, "\n"));
  return kFine;
}

}  // namespace ferrule::cli
