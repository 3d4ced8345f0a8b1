// What there is to run: the plugin's facts and its cases, found in a child process.
#pragma once

#include <span>

#include "conformance/runner/process.h"

namespace ferrule::conformance {

struct Listing {
  Facts facts;
  std::vector<std::string> cases;
  std::vector<std::string> problems;
  Job job;  // as given; load == false if loading brought the process down
};

Listing list_cases(std::span<const Family> families, Job job, const Limits& limits);

}  // namespace ferrule::conformance
