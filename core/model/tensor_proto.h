// Tensors of the file format, as tensors of the core.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "core/model/wire.h"
#include "core/op/tensor.h"

namespace ferrule::onnx {

// The core's type for a TensorProto::data_type; Type::none if the core has none.
Type element_type(int64_t data_type);
// "f32", "string", "float8e4m3fn", "type 99": for messages.
std::string data_type_name(int64_t data_type);
// "tensor(f32)", "sequence(tensor(f32))"
std::string type_text(const TypeProto& type);
// "[2,n,?]"
std::string dims_text(const TypeProto& type);

// Files beside a model that hold its large tensors; each is mapped once.
//   thread  any
class ExternalFiles {
 public:
  explicit ExternalFiles(std::string folder) : folder_(std::move(folder)) {}

  // `location` is a relative path; it must not leave the folder, not even through a link.
  Result<MappedFile> open(const std::string& location);

 private:
  std::string folder_;
  std::mutex mutex_;
  std::map<std::string, MappedFile> files_;
};

// The elements of `proto`; those that are aligned in the file are borrowed from `owner`.
//   files   null: external data is refused
//   errors  unsupported for element types that the core has not, invalid_argument for a tensor
//   whose
//           dims and elements do not fit; both name the tensor
Result<Tensor> read_tensor(const TensorProto& proto, std::shared_ptr<const void> owner,
                           ExternalFiles* files);

// A sparse tensor with all its zeros (at most `max_bytes`).
Result<Tensor> read_sparse(const SparseProto& proto, std::shared_ptr<const void> owner,
                           ExternalFiles* files, int64_t max_bytes);

}  // namespace ferrule::onnx
