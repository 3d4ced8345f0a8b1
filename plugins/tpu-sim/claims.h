// What the machine's devices promise, and what that costs.
#pragma once

#include <memory>

#include "plugins/tpu-sim/machine.h"

namespace tpu_sim {

// A device row with the machine behind it: what refuse() and estimate() are handed is one of these.
struct Row : frl_device_row {
  Machine machine;
  frl_space space;
  frl_cost cost_row;
  frl_rate rates[5];
};

// The rows of a machine: the device itself, and a profile of the same machine with two arrays. They
// live until the library is unloaded; the same machine gets the same rows.
//   thread  any
frl_rows rows_of(const Machine& machine);

}  // namespace tpu_sim
