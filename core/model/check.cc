// What a model says twice or against itself: names, attributes, numbers of inputs, declared types.
#include <algorithm>
#include <unordered_set>

#include "core/base/text.h"
#include "core/model/importer.h"
#include "core/model/tensor_proto.h"

namespace ferrule {
namespace {

using onnx::TypeKind;
using onnx::TypeProto;

Status wrong(const std::string& what) { return Status(Code::invalid_argument, what); }

bool shape_fits(const TypeProto& declared, const Shape& shape) {
  const auto fits = [](const onnx::DimProto& want, const Dim& got) {
    return !want.has_value || (got.symbol ? want.value <= got.extent : want.value == got.extent);
  };
  return !declared.has_shape || std::ranges::equal(declared.dims, shape.dims(), fits);
}

bool element_fits(const TypeProto& declared, Type type) {
  return declared.element == 0 || onnx::element_type(declared.element) == type;
}

bool entry_fits(const TypeProto& declared, const Entry& entry, Extents extents) {
  const auto inner = [&](const Entry& e) {
    return !declared.inner || entry_fits(*declared.inner, e, extents);
  };
  if (declared.kind == TypeKind::none) return true;
  if (declared.kind == TypeKind::optional) return entry.kind == Entry::Kind::absent || inner(entry);
  if (declared.kind == TypeKind::sequence)
    return entry.kind == Entry::Kind::sequence && std::ranges::all_of(*entry.items, inner);
  return entry.kind == Entry::Kind::tensor && declared.kind != TypeKind::map &&
         element_fits(declared, entry.value.element()) &&
         (extents == Extents::open || shape_fits(declared, entry.value.shape()));
}

std::string declared_text(const TypeProto& type) {
  if (type.kind != TypeKind::tensor) return onnx::type_text(type);
  return cat(type.element ? onnx::data_type_name(type.element) : "any type",
             type.has_shape ? onnx::dims_text(type) : "");
}

Status check_extents(std::string_view name, const TypeProto& type) {
  for (const onnx::DimProto& dim : type.dims)
    if (dim.value < -1)
      return wrong(cat("value '", name, "': want extents of 0 or more, got ", dim.value));
  return type.inner ? check_extents(name, *type.inner) : Status();
}

// Where the values of one graph or function come from; each from one place.
class Origins {
 public:
  Status add(std::string_view name, const char* what, const TypeProto* type = nullptr) {
    const auto [found, is_new] = origins_.emplace(name, Origin{what, type});
    if (is_new) return {};
    return wrong(
        cat("value '", name, "': want one origin, got ", found->second.what, " and ", what));
  }
  Status add(std::span<const onnx::NodeProto> nodes) {
    for (const onnx::NodeProto& node : nodes)
      for (const std::string_view output : node.outputs)
        if (!output.empty()) FRL_TRY(add(output, "a node's result"));
    return {};
  }
  // It may have the name of an input, whose default it is then.
  Status add_initializer(std::string_view name, int64_t data_type, std::span<const int64_t> dims) {
    if (name.empty()) return wrong("initializer: want a name, got an empty one");
    const std::string where = cat("initializer '", name, "'");
    FRL_LET(const Shape shape, Shape::checked(dims).within(where));
    const auto input = origins_.find(name);
    if (input == origins_.end() || !input->second.type) return add(name, "an initializer");
    const TypeProto& declared = *input->second.type;
    input->second = {"an initializer", nullptr};
    if (element_fits(declared, onnx::element_type(data_type)) && shape_fits(declared, shape))
      return {};
    return wrong(cat(where, ": want ", declared_text(declared), " as its input is declared, got ",
                     onnx::data_type_name(data_type), to_string(shape)));
  }

