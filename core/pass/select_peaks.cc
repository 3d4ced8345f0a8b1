// Peaks alone, where the caller lets the spectrum go: an output that was marked droppable and that
// peaks are taken from is not read back. It keeps its place, empty.
#include "core/base/text.h"
#include "core/pass/pass.h"

namespace ferrule {
namespace {

// Whether peaks of the value, or of a view of it, are computed.
bool has_peaks(const Graph& graph, ValueId spectrum) {
  for (const Node& node : graph.nodes()) {
    if (node.op != FRL_OP_welch_peaks) continue;
    for (ValueId id = graph.resolve(node.operands[0]);;) {
      if (id == spectrum) return true;
      const Node* maker = graph.maker(id);
      if (!maker || !is_view(*maker)) break;
      id = graph.resolve(maker->operands[0]);
    }
  }
  return false;
}

Result<bool> run(Graph& graph, PassContext& context) {
  bool changed = false;
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const Output output = graph.outputs()[i];
    const Node* maker = graph.maker(graph.resolve(output.value));
    if (!output.droppable || output.absent || !maker || maker->op != FRL_OP_dft ||
        maker->device != context.number || !has_peaks(graph, graph.resolve(output.value)))
      continue;
    Profile before;
    before.host_output_bytes = graph.type(output.value).size_bytes();
    const GateAnswer gate = ask_gate(context.device.cost, before, Profile(), context.options.gate);
    Candidate candidate{"select_peaks", "output", cat("output ", output.name), gate.fuse};
    candidate.before_ps = gate.before_ps, candidate.after_ps = gate.after_ps;
    candidate.reason = unless_gains(gate, context.device.cost);
    context.report.candidates.push_back(std::move(candidate));
    if (!gate.fuse) continue;
    graph.set_sources(maker->sources), graph.set_device(context.number);
    const Tensor nothing(TensorType{graph.type(output.value).type, Shape{0}});
    FRL_LET(const ValueId empty, graph.emit(FRL_OP_identity, {graph.add_literal(nothing)}));
    graph.outputs()[i].value = empty, graph.outputs()[i].absent = true;
    changed = true;
  }
  return changed;
}

}  // namespace

extern const Pass select_peaks = {
    .name = "select_peaks",
    .doc = "SelectPeaksOnlyOutputs: a droppable spectrum whose peaks are taken is not read back",
    .when =
        [](const PassContext& c) {
          const std::string dft = unless_claimed(c, FRL_OP_dft);
          return dft.empty() ? unless_claimed(c, FRL_OP_welch_peaks) : dft;
        },
    .run = run,
};

}  // namespace ferrule
