// Running a model file on given tensors with the reference evaluation.
#pragma once

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "core/base/text.h"
#include "core/graph/graph.h"
#include "core/model/import.h"

namespace ferrule {

// Imports for the inputs' shapes, giving values as the importer asks for them.
inline Result<Imported> import_for(const Model& model, const std::map<std::string, Tensor>& inputs,
                                   ImportRequest request = {}) {
  for (const auto& [name, tensor] : inputs) request.shapes[name] = tensor.shape();
  for (size_t round = 0; round <= inputs.size(); ++round) {
    FRL_LET(Imported imported, import_model(model, request));
    if (imported.wanted_values.empty()) return imported;
    for (const std::string& name : imported.wanted_values) {
      const auto given = inputs.find(name);
      if (given == inputs.end())
        return Status(Code::internal, cat("wants a value of '", name, "', which is no input"));
      request.values[name] = given->second;
    }
  }
  return Status(Code::internal, "wants values for ever");
}

inline Result<std::vector<Tensor>> run_reference(const Model& model,
                                                 const std::map<std::string, Tensor>& inputs) {
  FRL_LET(const Imported imported, import_for(model, inputs));
  FRL_TRY(verify(imported.graph));
  std::vector<Tensor> bound;
  for (const ValueId id : imported.graph.inputs())
    bound.push_back(inputs.at(imported.graph.value(id).name));
  return evaluate(imported.graph, bound);
}

// "" if they are close enough, else where they differ first.
inline std::string difference(const Tensor& got, const Tensor& want, double rtol, double atol) {
  if (got.type() != want.type())
    return cat("want ", to_string(want.type()), ", got ", to_string(got.type()));
  for (int64_t i = 0; i < want.n_elements(); ++i) {
    const double g = got.at_f64(i), w = want.at_f64(i);
    const bool same = g == w || (std::isnan(g) && std::isnan(w)) ||
                      std::fabs(g - w) <= atol + rtol * std::fabs(w);
    if (!same) return cat("element ", i, ": want ", w, ", got ", g);
  }
  return "";
}

}  // namespace ferrule
