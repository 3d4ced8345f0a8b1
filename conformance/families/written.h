// Cases of family G whose bodies are written out as text.
#pragma once

#include "conformance/cases/check.h"

namespace ferrule::conformance {

// Appends a case for each row and element type that the device claims.
void list_written(const Target& target, std::vector<Case>& cases, const CaseBody& run);

}  // namespace ferrule::conformance
