// Cases that `ferrule verify` finds in folders.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/base/status.h"

namespace ferrule::cli {

struct CaseTensor {
  std::string name;  // empty: by position
  std::string file;  // absolute
  double rtol = 0, atol = 0;
};

// One run of a model, or (chunks set) one run for each row of a tensor with a state fed back.
struct Case {
  std::string name;   // the folder, as it was named
  std::string model;  // absolute
  std::vector<CaseTensor> inputs, outputs;
  // Streams only.
  CaseTensor chunks;
  std::vector<int64_t> chunk_shape;
  std::string state_input, state_output;
  CaseTensor final_state;
  struct Fixed {
    std::string name, type;
    std::vector<int64_t> shape;
    double value = 0;
  };
  std::vector<Fixed> fixed;
  bool is_stream() const { return !chunks.file.empty(); }
};

// manifest.json, stream.json, and ONNX test data (model.onnx beside test_data_set_*), searched
// below the folder in order of name. A file or folder that cannot be read is a case with a problem,
// not an end.
struct Found {
  Case a_case;
  Status problem;
};
std::vector<Found> find_cases(const std::string& folder, double rtol, double atol);

}  // namespace ferrule::cli
