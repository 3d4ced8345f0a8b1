// Everything that the suite reads from its data folder, and the hash of the whole suite.
#pragma once

#include "conformance/runner/profiles.h"
#include "conformance/runner/waivers.h"

namespace ferrule::conformance {

struct SuiteData {
  Profiles profiles;
  std::vector<Waiver> waivers;
  // What verdicts depend on: "version 0.1.0", "families HASH", then folders of sources and files of
  // data, "conformance/judge HASH". Another build of the same suite has the same.
  std::vector<std::string> parts;
};
Result<SuiteData> read_suite_data(const std::string& folder, std::span<const Family> families);

// The one hash that stands for them.
std::string hash_of(const std::vector<std::string>& parts);

}  // namespace ferrule::conformance
