// What the device does not claim as a whole becomes the nodes that it stands for.
#include "core/pass/regions.h"

namespace ferrule {
namespace {

// Inlines the nodes that `picks` and that no claim row admits.
Result<bool> inline_unclaimed(Graph& graph, PassContext& context, bool (*picks)(const Node&)) {
  bool changed = false;
  const size_t n_nodes = graph.n_nodes();
  for (size_t i = 0; i < n_nodes; ++i) {
    const Node& node = graph.node(NodeId(i));
    if (node.device != context.number || !picks(node)) continue;
    if (match_claims(context.device, graph, node, context.options.gate.compute).claim) continue;
    FRL_TRY(inline_node(graph, NodeId(i)));
    changed = true;
  }
  return changed;
}

bool is_closed(const Node& node) {
  const OpRow* row = find_op(node.op);
  return row && row->form == Form::closed;
}
bool is_open(const Node& node) {
  const OpRow* row = find_op(node.op);
  return !row || (row->form == Form::open && node.op != FRL_OP_pointwise);
}
bool is_pointwise(const Node& node) { return node.op == FRL_OP_pointwise; }

}  // namespace

extern const Pass decompose_kinds = {
    .name = "decompose_kinds",
    .doc = "kinds that the device does not claim become primitive nodes",
    .run = [](Graph& g, PassContext& c) { return inline_unclaimed(g, c, is_closed); },
    .mandatory = true,
};

extern const Pass decompose_regions = {
    .name = "decompose_regions",
    .doc = "DecomposeFusionRegions: open regions that the device does not claim become their nodes",
    .when =
        [](const PassContext& c) {
          const bool both =
              find_claim(c.device, FRL_OP_transform) && find_claim(c.device, FRL_OP_batch);
          return both ? std::string("the device claims transform and batch") : std::string();
        },
    .run = [](Graph& g, PassContext& c) { return inline_unclaimed(g, c, is_open); },
    .mandatory = true,
};

extern const Pass unfuse_pointwise = {
    .name = "unfuse_pointwise",
    .doc =
        "UnfuseElementwiseRegions: pointwise regions that the device does not claim become nodes",
    .when =
        [](const PassContext& c) {
          const bool kept = c.options.pointwise && find_claim(c.device, FRL_OP_pointwise);
          return kept ? std::string("the device claims pointwise") : std::string();
        },
    .run = [](Graph& g, PassContext& c) { return inline_unclaimed(g, c, is_pointwise); },
    .mandatory = true,
};

}  // namespace ferrule
