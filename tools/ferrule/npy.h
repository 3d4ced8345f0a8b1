// NumPy .npy files.
#pragma once

#include <string>

#include "core/op/tensor.h"

namespace ferrule::cli {

// Versions 1 to 3, C order, little-endian numbers and bool.
//   errors  not_found, invalid_argument with what is wrong in the file, unsupported for other types
Result<Tensor> read_npy(const std::string& path);
Result<Tensor> parse_npy(Bytes bytes, std::shared_ptr<const void> owner);

// f16 is written as <f2, bf16 as f32 (NumPy has no such type).
Status write_npy(const std::string& path, const Tensor& tensor);

}  // namespace ferrule::cli
