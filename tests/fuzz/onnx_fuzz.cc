// Fuzz target: any bytes as a model file, parsed and imported within small limits.
#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/model/import.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ferrule::Bytes bytes(reinterpret_cast<const std::byte*>(data), size);
  const auto tensor = ferrule::parse_tensor(bytes, nullptr);
  (void)tensor;
  const auto model =
      ferrule::Model::parse(bytes, nullptr, "/nonexistent", {.depth = 64, .n_messages = 100'000});
  if (!model.ok()) return 0;
  ferrule::ImportRequest request;
  request.limits = {
      .n_nodes = 2000, .n_trips = 8, .value_elements = 1 << 14, .made_bytes = 1 << 22};
  for (const ferrule::ModelValue& input : model->inputs()) {
    if (input.has_default || !input.has_shape) continue;
    std::vector<int64_t> extents;
    for (const ferrule::ModelDim& dim : input.dims)
      extents.push_back(dim.extent < 0 ? 2 : dim.extent);
    const auto shape = ferrule::Shape::checked(extents);
    if (shape.ok()) request.shapes[input.name] = *shape;
  }
  const auto imported = ferrule::import_model(*model, request);
  if (imported.ok() && imported->wanted_values.empty() && !ferrule::verify(imported->graph).ok())
    __builtin_trap();
  return 0;
}
