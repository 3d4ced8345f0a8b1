// A backend that does nothing wrong because it does nothing: a device without a single claim.
#include "plugin-api/sdk/plugin.h"

namespace {

constexpr frl_rate kRates[] = {{FRL_F32, FRL_COMPUTE_IEEE, 1'000'000}};
constexpr frl_cost kCost =
    frl::host_cost(30'000, 15'000, 100'000, frl::rows(kRates), FRL_BASIS_ESTIMATED);

struct Null final : frl::InlineDevice {
  using InlineDevice::InlineDevice;
  static std::span<const frl_device_row> rows() {
    static const frl_device_row row[] = {frl::host_device_row("null", {}, &kCost)};
    return row;
  }
  std::unique_ptr<frl::Kernel> compile(const frl::Region&) override {
    throw frl::Failure(FRL_NOT_CLAIMED, "compile: nothing is claimed");
  }
};

}  // namespace

FRL_PLUGIN("org.ferrule.null", "0.1.0", Null)
