#include "conformance/suite/families.h"

namespace ferrule::conformance {

void list_lifecycle(const Target&, std::vector<Case>&) {}

}  // namespace ferrule::conformance
