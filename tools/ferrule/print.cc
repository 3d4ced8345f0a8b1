#include "tools/ferrule/print.h"

#include <fcntl.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "core/base/text.h"

namespace ferrule::cli {
namespace {

// A sentence is for a person; a model may make its parts as long as it likes.
constexpr size_t kMostHead = 1000, kMostTail = 200;

constexpr Code kNoDeviceCodes[] = {Code::no_device, Code::not_claimed, Code::driver_missing,
                                   Code::driver_old, Code::device_lost};

int write_error = 0;  // errno of the first write to stdout that failed

// A list over several lines as one: "got:\n  a\n  b" is "got: a; b".
std::string one_line(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\n') {
      out += text[i];
      continue;
    }
    out += !out.empty() && out.back() == ':' ? " " : "; ";
    while (i + 1 < text.size() && text[i + 1] == ' ') ++i;
  }
  return out;
}

}  // namespace

void print(std::string_view text) {
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() && !write_error)
    write_error = errno ? errno : EIO;
}

void print_text(std::string_view text) { print(printable(text, true)); }

std::string format(const char* pattern, ...) {
  va_list arguments, again;
  va_start(arguments, pattern);
  va_copy(again, arguments);
  std::string out(size_t(std::vsnprintf(nullptr, 0, pattern, arguments)), ' ');
  std::vsnprintf(out.data(), out.size() + 1, pattern, again);
  va_end(again);
  va_end(arguments);
  return out;
}

int complain(const Status& status) {
  std::string text = printable(one_line(status.message()), false);
  if (text.size() > kMostHead + kMostTail)
    text = cat(text.substr(0, kMostHead), " ... ", text.substr(text.size() - kMostTail));
  std::fprintf(stderr, "ferrule: %s\n", text.c_str());
  for (const Code code : kNoDeviceCodes)
    if (status.code() == code) return kNoDevice;
  return kBadUsage;
}

int fail(const Status& status, bool json) {
  if (json)
    print(cat("{\"error\": {\"code\": \"", code_name(status.code()),
              "\", \"text\": ", json_quote(status.message()), "}}\n"));
  return complain(status);
}

void hold_descriptors() {
  // Read-only where it is written to: a write fails, as it would have without.
  for (int fd = 0; fd < 3; ++fd)
    if (::fcntl(fd, F_GETFD) < 0) [[maybe_unused]]
      const int opened = ::open("/dev/null", fd == 2 ? O_WRONLY : O_RDONLY);
}

int finish(int exit_code) {
  errno = 0;
  if (std::fflush(stdout) != 0 && !write_error) write_error = errno ? errno : EIO;
  if (!write_error) return exit_code;
  complain(Status(Code::not_found, cat("stdout: cannot be written: ", std::strerror(write_error))));
  return exit_code == kFine ? kBadResult : exit_code;
}

}  // namespace ferrule::cli
