// calibrate: measures what launching, moving and computing take on a device, and keeps it for
// gate.mode = calibrated.
//
// Chains of equal nodes, each a kernel of its own: the slope between a short and a long chain is
// one node's time, so that what a run pays once does not count. A device with a clock of its own is
// measured by its steps; what has no steps (copies, the round trip) stays as the plugin has it
// there.
#include <chrono>
#include <cstring>
#include <ctime>

#include "core/base/text.h"
#include "core/session/calibrated.h"
#include "tools/ferrule/command.h"
#include "tools/ferrule/report.h"
#include "tools/ferrule/timing.h"

namespace ferrule::cli {
namespace {

constexpr int64_t kSamples = 21;
constexpr int64_t kTensorElements = 1 << 18;  // 1 MiB of f32: what models hand from node to node
constexpr uint64_t kCopyBytes = 16 << 20, kSmallCopyBytes = 1 << 20;
constexpr int64_t kSide = 256;  // of the matrices
constexpr double kPsPerUs = 1e6;

// `n` nodes in a row, of the same type and shape as their input.
std::string chain(const std::string& type, const std::string& leaf, const char* op, int n) {
  std::string out = cat("graph \"g\"\n  %v0 = input ", type, " \"x\"\n", leaf);
  for (int i = 1; i <= n; ++i) out += cat("  %v", i, " = ", op, " %v", i - 1, ", %w\n");
  return out + cat("  return %v", n, " \"y\"\n");
}

class Meter {
 public:
  Meter(const CompileContext& context, Clock clock, std::shared_ptr<Device> device)
      : context_(context), clock_(clock), device_(std::move(device)) {}

  // Time of one node of a chain.
  Result<double> node_us(const std::string& type, const std::string& leaf, const char* op, int few,
                         int many) const {
    FRL_LET(const Graph short_graph, parse_graph(chain(type, leaf, op, few)));
    FRL_LET(const Graph long_graph, parse_graph(chain(type, leaf, op, many)));
    FRL_LET(Runnable a, make_runnable(short_graph, context_));
    FRL_LET(Runnable b, make_runnable(long_graph, context_));
    FRL_LET(const auto times, time_in_turn_us({&a, &b}, clock_, kSamples));
    return std::max(0.0, times[1] - times[0]) / double(many - few);
  }

  Status launching(Cost& cost) const {
    FRL_LET(const double us, node_us("f32[8]", "  %w = input f32[8] \"w\"\n", "add", 16, 272));
    cost.dispatch_ps = uint64_t(us * kPsPerUs);
    return {};
  }
  Status memory(Cost& cost) const {
    const std::string type = cat("f32[", kTensorElements, "]");
    FRL_LET(const double us, node_us(type, cat("  %w = input ", type, " \"w\"\n"), "add", 2, 10));
    const double kib = 3.0 * double(kTensorElements) * 4 / 1024;
    cost.memory_ps_per_kib =
        uint64_t(std::max(1.0, us * kPsPerUs - double(cost.dispatch_ps)) / kib);
    return {};
  }
  // A type that the device multiplies no matrices of keeps the plugin's rate.
  void computing(frl_rate& rate) const {
    if (rate.compute != FRL_COMPUTE_IEEE) return;
    const std::string type = cat(type_name(Type(rate.type)), "[", kSide, ",", kSide, "]");
    const auto us =
        node_us(type, cat("  %w = parameter ", type, " \"w\" = random 1\n"), "matmul", 1, 5);
    const double mflop = 2e-6 * double(kSide * kSide * kSide);
    if (us.ok() && *us > 0) rate.ps_per_mflop = uint64_t(*us * kPsPerUs / mflop) + 1;
  }
  Status round_trip(Cost& cost) const {
    FRL_LET(const auto queue, device_->open_queue());
    FRL_LET(const double us, median_us([&] { return submit(*queue, {}); }));
    cost.round_trip_ps = uint64_t(us * kPsPerUs);
    return {};
  }
  Status moving(Cost& cost) const {
    const frl_space& space = device_->row().spaces[0];
    const uint64_t most =
        std::min(space.max_alloc_bytes ? space.max_alloc_bytes : kCopyBytes, kCopyBytes);
    const uint64_t least = std::min(kSmallCopyBytes, most / 2);
    FRL_LET(const auto queue, device_->open_queue());
    FRL_LET(const auto buffer, device_->make_buffer(0, most));
    std::vector<std::byte> host(most, std::byte{1});
    const frl_binding there{buffer->handle(), 0}, here{nullptr, uint64_t(uintptr_t(host.data()))};
    const auto copy_us = [&](frl_binding to, frl_binding from) -> Result<double> {
      double us[2];
      for (int i = 0; i < 2; ++i) {
        const uint64_t bytes = i ? most : least;
        frl_copy copy{to, from, bytes, 1, int64_t(bytes), int64_t(bytes)};
        FRL_LET(us[i], median_us([&] { return submit(*queue, {&copy, 1, sizeof copy}); }));
      }
      return std::max(0.0, us[1] - us[0]) * kPsPerUs * 1024 / double(most - least);
    };
    FRL_LET(const double up, copy_us(there, here));
    FRL_LET(const double down, copy_us(here, there));
    cost.to_device_ps_per_kib = uint64_t(up), cost.from_device_ps_per_kib = uint64_t(down);
    cost.readback_ps_per_kib = uint64_t(down);
    return {};
  }

