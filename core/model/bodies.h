// Bodies of control nodes: graphs that see only their inputs, made from blocks that capture.
#pragma once

#include <vector>

#include "core/model/importer.h"

namespace ferrule {

// The outputs of a body as values; nothing if one is a sequence or an optional.
bool tensors_of(const std::vector<Entry>& entries, std::vector<Val>* out);

// Several blocks inside the same one, whose first inputs are `own` and the rest captured. Each
// becomes a body that gives `outputs` and has all their captures as inputs, in one order.
struct Bodies {
  std::vector<Body> bodies;
  std::vector<Val> captured;  // operands, behind the own ones
};
Result<Bodies> close_bodies(std::span<ImportBlock* const> blocks,
                            std::span<const std::vector<Val>> outputs,
                            const std::vector<TensorType>& own);

}  // namespace ferrule
