// Errands: small jobs that need a process of their own, because they end it or must see it fresh.
//
// A forked child may not call a plugin, so an errand runs in this program started anew.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/status.h"

namespace ferrule::conformance::raw {

struct Ended {
  int rc = -1;  // of the process; -1 if a signal ended it
  int signal = 0;
  bool timed_out = false;
  std::string report;  // what the errand wrote with its own pen
  std::string output;  // what went to stdout and stderr
  // "rc 3", "signal 11", "no end within 20 s"
  std::string how() const;
};

// Runs one errand to its end. Several may run at once.
//   errors  internal if main() does not call serve_errand()
Result<Ended> run_errand(const std::string& name, const std::vector<std::string>& arguments,
                         int timeout_ms = 20'000);

// First in main(): if the command line is an errand's, runs it and returns what main() shall
// return.
std::optional<int> serve_errand(int argc, char** argv);

// An errand: its arguments, what it reports, and its exit code.
struct Errand {
  const char* name;
  int (*run)(std::span<const std::string> arguments, std::string& report);
};
std::span<const Errand> errands();  // errands.cc

// Writes the report now; for errands that do not return.
void send_report(const std::string& report);

}  // namespace ferrule::conformance::raw
