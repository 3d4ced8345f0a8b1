// The cpu plugin, opened once for each instruction set and worker count that a test asks for.
#pragma once

#include <gtest/gtest.h>

#include "tests/cpu/host.h"

namespace host {

inline Plugin& cpu(const std::string& isa = "best", uint32_t workers = 2) {
  static std::map<std::pair<std::string, uint32_t>, std::unique_ptr<Plugin>> open;
  auto& p = open[{isa, workers}];
  if (!p)
    p = std::make_unique<Plugin>(FRL_BUILD_DIR "/plugins/cpu.so",
                                 std::map<std::string, std::string>{{"isa", isa}}, workers);
  return *p;
}

// Size of the last place of `want` in its type.
inline double ulp_of(int type, double want) {
  const int digits = type == FRL_F64 ? 53 : type == FRL_F32 ? 24 : type == FRL_F16 ? 11 : 8;
  const int least = type == FRL_F64 ? -1074 : type == FRL_F32 ? -149 : type == FRL_F16 ? -24 : -133;
  if (want == 0 || !std::isfinite(want)) return std::ldexp(1.0, least);
  return std::ldexp(1.0, std::max(std::ilogb(want) - digits + 1, least));
}
inline double largest(int type) {
  return type == FRL_F64   ? 1.797e308
         : type == FRL_F32 ? 3.4028234e38
         : type == FRL_F16 ? 65504
                           : 3.3895e38;
}

// Empty, or what is wrong with `got` beside `want` (a float type's exact value).
inline std::string differs(int type, double got, double want, double ulps, double slack = 0) {
  if (std::isnan(want)) return std::isnan(got) ? "" : "want NaN, got " + std::to_string(got);
  const bool overflows = std::fabs(want) > largest(type);
  if (overflows && std::isinf(got) && (got > 0) == (want > 0)) return "";
  if (std::isinf(want) || std::isnan(got) || std::isinf(got))
    return got == want ? "" : "want " + std::to_string(want) + ", got " + std::to_string(got);
  if (want == 0 && got == 0 && slack == 0 && std::signbit(want) != std::signbit(got))
    return "zero of the wrong sign";
  const double off = std::fabs(got - want);
  if (off <= ulps * ulp_of(type, want) + slack) return "";
  char text[160];
  std::snprintf(text, sizeof text, "want %.9g, got %.9g: %.3g ulp", want, got,
                off / ulp_of(type, want));
  return text;
}

// Every element within `ulps` places of its exact value, or within `slack`.
inline testing::AssertionResult near(const Tensor& got, const std::function<double(int64_t)>& want,
                                     double ulps, double slack = 0) {
  for (int64_t i = 0; i < got.n(); ++i) {
    if (got.type >= FRL_I8) {
      if (double(got.int_at(i)) != want(i))
        return testing::AssertionFailure()
               << "element " << i << ": want " << want(i) << ", got " << got.int_at(i);
      continue;
    }
    const std::string why = differs(got.type, got.at(i), want(i), ulps, slack);
    if (!why.empty()) return testing::AssertionFailure() << "element " << i << ": " << why;
  }
  return testing::AssertionSuccess();
}

// A pointwise region of one node.
inline Result run_pointwise(Plugin& p, uint32_t op, const Attributes& attributes,
                            const std::vector<Tensor>& inputs, Tensor output) {
  Block b;
  std::vector<uint32_t> in;
  std::vector<const void*> args;
  Result out;
  for (const Tensor& t : inputs)
    in.push_back(b.value(t.type, t.shape)), args.push_back(t.bytes.data());
  const uint32_t y = b.node1(op, in, output.type, output.shape, attributes);
  args.push_back(output.bytes.data());
  frl_kernel* k = p.compile(b.finish(FRL_OP_pointwise, in, {y}));
  if (!k) return out.error = p.error.text, out;
  if (p.run(k, args, args.size())) out.error = p.error.text, p.reopen();
  p.api->drop_kernel(k);
  out.outputs = {std::move(output)};
  return out;
}

}  // namespace host
