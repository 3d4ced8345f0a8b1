// Subjects of one rank: ops whose attributes have an entry an axis, and some that work along one.
#pragma once

#include "conformance/cases/recipe.h"

namespace ferrule::conformance {

// Each with few elements. Those that the op's shape rule refuses for the type are among them.
std::vector<Subject> subjects_of_rank(Type type, size_t rank);

}  // namespace ferrule::conformance
