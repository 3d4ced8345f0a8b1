#include "conformance/raw/watch.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <iterator>

namespace ferrule::conformance::raw {
namespace {

struct Call {
  long number;
  const char* name;
};
constexpr Call kCalls[] = {
#ifdef SYS_open
    {SYS_open, "open"},
#endif
    {SYS_openat, "openat"},
#ifdef SYS_openat2
    {SYS_openat2, "openat2"},
#endif
    {SYS_socket, "socket"},   {SYS_clone, "clone"},
#ifdef SYS_clone3
    {SYS_clone3, "clone3"},
#endif
#ifdef SYS_fork
    {SYS_fork, "fork"},       {SYS_vfork, "vfork"},
#endif
    {SYS_execve, "execve"},   {SYS_memfd_create, "memfd_create"},
    {SYS_ioctl, "ioctl"},
};
constexpr size_t kMost = 64;
std::atomic<size_t> n_tried{0};
long tried[kMost];

#if defined(__x86_64__)
constexpr uint32_t kMachine = AUDIT_ARCH_X86_64;
void answer(ucontext_t* context) { context->uc_mcontext.gregs[REG_RAX] = -EPERM; }
#elif defined(__aarch64__)
constexpr uint32_t kMachine = AUDIT_ARCH_AARCH64;
void answer(ucontext_t* context) { context->uc_mcontext.regs[0] = uint64_t(-EPERM); }
#else
constexpr uint32_t kMachine = 0;
void answer(ucontext_t*) {}
#endif

void on_trap(int, siginfo_t* facts, void* context) {
  const size_t at = n_tried++;
  if (at < kMost) tried[at] = facts->si_syscall;
  answer(static_cast<ucontext_t*>(context));
}

bool install_filter() {
  if (kMachine == 0) return false;
  constexpr size_t n = std::size(kCalls);
  std::vector<sock_filter> code;
  code.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)));
  code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kMachine, 1, 0));
  code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  code.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
  for (size_t i = 0; i < n; ++i)
    code.push_back(
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, uint32_t(kCalls[i].number), uint8_t(n - i), 0));
  code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP));
  struct sigaction action {};
  action.sa_sigaction = on_trap, action.sa_flags = SA_SIGINFO;
  sigaction(SIGSYS, &action, nullptr);
  const sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace

std::vector<std::string> watched(const std::function<void()>& fn, bool* supported) {
  n_tried = 0;
  *supported = install_filter();
  fn();
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(n_tried.load(), kMost); ++i)
    for (const Call& call : kCalls)
      if (call.number == tried[i]) names.push_back(call.name);
  return names;
}

}  // namespace ferrule::conformance::raw
