#include "core/cost/gate.h"

#include "core/base/text.h"

namespace ferrule {
namespace {

constexpr const char* kModes[] = {"plugin", "calibrated", "always", "never"};

}  // namespace

const char* gate_mode_name(GateMode mode) { return kModes[size_t(mode)]; }

Result<GateMode> parse_gate_mode(std::string_view name) {
  for (size_t i = 0; i < std::size(kModes); ++i)
    if (name == kModes[i]) return GateMode(i);
  return Status(Code::invalid_argument,
                cat("gate.mode: want plugin, calibrated, always or never, got ", name));
}

GateAnswer ask_gate(const Cost& cost, const Profile& before, const Profile& after,
                    const GateOptions& options) {
  const auto whole = [&](const Profile& p) {
    const double one_time = double(p.one_time_bytes) /
                            double(std::max<int64_t>(1, options.expected_runs)) / 1024 *
                            double(cost.memory_ps_per_kib);
    return time_ps(cost, p, options.compute) + int64_t(one_time);
  };
  GateAnswer answer;
  answer.before_ps = whole(before), answer.after_ps = whole(after);
  const int64_t more_syncs = std::max<int64_t>(0, after.syncs - before.syncs);
  answer.gain_ps = answer.before_ps - answer.after_ps - more_syncs * int64_t(cost.host_thunk_ps);
  answer.fuse =
      options.mode == GateMode::always ||
      (options.mode != GateMode::never && answer.gain_ps >= int64_t(cost.minimum_gain_ps));
  return answer;
}

}  // namespace ferrule
