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
                    const GateOptions& options, const Estimated& kernels) {
  const auto whole = [&](Profile p, int64_t kernels_ps) {
    p.launches = p.device_bytes = 0, p.flops = {};
    const double one_time = double(p.one_time_bytes) /
                            double(std::max<int64_t>(1, options.expected_runs)) / 1024 *
                            double(cost.memory_ps_per_kib);
    return time_ps(cost, p, options.compute) + kernels_ps + int64_t(one_time);
  };
  GateAnswer answer;
  answer.before_ps = whole(before, kernels.before_ps);
  answer.after_ps = whole(after, kernels.after_ps);
  const int64_t more_syncs = std::max<int64_t>(0, after.syncs - before.syncs);
  answer.gain_ps = answer.before_ps - answer.after_ps - more_syncs * int64_t(cost.host_thunk_ps);
  answer.fuse =
      options.mode == GateMode::always ||
      (options.mode != GateMode::never && answer.gain_ps >= int64_t(cost.minimum_gain_ps));
  return answer;
}

GateAnswer ask_gate(const Cost& cost, const Profile& before, const Profile& after,
                    const GateOptions& options) {
  const auto kernels_ps = [&](Profile p) {
    p.syncs = p.host_output_bytes = 0;
    return time_ps(cost, p, options.compute);
  };
  return ask_gate(cost, before, after, options, {kernels_ps(before), kernels_ps(after)});
}

std::string unless_gains(const GateAnswer& answer, const Cost& cost) {
  if (answer.fuse) return {};
  return cat("gate: predicted gain ", answer.gain_ps, " ps, want at least ", cost.minimum_gain_ps);
}

}  // namespace ferrule
