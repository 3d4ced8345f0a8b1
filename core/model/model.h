// Model: one parsed model file. What it wants, what it gives, and its parts for the importer.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/model/wire.h"
#include "core/op/tensor.h"

namespace ferrule {

struct ModelDim {
  int64_t extent = -1;  // -1: not fixed by the model
  std::string symbol;   // its name for such an extent, if it has one
};

// An input or output of a model, as the model declares it.
struct ModelValue {
  std::string name;
  Type type = Type::none;            // none: something that is not a tensor of a supported type
  std::string type_text, dims_text;  // as the model says it
  bool has_shape = false;
  std::vector<ModelDim> dims;
  bool has_default = false;  // an input that may be left out: an initialiser stands in for it
};

// A cheap handle; copies share the parsed file, its mapping and the tensors read from it.
//   thread  any
class Model {
 public:
  // Maps and parses a file; external data is looked for beside it.
  //   errors  not_found, invalid_argument (with the byte), unsupported, out_of_limits
  static Result<Model> load(const std::string& path);
  // The same for bytes that `owner` keeps alive (null: the caller does, as long as any tensor
  // lives).
  static Result<Model> parse(Bytes bytes, std::shared_ptr<const void> owner,
                             const std::string& folder, const onnx::WireLimits& limits = {});

  const std::vector<ModelValue>& inputs() const;
  const std::vector<ModelValue>& outputs() const;
  int64_t ir_version() const { return proto().ir_version; }
  int64_t opset() const;  // of the default domain; 0 if it is not imported
  std::string producer() const;
  std::vector<std::pair<std::string, std::string>> metadata() const;

  const onnx::ModelProto& proto() const;
  // The elements of a tensor of this model's proto(); read once, then shared.
  Result<Tensor> tensor(const onnx::TensorProto& tensor) const;
  Result<Tensor> tensor(const onnx::SparseProto& tensor) const;

 private:
  struct Parsed;
  std::shared_ptr<Parsed> parsed_;
};

// One tensor in a file of its own (test_data_set_0/input_0.pb).
//   errors  unsupported, with the type's name, for element types that the core has not and for
//           sequences and optionals
Result<Tensor> load_tensor(const std::string& path);
Result<Tensor> parse_tensor(Bytes bytes, std::shared_ptr<const void> owner);

}  // namespace ferrule
