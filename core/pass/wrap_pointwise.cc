// What no fusion took: a lone node is asked for as its op, then as a one-node region of the open
// kind.
#include "core/pass/region.h"

namespace ferrule {

extern const Pass wrap_pointwise = {
    .name = "wrap_pointwise",
    .doc = "pointwise nodes that are not claimed as ops become one-node regions",
    .when =
        [](const PassContext& c) {
          return find_claim(c.device, FRL_OP_pointwise) ? std::string()
                                                        : "the device does not claim pointwise";
        },
    .run = [](Graph& graph, PassContext& context) -> Result<bool> {
      bool changed = false;
      const size_t n_nodes = graph.n_nodes();
      for (size_t i = 0; i < n_nodes; ++i) {
        const NodeId id{uint32_t(i)};
        const OpRow* row = find_op(graph.node(id).op);
        if (!row || row->form != Form::pointwise || graph.node(id).device != context.number ||
            find_claim(context.device, row->id))
          continue;
        const ValueId result = graph.node(id).results[0];
        FRL_LET(const NodeId region,
                emit_region(graph, FRL_OP_pointwise, std::span(&id, 1), std::span(&result, 1)));
        graph.replace(result, graph.node(region).results[0]);
        changed = true;
      }
      return changed;
    },
    .mandatory = true,
};

}  // namespace ferrule
