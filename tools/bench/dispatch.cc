// What the core adds to a segment: 400 kernels of about 20 ns through a plan, against the same
// kernels called directly. Prints nanoseconds a submit and a kernel; wrong results print no time.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "core/dispatch/executable.h"
#include "core/session/compile.h"
#include "plugin-api/sdk/plugin.h"

namespace {

constexpr int kKernels = 400;

// About 20 ns of dependent arithmetic on one element.
void work(const std::byte* source, std::byte* target) {
  float x = *reinterpret_cast<const float*>(source);
  for (int i = 0; i < 12; ++i) x = x * 0.999f + 0.001f;
  *reinterpret_cast<float*>(target) = x;
}

struct Stub final : frl::Kernel {
  void run(const frl::Call& call) const override { work(call.args[0], call.args[1]); }
};

constexpr frl_operand kTensor = frl::operand(frl::types(FRL_F32), 0, 4);
constexpr frl_operand kOperands[] = {kTensor, frl::result(kTensor)};
constexpr frl_claim kClaims[] = {
    frl::claim(FRL_OP_softmax, frl::rows(kOperands), FRL_ERROR_EXACT, 0)};
constexpr frl_rate kRates[] = {{FRL_F32, FRL_COMPUTE_IEEE, 500'000'000}};
constexpr frl_cost kCost = frl::host_cost(1000, 1000, 1000, frl::rows(kRates), FRL_BASIS_ESTIMATED);

struct StubDevice final : frl::InlineDevice {
  using InlineDevice::InlineDevice;
  static std::span<const frl_device_row> rows() {
    static const frl_device_row row[] = {frl::host_device_row("stub", frl::rows(kClaims), &kCost)};
    return row;
  }
  std::unique_ptr<frl::Kernel> compile(const frl::Region&) override {
    return std::make_unique<Stub>();
  }
};

}  // namespace

FRL_PLUGIN("org.ferrule.stub", "0.1.0", StubDevice)

namespace {

using namespace ferrule;
using Clock = std::chrono::steady_clock;

Result<std::shared_ptr<const Executable>> make_chain(std::vector<DeviceEntry>& entries,
                                                     CompileContext& context) {
  FRL_LET(auto driver,
          Driver::start(frl_plugin_v1, "org.ferrule.stub", std::make_shared<Team>(1), {}, {}));
  entries.push_back({"stub", driver, 0});
  FRL_LET(auto device, driver->open(0));
  context.targets.push_back({"stub", &driver->devices()[0], false});
  context.entries.push_back(&entries[0]);
  context.devices.push_back(device);
  Graph graph("chain");
  ValueId value = graph.add_input({Type::f32, {1}}, "x");
  for (int i = 0; i < kKernels; ++i) {
    FRL_LET(value, graph.emit(FRL_OP_softmax, {value}));
  }
  graph.add_output(value, "y");
  return compile_graph(std::move(graph), context);
}

// Best nanoseconds of one call of fn, over rounds of many.
template <class Fn>
double best_ns(Fn&& fn) {
  double best = 1e300;
  for (int round = 0; round < 200; ++round) {
    const auto start = Clock::now();
    for (int i = 0; i < 20; ++i) fn();
    best =
        std::min(best, std::chrono::duration<double, std::nano>(Clock::now() - start).count() / 20);
  }
  return best;
}

int run() {
  std::vector<DeviceEntry> entries;
  CompileContext context;
  const auto executable = make_chain(entries, context);
  if (!executable.ok()) return std::printf("%s\n", executable.status().message().c_str()), 1;
  auto made = (*executable)->make_context();
  if (!made.ok()) return std::printf("%s\n", made.status().message().c_str()), 1;
  alignas(64) float x = 3, y = 0, steps[kKernels + 1];
  const void* const inputs[] = {&x};
  void* const outputs[] = {&y};
  const auto dispatched = [&] { return (*made)->run(inputs, outputs).ok(); };
  // The same kernels by a direct call through a table that the compiler cannot see through.
  std::vector<void (*)(const std::byte*, std::byte*)> table(kKernels, work);
  const auto direct = [&] {
    steps[0] = x;
    for (int i = 0; i < kKernels; ++i)
      table[size_t(i)](reinterpret_cast<std::byte*>(&steps[i]),
                       reinterpret_cast<std::byte*>(&steps[i + 1]));
  };
  direct();
  if (!dispatched() || y != steps[kKernels])
    return std::printf("wrong result: want %g, got %g\n", double(steps[kKernels]), double(y)), 1;
  double direct_ns = 1e300, dispatched_ns = 1e300;
  for (int i = 0; i < 5; ++i) {  // alternating, because the machine drifts
    direct_ns = std::min(direct_ns, best_ns(direct));
    dispatched_ns = std::min(dispatched_ns, best_ns(dispatched));
  }
  std::printf("direct      %8.1f ns for %d kernels, %5.2f ns each\n", direct_ns, kKernels,
              direct_ns / kKernels);
  std::printf("dispatched  %8.1f ns, ratio %.3f\n", dispatched_ns, dispatched_ns / direct_ns);
  std::printf("added       %8.1f ns a submit, %5.2f ns a kernel\n", dispatched_ns - direct_ns,
              (dispatched_ns - direct_ns) / kKernels);
  return 0;
}

}  // namespace

int main() { return run(); }
