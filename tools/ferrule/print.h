// Everything that the tool writes: its answer on stdout, sentences on stderr.
#pragma once

#include <string>
#include <string_view>

#include "core/base/status.h"
#include "tools/options/printable.h"

namespace ferrule::cli {

// Exit codes.
constexpr int kFine = 0, kBadResult = 1, kBadUsage = 2, kNoDevice = 3;

// To stdout: as it is for programs; for people without the control characters that a model's names
// may hold. Whether it arrived is what finish() says.
void print(std::string_view text);
void print_text(std::string_view text);

// As printf, to a string.
[[gnu::format(printf, 1, 2)]] std::string format(const char* pattern, ...);

// "ferrule: MESSAGE" on stderr, in one line of bounded length; gives the exit code of its code.
int complain(const Status& status);
// The same, and {"error": {...}} on stdout for programs.
int fail(const Status& status, bool json);

// Before anything else: a descriptor of the three that is closed becomes one that fails, so that no
// file that is opened later takes its number.
void hold_descriptors();
// At the end: what stdout did not take is an error.
int finish(int exit_code);

}  // namespace ferrule::cli
