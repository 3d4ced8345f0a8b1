#include "tests/property/property.h"

#include "core/base/text.h"
#include "tests/property/on_device.h"

namespace ferrule::property {
namespace {

void count_graph(const Grown& grown, Tally* tally) {
  ++tally->graphs;
  for (OpId op : grown.ops) ++tally->ops[op];
}

std::string pass_failure(uint64_t seed, const Grown& grown, const Setting& setting,
                         const Passes& passes) {
  const Fails fails = [&](const Sample& sample) {
    return check_passes(sample, setting, passes, nullptr).fault;
  };
  const Sample small = shrink(grown.sample, fails);
  return case_text(cat("seed ", seed), small, fails(small), setting.text());
}

// Devices sum in an order of their own: no sum may overflow on its way. They may also multiply
// pads.
Result<Sample> for_devices(const Sample& sample) {
  Change change;
  change.most = 0x1p12;
  for (const Node& node : sample.graph.nodes())
    for (const OpId op : {FRL_OP_conv, FRL_OP_conv_bias_act, FRL_OP_conv_transpose})
      change.finite |= node.op == op;
  return rebuild(sample, change);
}

std::string device_failure(uint64_t seed, const Sample& sample, Bench& bench,
                           const FuseOptions& options) {
  const Fails fails = [&](const Sample& each) {
    return bench.check(each, options, seed, nullptr).fault;
  };
  const Sample small = shrink(sample, fails, 600);
  return case_text(cat("seed ", seed, " on devices"), small, fails(small), options_text(options));
}

}  // namespace

Report run_properties(const Run& run) {
  Report out;
  std::unique_ptr<Bench> bench = run.devices ? std::make_unique<Bench>() : nullptr;
  if (bench && !bench->status().ok()) out.failures.push_back(bench->status().message());
  for (size_t i = 0; i < run.graphs && out.failures.size() < run.most_failures; ++i) {
    const uint64_t seed = run.seed + i;
    const Grown grown = grow(seed);
    count_graph(grown, &out.tally);
    Chance chance(seed ^ 0x5e77);
    const Setting setting = draw_setting(chance, grown.claims);
    const Finding finding = check_passes(grown.sample, setting, run.passes, &out.tally);
    out.tally.unusable += !finding.usable;
    if (!finding.fault.empty())
      out.failures.push_back(pass_failure(seed, grown, setting, run.passes));
    if (!bench || !finding.usable) continue;
    const FuseOptions options = draw_options(chance);
    const auto sample = for_devices(grown.sample);
    if (sample.ok() && !bench->check(*sample, options, seed, &out.tally).fault.empty())
      out.failures.push_back(device_failure(seed, *sample, *bench, options));
  }
  return out;
}

std::vector<std::string> idle_passes(const Tally& tally) {
  std::vector<std::string> out;
  for (const Pass* pass : all_passes()) {
    const auto it = tally.changed.find(pass->name);
    if (it == tally.changed.end() || it->second == 0) out.push_back(pass->name);
  }
  return out;
}

}  // namespace ferrule::property
