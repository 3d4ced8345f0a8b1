// Everything that the suite reads from its data folder, and the hash of the whole suite.
#pragma once

#include "conformance/runner/profiles.h"
#include "conformance/runner/waivers.h"

namespace ferrule::conformance {

struct SuiteData {
  Profiles profiles;
  std::vector<Waiver> waivers;
  std::string hash;  // SHA-256 of this program's file and of each data file with its name
};
Result<SuiteData> read_suite_data(const std::string& folder);

}  // namespace ferrule::conformance
