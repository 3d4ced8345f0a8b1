// property_long GRAPHS [SEED] [devices]: the properties over many graphs; failures come out as
// small text cases. Exit code 1 if there is one, or if a pass changed none of the graphs.
#include <cstdio>

#include "core/base/text.h"
#include "tests/property/property.h"

int main(int argc, char** argv) {
  using namespace ferrule;
  property::Run run;
  if (argc > 1) run.graphs = size_t(parse_int(argv[1]).value_or(100));
  if (argc > 2) run.seed = uint64_t(parse_int(argv[2]).value_or(1));
  run.devices = argc > 3;
  const property::Report report = property::run_properties(run);
  for (const std::string& failure : report.failures) std::printf("%s\n", failure.c_str());
  const property::Tally& tally = report.tally;
  const auto idle = property::idle_passes(tally);
  std::string passes;
  for (const Pass* pass : all_passes()) {
    const auto changed = tally.changed.find(pass->name), accepted = tally.accepted.find(pass->name);
    passes +=
        cat("  ", pass->name, " ", changed == tally.changed.end() ? 0 : changed->second,
            " graphs, ", accepted == tally.accepted.end() ? 0 : accepted->second, " regions\n");
  }
  std::printf("%s", passes.c_str());
  std::string unused;
  for (const OpRow& row : op_rows())
    if (!tally.ops.count(row.id)) unused += cat(" ", row.name);
  std::printf("ops in no graph:%s\n", unused.c_str());
  std::printf(
      "%zu graphs, %zu that cannot be evaluated, %zu failures; %llu of %llu elements judged\n",
      tally.graphs, tally.unusable, report.failures.size(),
      static_cast<unsigned long long>(tally.judged),
      static_cast<unsigned long long>(tally.elements));
  if (!idle.empty()) std::printf("passes that changed no graph: %s\n", join(idle).c_str());
  return !report.failures.empty() || !idle.empty();
}
