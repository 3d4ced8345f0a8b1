// The IO gate: every optional fusion must be predicted to gain.
#pragma once

#include "core/cost/estimate.h"

namespace ferrule {

enum class GateMode { plugin, calibrated, always, never };
const char* gate_mode_name(GateMode mode);
Result<GateMode> parse_gate_mode(std::string_view name);

struct GateOptions {
  GateMode mode = GateMode::plugin;
  int64_t expected_runs = 1000;  // over which one-time bytes are spread
  uint32_t compute = FRL_COMPUTE_IEEE;
};

struct GateAnswer {
  bool fuse = false;
  int64_t before_ps = 0, after_ps = 0;  // predicted time of the neighbourhood
  int64_t gain_ps = 0;
};

// Profile of the same neighbourhood before and after; design section 7:
//   gain = dL*dispatch + dS*round_trip + dT*memory + dH*readback + dF*arithmetic + dO/runs*memory
//          - max(-dS, 0)*host_thunk;  fuse if gain >= minimum gain
//   units   picoseconds
GateAnswer ask_gate(const Cost& cost, const Profile& before, const Profile& after,
                    const GateOptions& options);

// The same where the device itself has said what the kernels of each side take; profiles then give
// only what estimates leave out: one-time bytes, steps of the host, readback.
struct Estimated {
  int64_t before_ps = 0, after_ps = 0;
};
GateAnswer ask_gate(const Cost& cost, const Profile& before, const Profile& after,
                    const GateOptions& options, const Estimated& kernels);

// Empty if the answer is to fuse; else the two numbers that say why not.
std::string unless_gains(const GateAnswer& answer, const Cost& cost);

}  // namespace ferrule
