// Inputs of a model from the command line, and a look at its results.
#pragma once

#include "tools/ferrule/command.h"

namespace ferrule::cli {

// Options of every command that runs a model.
std::span<const OptionRow> input_options();

// --input NAME=FILE.npy, --random-inputs SEED (integers that are indices within what they index)
// with --shape NAME=1,2,3 for extents that the model leaves open, --state IN=OUT.
//   errors  also a --shape that has no effect, and a name given twice
struct ModelCall {
  std::shared_ptr<Session> session;
  NamedTensors inputs;
};
Result<ModelCall> open_call(const Arguments& arguments);

// Floats uniform in -1 .. 1, integers in 0 .. n_places - 1 (0 and 1: most that are no indices are
// masks), bools even; the same for the same seed everywhere.
Tensor random_tensor(const TensorType& type, uint64_t seed, int64_t n_places = 2);

// "f32[1,3]  max 0.98 at [0,2]  mean 0.1  [0.1, -0.78, 0.98]": one line; elements of small ones.
std::string summary(const Tensor& tensor);

}  // namespace ferrule::cli
