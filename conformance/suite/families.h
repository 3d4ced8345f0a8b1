// One function for each row of families.def; each appends its cases for the target.
#pragma once

#include "conformance/suite/case.h"

namespace ferrule::conformance {

#define FAMILY(id, name, level, needs_device, doc) void list_##name(const Target& target, std::vector<Case>& cases);
#include "conformance/suite/families.def"
#undef FAMILY

}  // namespace ferrule::conformance
