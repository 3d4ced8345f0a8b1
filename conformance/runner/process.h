// One child of the suite: started, listened to, and ended when it hangs or grows too large.
#pragma once

#include <functional>
#include <string>

#include "conformance/report/json_lines.h"

namespace ferrule::conformance {

struct Limits {
  double case_timeout_s = 60;       // from a case's begin to its end; around cases never under 20 s
  int64_t memory_limit_mib = 8192;  // resident; 0: none
};

enum class End { answered, crash, timeout, resource_error };

struct ChildEnd {
  End end = End::answered;
  std::string text;    // how it ended, as a sentence; empty for a clean end
  std::string output;  // the last of what it printed
};

// Runs `job` in a fresh process of this program and calls on_line for each line that it sends.
// answered: it sent "done" and then ended with exit code 0. Nothing else counts as success.
//   thread  any, several at once
ChildEnd run_child(const Job& job, const Limits& limits, const std::function<void(Line)>& on_line);

}  // namespace ferrule::conformance
