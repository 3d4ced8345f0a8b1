#include "conformance/raw/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>

#include "core/base/text.h"

extern char** environ;

namespace ferrule::conformance::raw {
namespace {

constexpr const char* kMark = "--errand";
constexpr int kReportDescriptor = 3;
bool served = false;  // main() called serve_errand(), so this program understands kMark

struct Pipe {
  int ends[2] = {-1, -1};
  Pipe() { [[maybe_unused]] const int rc = ::pipe2(ends, O_CLOEXEC); }
  ~Pipe() { close_end(0), close_end(1); }
  void close_end(int which) {
    if (ends[which] >= 0) ::close(ends[which]);
    ends[which] = -1;
  }
};

Result<pid_t> start(const std::vector<std::string>& words, const Pipe& report, const Pipe& output) {
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output.ends[1], 1);
  posix_spawn_file_actions_adddup2(&actions, output.ends[1], 2);
  posix_spawn_file_actions_adddup2(&actions, report.ends[1], kReportDescriptor);
  pid_t child = 0;
  const int code = ::posix_spawn(&child, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (code != 0) return Status(Code::internal, cat("errand: want a process, got error ", code));
  return child;
}

// Reads both pipes to their ends; false if that takes longer than the limit.
bool collect(Pipe& report, Pipe& output, Ended& out, int timeout_ms) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  struct Source {
    Pipe& pipe;
    std::string& text;
  } sources[] = {{report, out.report}, {output, out.output}};
  for (;;) {
    std::array<pollfd, 2> polled{{{report.ends[0], POLLIN, 0}, {output.ends[0], POLLIN, 0}}};
    if (report.ends[0] < 0 && output.ends[0] < 0) return true;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
                          end - std::chrono::steady_clock::now())
                          .count();
    if (left <= 0 || ::poll(polled.data(), polled.size(), int(left)) <= 0) return false;
    for (size_t i = 0; i < polled.size(); ++i) {
      if (polled[i].fd < 0 || polled[i].revents == 0) continue;
      char bytes[4096];
      const ssize_t n = ::read(polled[i].fd, bytes, sizeof bytes);
      if (n > 0)
        sources[i].text.append(bytes, size_t(n));
      else
        sources[i].pipe.close_end(0);
    }
  }
}

}  // namespace

std::string Ended::how() const {
  if (timed_out) return "no end within the time limit";
  return signal ? cat("signal ", signal) : cat("rc ", rc);
}

Result<Ended> run_errand(const std::string& name, const std::vector<std::string>& arguments,
                         int timeout_ms) {
  if (!served)
    return Status(Code::internal,
                  "errand: want a main() that calls serve_errand(), this program's does not");
  Pipe report, output;
  std::vector<std::string> words = {"ferrule-conformance", kMark, name};
  words.insert(words.end(), arguments.begin(), arguments.end());
  FRL_LET(const pid_t child, start(words, report, output));
  report.close_end(1), output.close_end(1);
  Ended out;
  out.timed_out = !collect(report, output, out, timeout_ms);
  if (out.timed_out) ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFEXITED(status)) out.rc = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) out.signal = WTERMSIG(status);
  return out;
}

void send_report(const std::string& report) {
  for (size_t at = 0; at < report.size();) {
    const ssize_t n = ::write(kReportDescriptor, report.data() + at, report.size() - at);
    if (n <= 0) return;
    at += size_t(n);
  }
}

std::optional<int> serve_errand(int argc, char** argv) {
  served = true;
  if (argc < 3 || std::string_view(argv[1]) != kMark) return {};
  const std::vector<std::string> arguments(argv + 3, argv + argc);
  for (const Errand& errand : errands()) {
    if (std::string_view(argv[2]) != errand.name) continue;
    std::string report;
    const int rc = errand.run(arguments, report);
    send_report(report);
    return rc;
  }
  return 64;
}

}  // namespace ferrule::conformance::raw
