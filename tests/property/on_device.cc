#include "tests/property/on_device.h"

#include "core/base/text.h"
#include "tests/property/chance.h"

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
  for (const OutputPlan& output : executable->plan().outputs) {
    const bool in_place = output.place.kind == ferrule::Place::Kind::output;
    results.emplace_back(in_place ? Tensor(output.type) : Tensor());
    targets.push_back(in_place ? results.back().mutable_data() : nullptr);
  }
  FRL_TRY(run->run(sources, targets));
  for (size_t i = 0; i < results.size(); ++i)
    if (results[i].empty()) {
      FRL_LET(results[i], run->output(i));
    }
  return results;
}

// Without some claims of the first target; what it lacks then is run by another one, or as its
// body.
CompileContext with_fewer_claims(CompileContext context, Chance& chance) {
  const double share = chance.unit();
  const bool is_alone = context.targets.size() == 1;
  auto row = std::make_shared<DeviceRow>(*context.targets[0].row);
  std::erase_if(row->claims, [&](const Claim& claim) {
    const OpRow* op = find_op(claim.op);
    const bool is_kind = op && (op->form == Form::closed || op->form == Form::open);
    const bool may_go = !is_alone || (is_kind && claim.op != FRL_OP_pointwise);
    return may_go && chance.with(share);
  });
  context.targets[0].row = row.get();
  context.calibrated.push_back(std::move(row));
  return context;
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

Finding Bench::check(const Sample& sample, const FuseOptions& options, uint64_t seed,
                     Tally* tally) {
  Chance chance(seed);
  for (const Place& place : places_) {
    CompileContext fused = place.context;
    fused.options = options;
    CompileContext plain = place.context;
    plain.options.fusion = false;
    const std::pair<const char*, CompileContext> forms[] = {
        {" fused: ", fused},
        {" unfused: ", plain},
        {" with fewer claims: ", with_fewer_claims(fused, chance)}};
    for (const auto& [name, context] : forms) {
      Finding finding = check(place, context, sample, tally);
      if (finding.fault.empty()) continue;
      finding.fault = cat(place.name, name, std::move(finding.fault));
      return finding;
    }
  }
  return {};
}

Finding Bench::check(const Place& place, CompileContext context, const Sample& sample,
                     Tally* tally) const {
  context.parameters = std::make_shared<ParameterStore>();
  context.kernels = std::make_shared<KernelCache>();
  Graph form;
  auto got = run_compiled(sample, context, &form);
  if (!got.ok())
    return got.status().code() == Code::no_device ? Finding{false, {}}
                                                  : Finding{true, got.status().message()};
  if (spoil) spoil(*got);
  return compare(sample, form, *got, place.row, true, tally);
}

}  // namespace ferrule::property