 private:
  struct Origin {
    const char* what;
    const TypeProto* type;  // of an input without a default
  };
  std::unordered_map<std::string_view, Origin> origins_;
};

// "1..3>2": one to three inputs and at most two results; "1..>..": any number from one on, any.
// "1>1 13:1..2>1": the second from opset 13 on.
Status check_arity(const onnx::NodeProto& node, const ImportRow& row, int64_t opset) {
  std::string in, out;
  for (const std::string& each : split(row.arity, ' ')) {
    const size_t colon = each.find(':'), cut = each.find('>');
    if (colon != std::string::npos && *parse_int(each.substr(0, colon)) > opset) break;
    in = each.substr(colon + 1, cut - colon - 1), out = each.substr(cut + 1);
  }
  const auto dots = in.find("..");
  const auto count = [](const std::string& text) { return parse_int(text).value_or(INT32_MAX); };
  const int64_t least = count(in.substr(0, dots)),
                most = count(dots == std::string::npos ? in : in.substr(dots + 2));
  const auto n_in = int64_t(node.inputs.size()), n_out = int64_t(node.outputs.size());
  if (n_in < least || n_in > most) return wrong(cat("inputs: want ", in, ", got ", n_in));
  if (n_out > count(out)) return wrong(cat("outputs: want at most ", out, ", got ", n_out));
  return {};
}

}  // namespace

Result<Shape> input_shape(const onnx::ValueProto& input, const Shape* given) {
  const std::string where = cat("input '", input.name, "'");
  if (given && shape_fits(input.type, *given) && given->is_exact()) return *given;
  Ints extents;
  bool fixed = !given && input.type.has_shape;
  for (const onnx::DimProto& dim : input.type.dims)
    fixed &= dim.has_value, extents.push_back(dim.value);
  if (fixed) return Shape::checked(extents).within(where);
  return wrong(cat(where, ": want ", given ? "" : "a shape for ", onnx::dims_text(input.type),
                   ", got ", given ? to_string(*given) : "none"));
}

std::string entry_text(const Entry& entry) {
  if (entry.kind == Entry::Kind::absent) return "nothing";
  return entry.kind == Entry::Kind::tensor ? to_string(entry.value.type()) : "a sequence";
}

Status check_declared(const char* what, const onnx::ValueProto& declared, const Entry& entry,
                      Extents extents) {
  if (entry_fits(declared.type, entry, extents)) return {};
  return wrong(cat(what, " '", declared.name, "': want ", declared_text(declared.type),
                   " as declared, got ", entry_text(entry)));
}

Status check_opsets(const std::vector<onnx::OpsetProto>& opsets) {
  for (const onnx::OpsetProto& each : opsets)
    if (const int64_t first = opset_of(opsets, each.domain); first != each.version)
      return wrong(cat("opset of '", each.domain, "': want one version, got ", first, " and ",
                       each.version));
  return {};
}

Status check_graph(const onnx::GraphProto& graph) {
  Origins origins;
  for (const auto* values : {&graph.inputs, &graph.outputs, &graph.values})
    for (const onnx::ValueProto& value : *values) FRL_TRY(check_extents(value.name, value.type));
  for (const onnx::ValueProto& input : graph.inputs)
    FRL_TRY(origins.add(input.name, "an input", &input.type));
  for (const onnx::TensorProto& tensor : graph.initializers)
    FRL_TRY(origins.add_initializer(tensor.name, tensor.data_type, tensor.dims));
  for (const onnx::SparseProto& tensor : graph.sparse_initializers)
    FRL_TRY(origins.add_initializer(tensor.values.name, tensor.values.data_type, tensor.dims));
  return origins.add(graph.nodes);
}

Status check_function(const onnx::FunctionProto& function) {
  FRL_TRY(check_opsets(function.opsets));
  Origins origins;
  for (const std::string_view input : function.inputs)
    FRL_TRY(origins.add(input, "a function's input"));
  return origins.add(function.nodes).within(cat("function '", function.name, "'"));
}

Status check_node(const onnx::NodeProto& node, const ImportRow* row, int64_t opset) {
  std::unordered_set<std::string_view> names;
  for (const onnx::AttributeProto& attribute : node.attributes)
    if (!names.insert(attribute.name).second)
      return wrong(cat("attribute '", attribute.name, "': want it once, got it twice"));
  return row ? check_arity(node, *row, opset) : Status();
}

}  // namespace ferrule