 private:
  static Status submit(Queue& queue, frl_rows copies) {
    frl_submit request{};
    request.head = {sizeof request, FRL_TAG_SUBMIT};
    request.copies = copies;
    FRL_TRY(queue.submit(request).status);
    return queue.wait(request.signal).status;
  }
  static Result<double> median_us(const std::function<Status()>& call) {
    std::vector<double> times;
    for (int64_t i = -2; i < kSamples; ++i) {
      const auto start = std::chrono::steady_clock::now();
      FRL_TRY(call());
      const std::chrono::duration<double, std::micro> us = std::chrono::steady_clock::now() - start;
      if (i >= 0) times.push_back(us.count());
    }
    return median(std::move(times));
  }

  const CompileContext& context_;
  Clock clock_;
  std::shared_ptr<Device> device_;
};

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", &parts);
  return text;
}

Result<Calibration> calibrate(const CompileContext& all, size_t target, Clock usual) {
  CompileContext context = for_target(all, target);
  context.options.fusion = false;
  FRL_LET(const Clock clock, clock_of(context, usual));
  const Meter meter(context, clock, context.devices[0]);
  Calibration out;
  out.date = today();
  FRL_LET(out.identity, identity_of(*context.entries[0]));
  out.cost = context.targets[0].row->cost;
  FRL_TRY(meter.launching(out.cost));
  FRL_TRY(meter.memory(out.cost));
  for (frl_rate& rate : out.cost.arithmetic) meter.computing(rate);
  if (clock != Clock::device) {
    FRL_TRY(meter.round_trip(out.cost));
    FRL_TRY(meter.moving(out.cost));
  }
  return out;
}

// "dispatch_ps 30000 -> 41210" for each rate: the plugin's, and what was measured.
std::string rates_text(const Cost& claimed, const Cost& measured) {
  const auto was = cost_rates(claimed), is = cost_rates(measured);
  std::string out;
  for (size_t i = 0; i < is.size(); ++i)
    out += cat("  ", is[i].first, "  ", was[i].second, " -> ", is[i].second, "\n");
  return out;
}

Result<int> run(const Arguments& arguments) {
  Arguments plain = arguments;
  plain.add("--set", "gate.mode=plugin");  // what was measured before does not count
  FRL_LET(const auto runtime, open_runtime(plain));
  FRL_LET(const CompileContext all, make_compile_context(*runtime));
  FRL_LET(const std::string folder, calibration_folder(runtime->config()));
  const Clock usual = arguments.has("--processor-time") ? Clock::processor : Clock::wall;
  std::string json;
  for (size_t t = 0; t < all.targets.size(); ++t) {
    auto found = calibrate(all, t, usual);
    if (!found.ok()) return std::move(found).within(cat("calibrate ", all.targets[t].id)).status();
    const std::string path = calibration_path(folder, found->identity);
    FRL_TRY(write_calibration(path, *found));
    if (!arguments.has("--json"))
      print_text(cat(all.targets[t].id, "  ", path, "\n",
                     rates_text(all.targets[t].row->cost, found->cost)));
    json += cat(json.empty() ? "" : ",\n ", "{\"target\": ", json_quote(all.targets[t].id),
                ", \"file\": ", json_quote(path), ", \"date\": ", json_quote(found->date),
                ", \"rates\": ", rates_json(found->cost), "}");
  }
  if (arguments.has("--json")) print(cat("{\"calibrated\": [", json, "]}\n"));
  return kFine;
}

}  // namespace

extern const Command calibrate_command = {
    "calibrate",
    "measure what things cost on a device, for gate.mode = calibrated",
    {{"--processor-time", nullptr, "count what this process had of a processor, not the wall"}},
    run};

}  // namespace ferrule::cli
