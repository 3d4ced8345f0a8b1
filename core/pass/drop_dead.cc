// What no output needs is gone: nodes and leaves; inputs and states stay.
#include "core/pass/pass.h"

namespace ferrule {

extern const Pass drop_dead = {
    .name = "drop_dead",
    .doc = "DeadCodeElimination: what no output needs is dropped",
    .run = [](Graph& graph, PassContext&) -> Result<bool> {
      const size_t nodes = graph.n_nodes(), values = graph.n_values();
      graph.compact();
      return graph.n_nodes() != nodes || graph.n_values() != values;
    },
    .mandatory = true,
};

}  // namespace ferrule
