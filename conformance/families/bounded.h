// Cases of family E whose extents are given at submit.
#pragma once

#include "conformance/cases/check.h"

namespace ferrule::conformance {

// Appends cases for one claim row that names bounded or dynamic shapes; its number is in their
// names.
void list_bounded(const Target& target, std::vector<Case>& cases, const Claim& claim,
                  size_t number);

}  // namespace ferrule::conformance
