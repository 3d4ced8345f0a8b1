// bench: how long a model takes, and what its memory is; and the same beside other settings.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>

#include "core/base/text.h"
#include "tools/ferrule/compare.h"
#include "tools/ferrule/fusion_table.h"
#include "tools/ferrule/inputs.h"
#include "tools/ferrule/timing.h"

namespace ferrule::cli {
namespace {

using WallClock = std::chrono::steady_clock;
double ms_since(WallClock::time_point start) {
  return std::chrono::duration<double, std::milli>(WallClock::now() - start).count();
}

struct Prepared {
  std::shared_ptr<const Compiled> compiled;
  std::vector<Tensor> outputs;
  std::vector<const Tensor*> inputs;
  std::vector<void*> addresses;
};

Result<Prepared> prepare(ModelCall& call) {
  Prepared out;
  FRL_LET(out.compiled, call.session->compile(call.inputs));
  const Graph& graph = out.compiled->executable->graph();
  for (const std::string& name : out.compiled->inputs) {
    const auto found = call.inputs.find(name);
    out.inputs.push_back(found == call.inputs.end() ? nullptr : &found->second);
  }
  for (const Output& output : graph.outputs()) out.outputs.emplace_back(graph.type(output.value));
  for (Tensor& tensor : out.outputs) out.addresses.push_back(tensor.mutable_data());
  return out;
}

std::string regions_json(const Executable& executable, const std::vector<StepTime>& times) {
  const Graph& graph = executable.graph();
  std::string out = "[";
  for (const StepTime& time : times)
    out += cat(out.size() > 1 ? ",\n  " : "\n  ", "{\"kind\": \"",
               op_row(graph.node(time.node).op).name,
               "\", \"device\": ", json_quote(executable.report().targets[time.device]),
               ", \"us\": ", double(time.ns) / 1000, ", \"result\": \"",
               to_string(graph.type(graph.node(time.node).results[0])),
               "\", \"nodes\": ", json_quote(graph.source_text(graph.node(time.node))), "}");
  return out + "]";
}

void print_steps(const Executable& executable, std::vector<StepTime> times, size_t most) {
  const Graph& graph = executable.graph();
  std::sort(times.begin(), times.end(),
            [](const StepTime& a, const StepTime& b) { return a.ns > b.ns; });
  uint64_t total = 0;
  for (const StepTime& time : times) total += time.ns;
  for (size_t i = 0; i < std::min(most, times.size()); ++i)
    print(format(
        "  %9.1f us  %4.1f %%  %s  %s  %s\n", double(times[i].ns) / 1000,
        100.0 * double(times[i].ns) / double(std::max<uint64_t>(total, 1)),
        op_row(graph.node(times[i].node).op).name,
        to_string(graph.type(graph.node(times[i].node).results[0])).c_str(),
        printable(graph.source_text(graph.node(times[i].node)).substr(0, 80), false).c_str()));
}

uint64_t peak_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return uint64_t(usage.ru_maxrss) * 1024;
}

struct Measured {
  std::vector<double> times_ms;
  double first_ms = 0, load_ms = 0;
  std::vector<StepTime> steps;
  double best() const { return *std::min_element(times_ms.begin(), times_ms.end()); }
};

// Two runs to warm up, `repeat` timed ones, and one more that times its steps.
Status measure(Stream& stream, const Prepared& prepared, int64_t repeat, Measured& out) {
  constexpr int kWarm = 2;
  Progress progress;
  for (int64_t i = -kWarm; i < repeat; ++i) {
    progress.show(cat("run ", i + kWarm + 1, " of ", repeat + kWarm));
    const auto begin = WallClock::now();
    FRL_TRY(stream.run_into(*prepared.compiled, prepared.inputs, prepared.addresses));
    if (i == -kWarm) out.first_ms = ms_since(begin);
    if (i >= 0) out.times_ms.push_back(ms_since(begin));
  }
  progress.show("");
  RunOptions timed;
  timed.time_steps = true;
  FRL_TRY(stream.run_into(*prepared.compiled, prepared.inputs, prepared.addresses, timed));
  FRL_LET(const auto context, stream.context(*prepared.compiled));
  out.steps = context->step_times();
  return {};
}

void print_json(const Executable& executable, const Measured& m, uint64_t packed_bytes) {
  const Plan& plan = executable.plan();
  print(format(
      "{\"median_ms\": %.6f, \"best_ms\": %.6f, \"first_ms\": %.6f, \"load_ms\": %.3f, "
      "\"repeat\": %zu, \"planned_bytes\": %llu, \"live_bytes\": %llu, \"peak_bytes\": %llu, "
      "\"packed_bytes\": %llu, \"kernels\": %zu, \"regions\": %s}\n",
      median(m.times_ms), m.best(), m.first_ms, m.load_ms, m.times_ms.size(),
      static_cast<unsigned long long>(plan.planned_bytes()),
      static_cast<unsigned long long>(plan.live_bytes),
      static_cast<unsigned long long>(peak_bytes()), static_cast<unsigned long long>(packed_bytes),
      m.steps.size(), regions_json(executable, m.steps).c_str()));
}

void print_summary(const Executable& executable, const Measured& m, uint64_t packed_bytes) {
  const Plan& plan = executable.plan();
  print(format(
      "median %.4g ms, best %.4g ms over %zu runs; first run %.4g ms; load and compile %.4g ms\n",
      median(m.times_ms), m.best(), m.times_ms.size(), m.first_ms, m.load_ms));
  print(format(
      "arena %.2f MiB planned, %.2f MiB alive at once; packed parameters %.2f MiB; process peak "
      "%.1f MiB; %zu kernels\n",
      double(plan.planned_bytes()) / (1 << 20), double(plan.live_bytes) / (1 << 20),
      double(packed_bytes) / (1 << 20), double(peak_bytes()) / (1 << 20), m.steps.size()));
  print_steps(executable, m.steps, 20);
}

// One side of a comparison, ready to run.
struct Side {
  ModelCall call;
  Prepared prepared;
  std::unique_ptr<Stream> stream;
  std::vector<double> times_ms;

