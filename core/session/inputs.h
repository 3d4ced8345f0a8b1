// What a caller hands in, held against what the model says.
#pragma once

#include "core/session/session.h"

namespace ferrule {

// States pair an input with an output; both must exist, their declared types must agree.
Status check_states(const Model& model, const std::map<std::string, std::string>& states);

//   errors  invalid_argument for a name that is no output
Status check_droppable(const Model& model, const std::set<std::string>& outputs);

// Every input that the model wants, no other; types, ranks and fixed extents as declared; one
// symbol, one extent.
//   errors  invalid_argument naming the input, what was wanted and what came
Status check_model_inputs(const Model& model, const std::map<std::string, std::string>& states,
                          const NamedTensors& inputs);

// Exact shapes of everything that the model is imported for: inputs as they are, states by their
// declaration with symbols as the inputs have them.
//   errors  invalid_argument for a state whose symbol no input has
Result<std::map<std::string, Shape>> model_shapes(const Model& model,
                                                  const std::map<std::string, std::string>& states,
                                                  const NamedTensors& inputs);

// Text that is equal for inputs that the same compiled form serves.
std::string form_key(const NamedTensors& inputs, const std::set<std::string>& value_inputs);

}  // namespace ferrule
