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
// below the folders in order of name; what lies below two of them is found once. A file or folder
// that cannot be read is a case with a problem, not an end.
struct Found {
  Case a_case;
  Status problem;
};
//   errors  not_found for a folder that is none or has no cases of its own
Result<std::vector<Found>> find_cases(const std::vector<std::string>& folders);

// The folder of a case or of the command line, without . and .. and a slash at its end.
std::string plain_path(const std::string& folder);

}  // namespace ferrule::cli
