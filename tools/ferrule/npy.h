// NumPy .npy files.
#pragma once

#include <string>

#include "core/op/tensor.h"

namespace ferrule::cli {

// Versions 1 to 3, C order, little-endian numbers and bool. bf16 is V2, two raw bytes an element,
// as NumPy with a bfloat16 type writes it.
//   errors  not_found, invalid_argument with what is wrong in the file, unsupported for other types
Result<Tensor> read_npy(const std::string& path);
Result<Tensor> parse_npy(Bytes bytes, std::shared_ptr<const void> owner);

// What read_npy() reads back with the same type and bits.
//   errors  not_found with the system's reason
Status write_npy(const std::string& path, const Tensor& tensor);

}  // namespace ferrule::cli
