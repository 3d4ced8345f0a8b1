#include "conformance/runner/program.h"

namespace ferrule::conformance {
int verify_command(std::span<const Family>, const Options&) { return kBadUsage; }
}  // namespace ferrule::conformance
