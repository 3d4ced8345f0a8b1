// What is wrong with a report, by itself and by the suite that should have made it.
#pragma once

#include "conformance/report/json_lines.h"
#include "conformance/runner/suite_data.h"

namespace ferrule::conformance {

// One sentence for each fault; none: the report is genuine.
std::vector<std::string> faults_of(const Read& read, const SuiteData& suite,
                                   std::span<const Family> families);

}  // namespace ferrule::conformance
