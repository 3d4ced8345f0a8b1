#include "core/session/inputs.h"

#include <algorithm>

#include "core/base/text.h"

namespace ferrule {
namespace {

Status wrong(std::string text) { return Status(Code::invalid_argument, std::move(text)); }

const ModelValue* find(const std::vector<ModelValue>& values, const std::string& name) {
  for (const ModelValue& value : values)
    if (value.name == name) return &value;
  return nullptr;
}

std::vector<std::string> names_of(const std::vector<ModelValue>& values) {
  std::vector<std::string> names;
  for (const ModelValue& value : values) names.push_back(value.name);
  return names;
}

std::string unknown(const char* what, const std::string& name,
                    const std::vector<ModelValue>& values) {
  const auto names = names_of(values);
  std::vector<std::string> needed;  // a network's initialisers may be inputs too, by the thousand
  for (const ModelValue& value : values)
    if (!value.has_default) needed.push_back(value.name);
  return cat(what, ": want one of ", join(needed), ", got ", name, near_text(name, names));
}

Status check_input(const ModelValue& want, const Tensor& got,
                   std::map<std::string, int64_t>& symbols) {
  const std::string what = cat("input ", want.name);
  if (want.type == Type::none)
    return wrong(cat(what, ": want ", want.type_text, ", which this runtime has no tensors of"));
  if (got.element() != want.type)
    return wrong(cat(what, ": want ", type_name(want.type), ", got ", to_string(got.type())));
  if (!want.has_shape) return {};
  if (got.shape().rank() != want.dims.size())
    return wrong(cat(what, ": want ", want.dims_text, ", got ", to_string(got.shape())));
  for (size_t axis = 0; axis < want.dims.size(); ++axis) {
    const ModelDim& dim = want.dims[axis];
    const int64_t extent = got.shape()[axis];
    if (dim.extent >= 0 && dim.extent != extent)
      return wrong(cat(what, ": want ", want.dims_text, ", got ", to_string(got.shape())));
    if (dim.symbol.empty()) continue;
    const auto [it, fresh] = symbols.emplace(dim.symbol, extent);
    if (!fresh && it->second != extent)
      return wrong(cat(what, ": want ", dim.symbol, " = ", it->second, " throughout, got ",
                       to_string(got.shape())));
  }
  return {};
}

}  // namespace

Status check_droppable(const Model& model, const std::set<std::string>& outputs) {
  for (const std::string& name : outputs)
    if (!find(model.outputs(), name)) return wrong(unknown("droppable", name, model.outputs()));
  return {};
}

Status check_states(const Model& model, const std::map<std::string, std::string>& states) {
  for (const auto& [input, output] : states) {
    if (!find(model.inputs(), input)) return wrong(unknown("state", input, model.inputs()));
    if (!find(model.outputs(), output)) return wrong(unknown("state", output, model.outputs()));
    const ModelValue& leaf = *find(model.inputs(), input);
    if (!leaf.has_shape || std::any_of(leaf.dims.begin(), leaf.dims.end(), [](const ModelDim& d) {
          return d.extent < 0 && d.symbol.empty();
        }))
      return wrong(cat("state ", input, ": want an input whose extents the model declares, got ",
                       leaf.dims_text));
  }
  return {};
}

Status check_model_inputs(const Model& model, const std::map<std::string, std::string>& states,
                          const NamedTensors& inputs) {
  for (const auto& [name, tensor] : inputs) {
    if (!find(model.inputs(), name)) return wrong(unknown("input", name, model.inputs()));
    if (tensor.empty()) return wrong(cat("input ", name, ": want a tensor, got an empty handle"));
  }
  std::map<std::string, int64_t> symbols;
  for (const ModelValue& want : model.inputs()) {
    const auto given = inputs.find(want.name);
    if (given != inputs.end()) {
      FRL_TRY(check_input(want, given->second, symbols));
      continue;
    }
    if (!want.has_default && !states.count(want.name))
      return wrong(cat("input ", want.name, ": want ", want.type_text,
                       want.has_shape ? want.dims_text : "", ", got nothing"));
  }
  return {};
}

Result<std::map<std::string, Shape>> model_shapes(const Model& model,
                                                  const std::map<std::string, std::string>& states,
                                                  const NamedTensors& inputs) {
  std::map<std::string, Shape> shapes;
  std::map<std::string, int64_t> symbols;
  for (const auto& [name, tensor] : inputs) {
    shapes[name] = tensor.shape();
    const ModelValue& value = *find(model.inputs(), name);
    for (size_t axis = 0; axis < value.dims.size(); ++axis)
      symbols[value.dims[axis].symbol] = tensor.shape()[axis];
  }
  for (const auto& [name, output] : states) {
    if (inputs.count(name)) continue;
    std::vector<int64_t> extents;
    for (const ModelDim& dim : find(model.inputs(), name)->dims) {
      const auto bound = symbols.find(dim.symbol);
      if (dim.extent < 0 && bound == symbols.end())
        return wrong(
            cat("state ", name, ": want an input that says how large ", dim.symbol, " is"));
      extents.push_back(dim.extent >= 0 ? dim.extent : bound->second);
    }
    FRL_LET(shapes[name], Shape::checked(extents));
  }
  return shapes;
}

std::string form_key(const NamedTensors& inputs, const std::set<std::string>& value_inputs) {
  std::string key;
  for (const auto& [name, tensor] : inputs) {
    key += cat(name, to_string(tensor.type()), ";");
    if (!value_inputs.count(name)) continue;
    const Bytes bytes = tensor.bytes();
    key.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return key;
}

}  // namespace ferrule
