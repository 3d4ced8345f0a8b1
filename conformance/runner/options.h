// The command line of ferrule-conformance.
#pragma once

#include <span>
#include <string>

#include "conformance/runner/process.h"

namespace ferrule::conformance {

// Exit codes.
constexpr int kFine = 0, kJudgedBad = 1, kBadUsage = 2, kNoDevice = 3;

enum class Command { run, list, explain, replay, verify, must_pass };

struct Options {
  Command command = Command::run;
  std::string plugin, subject;  // the library; of explain and replay the case, of verify the report
  std::string profile, depth = "standard", families, case_glob, report, waivers;
  int64_t level = 5, device = -1, seed = 1, jobs = 0;
  Limits limits;
};

struct Parsed {
  Options options;
  std::string text;  // help or the version, to print; else empty
};
//   words   without the program's name
//   errors  invalid_argument with what was wanted
Result<Parsed> parse_options(std::span<char* const> words);

}  // namespace ferrule::conformance
