#include "conformance/raw/state.h"

#include <malloc.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <cfenv>
#include <clocale>
#include <cstring>
#include <filesystem>
#include <fstream>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "core/base/text.h"

extern char** environ;

namespace ferrule::conformance::raw {
namespace {

size_t entries(const char* folder) {
  std::error_code code;
  size_t n = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder, code))
    n += !entry.path().empty();
  return n;
}

std::string signal_handlers() {
  std::string out;
  for (int number = 1; number < 32; ++number) {
    struct sigaction now {};
    if (sigaction(number, nullptr, &now) != 0) continue;
    out += cat(number, ":", reinterpret_cast<uintptr_t>(now.sa_sigaction), ":", now.sa_flags, " ");
  }
  return out;
}

std::string signal_mask() {
  sigset_t mask;
  sigemptyset(&mask);
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  std::string out;
  for (int number = 1; number < 32; ++number) out += sigismember(&mask, number) ? '1' : '0';
  return out;
}

std::string environment() {
  std::string out;
  for (char** p = environ; p && *p; ++p) out += cat(*p, "\n");
  return out;
}

std::string file_mode_mask() {
  const mode_t now = umask(0);
  umask(now);
  return cat(now);
}

std::string timers() {
  std::string out;
  for (int which : {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF}) {
    itimerval now{};
    getitimer(__itimer_which_t(which), &now);
    out += cat(now.it_interval.tv_sec, ".", now.it_interval.tv_usec,
               now.it_value.tv_sec || now.it_value.tv_usec ? "on " : "off ");
  }
  return out;
}

std::string limits() {
  std::string out;
  for (int which : {RLIMIT_AS, RLIMIT_CORE, RLIMIT_NOFILE, RLIMIT_STACK, RLIMIT_DATA}) {
    rlimit now{};
    getrlimit(__rlimit_resource_t(which), &now);
    out += cat(now.rlim_cur, "/", now.rlim_max, " ");
  }
  return out;
}

std::string working_folder() {
  std::error_code code;
  return std::filesystem::current_path(code).string();
}

}  // namespace

uint64_t fp_control() {
#if defined(__x86_64__)
  uint16_t x87 = 0;
  __asm__ volatile("fnstcw %0" : "=m"(x87));
  return uint64_t(_mm_getcsr() & 0xFFC0u) << 16 | x87;
#elif defined(__aarch64__)
  uint64_t control = 0;
  __asm__ volatile("mrs %0, fpcr" : "=r"(control));
  return control;
#else
  return uint64_t(std::fegetround());
#endif
}

size_t open_descriptors() { return entries("/proc/self/fd"); }
size_t live_threads() { return entries("/proc/self/task"); }
size_t mapped_ranges() {
  std::ifstream maps("/proc/self/maps");
  size_t n = 0;
  for (std::string line; std::getline(maps, line);) ++n;
  return n;
}
bool is_mapped(const std::string& path) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.ends_with(path)) return true;
  return false;
}
uint64_t ns_in_line() {
  std::error_code code;
  uint64_t sum = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", code)) {
    uint64_t ran = 0, waited = 0;
    std::ifstream(task.path() / "schedstat") >> ran >> waited;
    sum += waited;
  }
  return sum;
}
uint64_t heap_bytes_in_use() {
  const struct mallinfo2 now = mallinfo2();
  return now.uordblks + now.hblkhd;
}

const std::vector<Aspect>& aspects() {
  static const std::vector<Aspect> rows = {
      {"fp_control", [] { return cat(fp_control()); }},
      {"signal_handlers", signal_handlers},
      {"signal_mask", signal_mask},
      {"locale", [] { return std::string(std::setlocale(LC_ALL, nullptr)); }},
      {"working_folder", working_folder},
      {"file_mode_mask", file_mode_mask},
      {"environment", environment},
      {"timers", timers},
      {"limits", limits},
  };
  return rows;
}

}  // namespace ferrule::conformance::raw
