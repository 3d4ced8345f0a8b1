// Measured fused against unfused, with the gate's prediction beside it, for every fusion that a
// device's claims call for.
#pragma once

#include "tools/ferrule/command.h"

namespace ferrule::cli {

// Prints the table (text, or JSON) of each allowed target. --only PART keeps the rows whose pass
// or name holds it.
Result<int> run_fusion_table(const Arguments& arguments);

}  // namespace ferrule::cli
