#include "conformance/suite/families.h"

namespace ferrule::conformance {

void list_threads(const Target&, std::vector<Case>&) {}

}  // namespace ferrule::conformance
