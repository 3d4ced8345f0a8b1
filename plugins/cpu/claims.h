// What the plugin promises to run, and what running costs.
#pragma once

#include "plugin-api/sdk/rows.h"

namespace cpu {

frl_rows claims();
const frl_cost* cost();

}  // namespace cpu
