#include "tools/ferrule/timing.h"

#include <time.h>

#include <algorithm>

#include "tools/ferrule/inputs.h"

namespace ferrule::cli {
namespace {

constexpr double kSampleUs = 60;  // shorter than what a scheduler takes at once
constexpr int64_t kMostInner = 256;
constexpr double kAgrees = 2;  // between the device's steps and the wall

// Some work that takes long beside everything around it.
constexpr const char* kProbe = R"(graph "g"
  %x = input f32[1048576] "x"
  %a = exp %x
  %b = sin %a
  %c = exp %b
  %y = sin %c
  return %y "y")";

double now_us(Clock clock) {
  timespec now{};
  ::clock_gettime(clock == Clock::processor ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &now);
  return double(now.tv_sec) * 1e6 + double(now.tv_nsec) / 1e3;
}

// How many runs of the shortest work make a sample that is long enough for the clock.
Result<int64_t> inner_runs(const std::vector<Runnable*>& works, Clock clock) {
  if (clock == Clock::device) return 1;
  double best = kSampleUs;
  for (int i = 0; i < 5; ++i)
    for (Runnable* work : works) {
      FRL_LET(const double us, time_once_us(*work, clock, 2));
      best = std::min(best, us);
    }
  return std::clamp<int64_t>(int64_t(kSampleUs / std::max(best, 0.01)), 1, kMostInner);
}

}  // namespace

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

Result<Runnable> make_runnable(const Graph& graph, const CompileContext& context) {
  Runnable out;
  FRL_LET(out.executable, compile_graph(graph, context));
  FRL_LET(out.context, out.executable->make_context());
  const Graph& made = out.executable->graph();
  for (ValueId id : made.inputs())
    out.inputs.push_back(random_tensor(made.type(id), out.inputs.size() + 1));
  for (const Output& output : made.outputs()) out.outputs.emplace_back(made.type(output.value));
  for (const Tensor& tensor : out.inputs) out.from.push_back(tensor.bytes().data());
  for (Tensor& tensor : out.outputs) out.to.push_back(tensor.mutable_data());
  FRL_TRY(out.run());
  return out;
}

CompileContext for_target(const CompileContext& all, size_t target) {
  CompileContext out = all;
  out.targets = {all.targets[target]}, out.entries = {all.entries[target]};
  out.devices = {all.devices[target]}, out.lock = nullptr;
  return out;
}

Result<Clock> clock_of(const CompileContext& context, Clock usual) {
  FRL_LET(const Graph graph, parse_graph(kProbe));
  FRL_LET(Runnable work, make_runnable(graph, context));
  FRL_LET(const double wall, time_once_us(work, Clock::wall, 1));
  FRL_LET(const double own, time_once_us(work, Clock::device, 1));
  const bool agree = own <= 0 || std::max(own / wall, wall / own) <= kAgrees;
  return agree ? usual : Clock::device;
}

Result<double> time_once_us(Runnable& work, Clock clock, int64_t inner) {
  if (clock == Clock::device) {
    RunOptions timed;
    timed.time_steps = true;
    FRL_TRY(work.run(timed));
    double ns = 0;
    for (const StepTime& step : work.context->step_times()) ns += double(step.ns);
    return ns / 1e3;
  }
  const double start = now_us(clock);
  for (int64_t i = 0; i < inner; ++i) FRL_TRY(work.run());
  return (now_us(clock) - start) / double(inner);
}

Result<std::vector<double>> time_in_turn_us(const std::vector<Runnable*>& works, Clock clock,
                                            int64_t samples) {
  FRL_LET(const int64_t inner, inner_runs(works, clock));
  if (clock == Clock::device) samples = 1;  // the same each time
  std::vector<std::vector<double>> times(works.size());
  for (int64_t s = 0; s < samples; ++s)
    for (size_t k = 0; k < works.size(); ++k) {
      const size_t w = s % 2 ? works.size() - 1 - k : k;
      if (clock != Clock::device) FRL_TRY(works[w]->run());  // its own memory comes into the caches
      FRL_LET(const double us, time_once_us(*works[w], clock, inner));
      times[w].push_back(us);
    }
  std::vector<double> out;
  for (auto& each : times) out.push_back(median(std::move(each)));
  return out;
}

}  // namespace ferrule::cli