  Status run(bool timed) {
    const auto begin = WallClock::now();
    FRL_TRY(stream->run_into(*prepared.compiled, prepared.inputs, prepared.addresses));
    if (timed) times_ms.push_back(ms_since(begin));
    return {};
  }
  size_t kernels() const {
    const Graph& graph = prepared.compiled->executable->graph();
    return size_t(std::count_if(graph.nodes().begin(), graph.nodes().end(),
                                [](const Node& node) { return !is_view(node); }));
  }
};

Result<Side> open_side(const Arguments& arguments) {
  FRL_LET(ModelCall call, open_call(arguments));
  FRL_LET(Prepared prepared, prepare(call));
  auto stream = std::make_unique<Stream>(call.session);
  return Side{std::move(call), std::move(prepared), std::move(stream), {}};
}

// Both sides in turn, so that what the machine does beside them falls on both.
Result<int> run_against(const Arguments& arguments, int64_t repeat) {
  FRL_LET(Side own, open_side(arguments.without(kAgainst)));
  FRL_LET(Side against, open_side(arguments));
  for (int64_t i = -2; i < repeat; ++i) {
    FRL_TRY(own.run(i >= 0));
    FRL_TRY(against.run(i >= 0));
  }
  const Graph& graph = own.prepared.compiled->executable->graph();
  for (size_t i = 0; i < own.prepared.outputs.size(); ++i) {
    const Comparison found =
        compare(own.prepared.outputs[i], against.prepared.outputs[i], 1e-3, 1e-3);
    if (!found.equal)
      return Status(Code::internal, cat("output ", graph.outputs()[i].name,
                                        ": want the same from both sides, ", found.text));
  }
  const double mine = median(own.times_ms), theirs = median(against.times_ms);
  print(format(arguments.has("--json")
                   ? "{\"median_ms\": %.6f, \"against_ms\": %.6f, \"ratio\": %.4f, \"kernels\": "
                     "%zu, \"against_kernels\": %zu, \"pairs\": %zu}\n"
                   : "median %.4g ms, against %.4g ms: ratio %.3f; kernels %zu, against %zu; %zu "
                     "pairs\n",
               mine, theirs, theirs / mine, own.kernels(), against.kernels(), own.times_ms.size()));
  return kFine;
}

constexpr OptionRow kTableOptions[] = {
    {"--processor-time", nullptr,
     "of the fusion table: count what this process had of a processor, not the wall"},
    {"--only", "PART", "of the fusion table: passes or cases that hold this text"}};

constexpr OptionRow kAgainstOption = {kAgainst, "KEY=VALUE",
                                      "time it in turn with a run of this setting", true};

// Options of a model have no effect on the table, and the other way round.
Status check_kind(const Arguments& arguments) {
  const bool table = arguments.has("--fusion-table");
  std::vector<OptionRow> idle(std::begin(kTableOptions), std::end(kTableOptions));
  if (table) {
    idle.assign(input_options().begin(), input_options().end());
    idle.push_back(kAgainstOption);
  }
  for (const OptionRow& row : idle)
    if (arguments.has(row.name))
      return Status(Code::invalid_argument, cat(row.name, ": want it ",
                                                table ? "without --fusion-table, got both"
                                                      : "beside --fusion-table, got it alone"));
  return {};
}

Result<int> run(const Arguments& arguments) {
  FRL_TRY(check_kind(arguments));
  if (arguments.has("--fusion-table")) return run_fusion_table(arguments);
  if (!arguments.has("MODEL"))
    return Status(Code::invalid_argument, "bench: want MODEL or --fusion-table, got neither");
  FRL_LET(const int64_t repeat, arguments.integer("--repeat", 10, 1));
  Arguments with_inputs = arguments;
  if (!with_inputs.has("--random-inputs")) with_inputs.add("--random-inputs", "0");
  if (arguments.has(kAgainst)) return run_against(with_inputs, repeat);
  const auto start = WallClock::now();
  FRL_LET(ModelCall call, open_call(with_inputs));
  FRL_LET(const Prepared prepared, prepare(call));
  Stream stream(call.session);
  Measured measured;
  measured.load_ms = ms_since(start);
  FRL_TRY(measure(stream, prepared, repeat, measured));
  const auto print_result = arguments.has("--json") ? print_json : print_summary;
  print_result(*prepared.compiled->executable, measured,
               call.session->context().parameters->size_bytes());
  return kFine;
}

std::vector<OptionRow> options() {
  std::vector<OptionRow> out(input_options().begin(), input_options().end());
  for (OptionRow& row : out)
    if (row.required) row.required = false;
  out.push_back({"--repeat", "N", "timed runs, after two that warm up"});
  out.push_back({"--fusion-table", nullptr,
                 "time each fusion of the target, fused and not, beside what the gate predicts"});
  out.insert(out.end(), std::begin(kTableOptions), std::end(kTableOptions));
  out.push_back(kAgainstOption);
  return out;
}

}  // namespace

extern const Command bench_command = {"bench", "time a model", options(), run};

}  // namespace ferrule::cli
