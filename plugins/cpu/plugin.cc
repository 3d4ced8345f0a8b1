// The cpu backend: one inline device in host memory, its work shared over the host's team.
#include "plugin-api/sdk/plugin.h"

#include "plugins/cpu/claims.h"
#include "plugins/cpu/kernels.h"

namespace cpu {
namespace {

constexpr frl_option kOptions[] = {
    {frl::str("gemm"), frl::str("own"), frl::str("own or openblas: who multiplies large matrices")},
    {frl::str("isa"), frl::str("best"),
     frl::str("best, generic, avx2 or avx512: the instruction set of the hot loops")},
};

class Device final : public frl::InlineDevice {
 public:
  Device(const frl_host* host, const frl_device_row* row) : InlineDevice(host, row) {
    const std::string isa = frl::setting(host, "isa", "best");
    context_.isa = &choose_isa(isa == "best" ? nullptr : isa.c_str());
    const std::string gemm = frl::setting(host, "gemm", "own");
    if (gemm != "own" && gemm != "openblas")
      throw frl::Failure(FRL_INVALID, "gemm: want own or openblas, got " + gemm);
    context_.openblas = gemm == "openblas";
  }

  static std::span<const frl_device_row> rows() {
    static const frl_device_row row[] = {frl::host_device_row("cpu", claims(), cost())};
    return row;
  }
  static std::span<const frl_option> options() { return kOptions; }

  KernelPtr compile(const frl::Region& region) override {
    return compile_region(context_, region);
  }

 private:
  Context context_;
};

}  // namespace
}  // namespace cpu

FRL_PLUGIN("org.ferrule.cpu", "0.1.0", cpu::Device)
