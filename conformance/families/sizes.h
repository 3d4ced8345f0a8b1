// Cases of family H over sizes: round vectors and tiles, primes, long rows.
#pragma once

#include "conformance/cases/check.h"

namespace ferrule::conformance {

// The element types of an op that family H tries, fewer at depth smoke.
std::vector<Type> some_types(const Target& target, OpId op);

void list_sizes(const Target& target, std::vector<Case>& cases);

}  // namespace ferrule::conformance
