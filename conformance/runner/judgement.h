// From records to a badge, or to the reasons why there is none. Pure: `verify` works it out again.
#pragma once

#include "conformance/runner/profiles.h"

namespace ferrule::conformance {

Judgement judge_run(const Report& report, const Profiles& data, std::span<const Family> families);

// True for verdicts that count against a plugin at the level of the case's family.
bool is_bad(const Record& record, std::span<const Family> families);

}  // namespace ferrule::conformance
