#include "tests/property/on_device.h"

#include "core/base/text.h"

namespace ferrule::property {
namespace {

// Compiles and runs; the graph as it was fused comes back too.
Result<std::vector<Tensor>> run_compiled(const Sample& sample, const CompileContext& context,
                                         Graph* form) {
  FRL_LET(const auto executable, compile_graph(sample.graph, context));
  *form = executable->graph();
  FRL_LET(const auto run, executable->make_context());
  std::vector<const void*> sources;
  std::vector<void*> targets;
  std::vector<Tensor> results;
  for (const Tensor& tensor : sample.inputs) sources.push_back(tensor.bytes().data());
  for (const Output& output : form->outputs()) {
    const TensorType& type = form->type(output.value);
    results.emplace_back(type.shape.is_exact() ? Tensor(type) : Tensor());
    targets.push_back(type.shape.is_exact() ? results.back().mutable_data() : nullptr);
  }
  FRL_TRY(run->run(sources, targets));
  for (size_t i = 0; i < results.size(); ++i)
    if (results[i].empty()) {
      FRL_LET(results[i], run->output(i));
    }
  return results;
}

}  // namespace

Bench::Bench() {
  status_ = open("cpu", "");
  if (status_.ok()) status_ = open("tpu-sim", "cpu");
}

Status Bench::open(const std::string& order, const std::string& also) {
  Config config;
  FRL_TRY(config.set("targets.order", order, "test"));
  if (!also.empty()) FRL_TRY(config.set("targets.also", also, "test"));
  RuntimeOptions options;
  options.folders = {FRL_BUILD_DIR "/plugins", FRL_BUILD_DIR "/simulators"};
  options.check_plans = true;
  FRL_LET(runtimes_.emplace_back(), Runtime::open(config, options));
  FRL_LET(CompileContext context, make_compile_context(*runtimes_.back()));
  DeviceRow row = *context.targets[0].row;
  for (size_t i = 1; i < context.targets.size(); ++i)
    for (const Claim& claim : context.targets[i].row->claims) row.claims.push_back(claim);
  places_.push_back({order, std::move(context), std::move(row)});
  return {};
}

Finding Bench::check(const Sample& sample, const FuseOptions& options, Tally* tally) {
  FuseOptions plain;
  plain.fusion = false;
  for (const Place& place : places_)
    for (const FuseOptions& each : {options, plain}) {
      Finding finding = check(place, sample, each, tally);
      if (finding.fault.empty()) continue;
      finding.fault =
          cat(place.name, each.fusion ? " fused: " : " unfused: ", std::move(finding.fault));
      return finding;
    }
  return {};
}

Finding Bench::check(const Place& place, const Sample& sample, const FuseOptions& options,
                     Tally* tally) const {
  CompileContext context = place.context;
  context.options = options;
  context.parameters = std::make_shared<ParameterStore>();
  context.kernels = std::make_shared<KernelCache>();
  Graph form;
  auto got = run_compiled(sample, context, &form);
  if (!got.ok())
    return got.status().code() == Code::no_device ? Finding{false, {}}
                                                  : Finding{true, got.status().message()};
  if (spoil) spoil(*got);
  return compare(sample, form, *got, place.row, tally);
}

}  // namespace ferrule::property
