// The runner: it alone times, disables, verifies and reports. And the pipelines that it runs.
#include <chrono>

#include "core/base/text.h"
#include "core/pass/match.h"

namespace ferrule {

#define PASS(group, name) extern const Pass name;
#include "core/pass/passes.def"
#undef PASS

namespace {

enum class Group { canonical, device };

struct Row {
  Group group;
  const Pass* pass;
};
constexpr Group canonical = Group::canonical, device = Group::device;
const Row kPasses[] = {
#define PASS(group, name) {group, &name},
#include "core/pass/passes.def"
#undef PASS
};

std::string why_off(const Pass& pass, const PassContext& context) {
  if (context.options.passes_off.count(pass.name)) return "switched off by passes.off";
  if (pass.claim) return unless_claimed(context, pass.claim);
  return pass.when ? pass.when(context) : std::string();
}

Status run_passes(Graph& graph, Group group, PassContext& context) {
  for (const Row& row : kPasses) {
    if (row.group != group) continue;
    PassRecord record{row.pass->name, true, why_off(*row.pass, context)};
    record.on = record.why_off.empty();
    record.nodes_before = record.nodes_after = graph.n_nodes();
    if (record.on) {
      const auto start = std::chrono::steady_clock::now();
      FRL_LET(record.changed, row.pass->run
                                  ? row.pass->run(graph, context)
                                  : fuse_rows(graph, context, row.pass->name, row.pass->rows));
      graph.set_sources({}), graph.set_device(-1);
      // A rejected candidate leaves its region behind, without users.
      if (record.changed || graph.n_nodes() > record.nodes_before) graph.compact();
      record.time_ns = std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count();
      record.nodes_after = graph.n_nodes();
      if (record.changed && context.options.verify)
        if (Status s = verify(graph); !s.ok())
          return Status(Code::internal,
                        cat("pass ", row.pass->name, " broke the graph: ", s.message()));
    }
    context.report.passes.push_back(std::move(record));
  }
  return {};
}

}  // namespace

Status canonicalise(Graph& graph, const FuseOptions& options, FuseReport& report,
                    std::set<std::string>* read_parameters, const DeviceRow* first) {
  static const DeviceRow kNone;
  static const std::function<Refusal(const Block&)> kNoRefusal;
  PassContext context{first ? *first : kNone, first ? 0 : -1, options, kNoRefusal, report,
                      read_parameters};
  graph.compact();
  return run_passes(graph, Group::canonical, context);
}

Result<FuseReport> fuse(Graph& graph, const DeviceRow& row, int32_t number,
                        const FuseOptions& options,
                        const std::function<Refusal(const Block&)>& refuse,
                        const Estimate& estimate) {
  FuseReport report;
  PassContext context{row, number, options, refuse, report, nullptr, &estimate};
  FRL_TRY(run_passes(graph, Group::device, context));
  return report;
}

std::vector<const Pass*> all_passes() {
  std::vector<const Pass*> out;
  for (const Row& row : kPasses) out.push_back(row.pass);
  return out;
}

std::vector<std::string> pipeline(const DeviceRow& row, const FuseOptions& options) {
  static const std::function<Refusal(const Block&)> kNoRefusal;
  FuseReport report;
  const PassContext context{row, 0, options, kNoRefusal, report};
  std::vector<std::string> names;
  for (const Row& p : kPasses)
    if (why_off(*p.pass, context).empty()) names.push_back(p.pass->name);
  return names;
}

}  // namespace ferrule
