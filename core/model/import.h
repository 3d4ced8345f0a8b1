// Import: a parsed model and exact input shapes become a graph of the core's ops.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/model/model.h"

namespace ferrule {

struct ImportLimits {
  int64_t n_nodes = 1 << 20;                  // of the model, after inlining and unrolling
  int64_t n_trips = 256;                      // that an unrolled loop may have
  int64_t value_elements = int64_t(1) << 22;  // of one tensor that is evaluated to know a shape
  int64_t made_bytes = int64_t(1) << 30;      // of all literals and parameters that are computed
};

struct ImportRequest {
  // The exact shape of each input; one whose shape the model fixes may be left out, and one with a
  // default is an input only if it is here.
  std::map<std::string, Shape> shapes;
  // Elements of inputs that determine shapes; the graph holds for these only.
  std::map<std::string, Tensor> values;
  // Initialisers of the main graph that were set anew, in the model's type and shape.
  std::map<std::string, Tensor> parameters;
  // Inputs that are state leaves, each with the output that is its next value.
  std::map<std::string, std::string> states;
  std::vector<std::string> outputs;  // wanted ones, in this order; empty: all
  std::set<std::string> droppable;   // outputs that may come back as absent
  ImportLimits limits;
};

struct Imported {
  Graph graph;  // usable only if wanted_values is empty
  // Inputs whose elements the import needs: ask again with these in `values`.
  std::vector<std::string> wanted_values;
  // Parameters whose elements the graph's structure or literals depend on.
  std::vector<std::string> read_parameters;
};

// Initialisers become parameters (those of at most 64 bytes that are integers or a lone number:
// literals), borrowed from the file; integers that are computed from shapes become literals.
//   errors  unsupported, with everything that is not supported in the whole model, or with the node
//           whose shape depends on data; invalid_argument with the node's name, op and opset
Result<Imported> import_model(const Model& model, const ImportRequest& request);

}  // namespace ferrule
