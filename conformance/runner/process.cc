#include "conformance/runner/process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "conformance/runner/child.h"
#include "core/base/text.h"

namespace ferrule::conformance {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kSliceMs = 50;  // between two looks at memory and output
constexpr double kAroundCases_s =
    20;  // for loading, listing and closing, however short a case may be
constexpr int64_t kMostOutputBytes = 64 << 20;
constexpr size_t kMostLineBytes = 1 << 20;
constexpr int64_t kShownOutputBytes = 4000;

// A descriptor that no dup2 onto 0..4 can hit.
class Fd {
 public:
  explicit Fd(int fd) : fd_(fd < 0 ? -1 : ::fcntl(fd, F_DUPFD_CLOEXEC, 10)) {
    if (fd >= 0) ::close(fd);
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { close(); }
  int get() const { return fd_; }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

bool write_all(int fd, const std::string& text) {
  for (size_t at = 0; at < text.size();) {
    const ssize_t n = ::write(fd, text.data() + at, text.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += size_t(n);
  }
  return true;
}

int open_scratch() {
  const char* folder = ::getenv("TMPDIR");
  const int fd =
      ::open(folder && *folder ? folder : "/tmp", O_TMPFILE | O_RDWR | O_APPEND | O_CLOEXEC, 0600);
  return fd >= 0 ? fd : ::memfd_create("output", MFD_CLOEXEC);
}

int64_t resident_mib(pid_t child) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/statm", int(child));
  FILE* file = std::fopen(path, "r");
  if (!file) return 0;
  long long total = 0, resident = 0;
  const int n = std::fscanf(file, "%lld %lld", &total, &resident);
  std::fclose(file);
  return n == 2 ? resident * ::sysconf(_SC_PAGESIZE) >> 20 : 0;
}

std::string last_output(int fd) {
  struct stat facts {};
  if (::fstat(fd, &facts) != 0 || facts.st_size == 0) return {};
  const int64_t from = std::max<int64_t>(0, facts.st_size - kShownOutputBytes);
  std::string out(size_t(facts.st_size - from), '\0');
  const ssize_t n = ::pread(fd, out.data(), out.size(), from);
  out.resize(n > 0 ? size_t(n) : 0);
  return out;
}

// The child while it runs.
class Child {
 public:
  Child(const Limits& limits, const std::function<void(Line)>& on_line)
      : limits_(limits), on_line_(on_line), output_(open_scratch()) {}

  ChildEnd run(const Job& job) {
    if (std::string trouble = start(job); !trouble.empty())
      return {End::crash, cat("no process: ", trouble), {}};
    listen();
    // What it started itself goes with it; of one that has ended only that is left to kill.
    ::kill(-pid_, SIGKILL);
    while (::waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
    }
    return judge();
  }

 private:
  std::string start(const Job& job) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return std::strerror(errno);
    Fd reading(ends[0]), writing(ends[1]), orders(::memfd_create("job", MFD_CLOEXEC));
    if (orders.get() < 0 || !write_all(orders.get(), line_of(job)) ||
        ::lseek(orders.get(), 0, SEEK_SET) != 0)
      return std::strerror(errno);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output_.get(), 1);
    posix_spawn_file_actions_adddup2(&actions, output_.get(), 2);
    posix_spawn_file_actions_adddup2(&actions, writing.get(), kLinesFd);
    posix_spawn_file_actions_adddup2(&actions, orders.get(), kJobFd);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&attributes, 0);
    const char* arguments[] = {"ferrule-conformance", kChildFlag, nullptr};
    const int failed = ::posix_spawn(&pid_, "/proc/self/exe", &actions, &attributes,
                                     const_cast<char**>(arguments), environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (failed) return std::strerror(failed);
    lines_ = ::fcntl(reading.get(), F_DUPFD_CLOEXEC, 10);
    ::fcntl(lines_, F_SETFL, O_NONBLOCK);
    return {};
  }

  void listen() {
    restart_clock();
    // A grandchild may hold the pipe open, so its end alone decides nothing.
    for (bool open = true, exited = false; !exited && stopped_.empty();) {
      pollfd wait{lines_, POLLIN, 0};
      ::poll(&wait, open ? 1 : 0, open ? kSliceMs : 2);
      exited = has_exited();
      open = open && read_lines();
      if (!exited) check_limits();
    }
    ::close(lines_);
  }

  // False at the end of the pipe.
  bool read_lines() {
    char buffer[1 << 16];
    for (;;) {
      const ssize_t n = ::read(lines_, buffer, sizeof buffer);
      if (n < 0) return errno == EAGAIN || errno == EINTR;
      if (n == 0) return false;
      pending_.append(buffer, size_t(n));
      for (size_t at; (at = pending_.find('\n')) != std::string::npos; pending_.erase(0, at + 1)) {
        auto line = parse_line(std::string_view(pending_).substr(0, at));
        if (!line.ok()) continue;  // not ours; what is missing shows at the end
        in_case_ = line->kind == "begin";
        restart_clock();
        if (line->kind == "done") done_ = true;
        on_line_(std::move(*line));
      }
      if (pending_.size() > kMostLineBytes) pending_.clear();
    }
  }

  void check_limits() {
    struct stat facts {};
    if (Clock::now() > until_)
      stop(End::timeout, cat("it hung: no answer within ", patience_s(), " s"));
    else if (limits_.memory_limit_mib && resident_mib(pid_) > limits_.memory_limit_mib)
      stop(End::resource_error,
           cat("it took more memory than the limit of ", limits_.memory_limit_mib, " MiB"));
    else if (::fstat(output_.get(), &facts) == 0 && facts.st_size > kMostOutputBytes)
      stop(End::crash, cat("it printed more than ", kMostOutputBytes >> 20, " MiB"));
  }

  void stop(End end, std::string text) { stop_ = end, stopped_ = std::move(text); }

  double patience_s() const {
    return in_case_ ? limits_.case_timeout_s : std::max(limits_.case_timeout_s, kAroundCases_s);
  }
  void restart_clock() {
    until_ = Clock::now() + std::chrono::microseconds(int64_t(patience_s() * 1e6));
  }

  // It stays a zombie, and its process group its own, until run() reaps it.
  bool has_exited() const {
    siginfo_t facts{};
    return ::waitid(P_PID, id_t(pid_), &facts, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           facts.si_pid == pid_;
  }

  ChildEnd judge() const {
    if (!stopped_.empty()) return {stop_, stopped_, last_output(output_.get())};
    if (WIFSIGNALED(status_))
      return {End::crash,
              cat("it ended with signal ", WTERMSIG(status_), " (", ::strsignal(WTERMSIG(status_)),
                  ")"),
              last_output(output_.get())};
    if (!done_ || WEXITSTATUS(status_) != 0)
      return {End::crash, cat("it ended the process with exit code ", WEXITSTATUS(status_)),
              last_output(output_.get())};
    return {};
  }

  const Limits& limits_;
  const std::function<void(Line)>& on_line_;
  Fd output_;
  pid_t pid_ = -1;
  int lines_ = -1, status_ = 0;
  bool done_ = false, in_case_ = false;
  End stop_ = End::answered;
  std::string stopped_, pending_;
  Clock::time_point until_;
};

}  // namespace

ChildEnd run_child(const Job& job, const Limits& limits, const std::function<void(Line)>& on_line) {
  return Child(limits, on_line).run(job);
}

}  // namespace ferrule::conformance
