#include "conformance/suite/families.h"

namespace ferrule::conformance {

void list_hygiene(const Target&, std::vector<Case>&) {}

}  // namespace ferrule::conformance
