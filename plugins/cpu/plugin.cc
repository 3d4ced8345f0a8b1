// The cpu backend: one inline device in host memory, its work shared over the host's team.
#include <algorithm>
#include <string_view>

#include "plugin-api/sdk/plugin.h"

#include "plugins/cpu/claims.h"
#include "plugins/cpu/kernels.h"
#include "plugins/cpu/openblas.h"

namespace cpu {
namespace {

constexpr frl_option kOptions[] = {
    {frl::str("gemm"), frl::str("own"), frl::str("own or openblas: who multiplies large matrices")},
    {frl::str("isa"), frl::str("best"),
     frl::str("best, generic, avx2 or avx512: the instruction set of the hot loops")},
};

class Device final : public frl::InlineDevice {
 public:
  Device(const frl_host* host, const frl_device_row* row)
      : InlineDevice(host, row), context_(context_of(host)) {}

  static void check_settings(const frl_host* host) { context_of(host); }

  static std::span<const frl_device_row> rows() {
    static const frl_device_row row[] = {frl::host_device_row("cpu", claims(), cost())};
    return row;
  }
  // The shape that operand rows cannot say: factors of a norm as long as what is normalised.
  static void refuse(const frl_device_row&, const frl::Region& region) {
    if (region.kind() != FRL_OP_layer_norm && region.kind() != FRL_OP_rms_norm) return;
    const frl::Value x = region.operand(0).value;
    int64_t n = 1;
    for (int64_t k = 1; k <= region.attribute_i(FRL_AT_layer_norm_axes_n); ++k) n *= x.extent(-k);
    for (size_t i = 1; i < region.n_operands(); ++i) {
      const frl::Value v = region.operand(i).value;
      if (v.present() && v.n_elements() != n)
        throw frl::Failure(
            FRL_NO_SHAPE,
            "norm: want " + std::to_string(n) + " factors, got " + std::to_string(v.n_elements()),
            static_cast<int32_t>(i));
    }
  }
  static std::span<const frl_option> options() { return kOptions; }

  KernelPtr compile(const frl::Region& region) override { return compile_region(context_, region); }

 private:
  static Context context_of(const frl_host* host) {
    Context out;
    const std::string isa = frl::setting(host, "isa", "best");
    constexpr std::string_view kIsas[] = {"best", "generic", "avx2", "avx512"};
    if (std::find(std::begin(kIsas), std::end(kIsas), isa) == std::end(kIsas))
      throw frl::Failure(FRL_INVALID, "isa: want best, generic, avx2 or avx512, got " + isa);
    out.isa = &choose_isa(isa == "best" ? nullptr : isa.c_str());
    const std::string gemm = frl::setting(host, "gemm", "own");
    if (gemm != "own" && gemm != "openblas")
      throw frl::Failure(FRL_INVALID, "gemm: want own or openblas, got " + gemm);
    if (gemm == "openblas" && !has_openblas())
      throw frl::Failure(FRL_INVALID, "gemm: want own, since this build has no OpenBLAS");
    out.openblas = gemm == "openblas";
    return out;
  }

  Context context_;
};

}  // namespace
}  // namespace cpu

FRL_PLUGIN("org.ferrule.cpu", "0.1.0", cpu::Device)
