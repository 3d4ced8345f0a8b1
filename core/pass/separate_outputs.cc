// Every output becomes a value that a kernel makes and that no other output shares: a leaf, a view
// of one, or a value that is an output already gets an identity node.
#include <set>

#include "core/cost/estimate.h"
#include "core/pass/pass.h"

namespace ferrule {
namespace {

ValueId storage_of(const Graph& graph, ValueId id) {
  for (const Node* maker = graph.maker(id); maker && is_view(*maker); maker = graph.maker(id))
    id = maker->operands[0];
  return id;
}

Result<bool> run(Graph& graph, PassContext&) {
  std::set<ValueId> taken;
  bool changed = false;
  for (Output& output : graph.outputs()) {
    if (!graph.shape(output.value).is_exact()) continue;  // cut to size after the run anyway
    const ValueId storage = storage_of(graph, output.value);
    if (graph.maker(storage) && taken.insert(storage).second) continue;
    const Node* maker = graph.maker(output.value);
    graph.set_sources(maker ? maker->sources : std::vector<SourceId>());
    FRL_LET(const ValueId copy, graph.emit(FRL_OP_identity, {output.value}));
    output.value = copy;
    taken.insert(copy);
    changed = true;
  }
  return changed;
}

}  // namespace

extern const Pass separate_outputs = {
    .name = "separate_outputs",
    .doc = "each output has memory of its own",
    .run = run,
    .mandatory = true,
};

}  // namespace ferrule
