// Trying a plugin in another process.
#pragma once

#include <string>

#include "core/base/status.h"

namespace ferrule::cli {

// Starts this program again to load the library, and reads its answer. Crash, hang, early exit and
// bad output each give their own sentence. Success needs a token: exit code 0 alone proves nothing.
Status probe_in_child(const std::string& path, int64_t timeout_ms);

// What the child runs: the token or the reason goes to descriptor 3, or, where there is none, to
// the person who called it.
Result<int> run_probe(const std::string& path, bool json);

}  // namespace ferrule::cli
