#include "core/model/importer.h"

#include <algorithm>

#include "core/base/text.h"

namespace ferrule {
namespace {

constexpr int64_t kLiteralBytes = 64;

// Small integers steer shapes, and lone numbers are seen by fusion; the rest are weights.
bool is_literal(const TensorType& type) {
  const bool steers = is_int(type.type) || type.type == Type::boolean;
  return type.size_bytes() <= kLiteralBytes && (steers || type.shape.n_elements() == 1);
}

std::string node_name(const onnx::NodeProto& node, const Frame& frame) {
  if (!node.name.empty()) return cat(frame.prefix, node.name);
  for (const std::string_view output : node.outputs)
    if (!output.empty()) return cat(frame.prefix, output);
  return frame.prefix + "unnamed";
}

bool is_default(std::string_view domain) { return domain.empty() || domain == "ai.onnx"; }

}  // namespace

int64_t opset_of(const std::vector<onnx::OpsetProto>& opsets, std::string_view domain) {
  for (const onnx::OpsetProto& opset : opsets)
    if (opset.domain == domain || (is_default(opset.domain) && is_default(domain)))
      return opset.version;
  return opsets.empty() && is_default(domain) ? 1 : 0;
}

void Scope::enter(const onnx::GraphProto& graph) {
  for (const onnx::TensorProto& tensor : graph.initializers) tensors[tensor.name] = &tensor;
  for (const onnx::SparseProto& tensor : graph.sparse_initializers)
    sparse[tensor.values.name] = &tensor;
  for (const onnx::ValueProto& value : graph.values) declared[value.name] = &value;
}

Functions::Functions(const onnx::ModelProto& model) {
  for (const onnx::FunctionProto& function : model.functions)
    by_name_.emplace(function.name, &function);
}

const onnx::FunctionProto* Functions::find(const onnx::NodeProto& node) const {
  const auto [first, last] = by_name_.equal_range(node.op);
  for (auto it = first; it != last; ++it)
    if (it->second->domain == node.domain && it->second->overload == node.overload)
      return it->second;
  return nullptr;
}

Importer::Importer(const Model& model, const ImportRequest& request)
    : model_(model),
      functions_(model.proto()),
      state_{model, request, {}, {}, {}, 0, 0},
      root_(state_, nullptr, std::string(model.proto().graph.name)) {}

Status Importer::add_inputs(Scope& scope) {
  const ImportRequest& request = state_.request;
  for (size_t i = 0; i < model_.inputs().size(); ++i) {
    const ModelValue& input = model_.inputs()[i];
    const auto given = request.shapes.find(input.name);
    if (input.has_default && given == request.shapes.end()) continue;
    if (input.type == Type::none)
      return Status(Code::unsupported,
                    cat("input '", input.name, "': ", input.type_text, " is not supported"));
    FRL_LET(const Shape shape,
            input_shape(model_.proto().graph.inputs[i],
                        given == request.shapes.end() ? nullptr : &given->second));
    const TensorType type{input.type, shape};
    const bool is_state = request.states.contains(input.name);
    const ValueId id = is_state ? root_.graph().add_state(type, input.name)
                                : root_.graph().add_input(type, input.name);
    // The view must outlive the import: the model's own name does.
    scope.names[input.name] = Entry::of(root_.at(id));
    state_.parameter_names[input.name];
  }
  return {};
}

Status Importer::run() {
  const ImportRequest& request = state_.request;
  FRL_TRY(survey(model_, functions_, request.limits.n_nodes));
  const onnx::GraphProto& graph = model_.proto().graph;
  const Frame frame{&model_.proto().opsets, {}, {}};
  Scope scope{nullptr, &root_, &frame, 0, {}, {}, {}, {}};
  scope.enter(graph);
  FRL_TRY(add_inputs(scope));
  std::vector<std::string_view> wanted(request.outputs.begin(), request.outputs.end());
  if (wanted.empty())
    for (const onnx::ValueProto& output : graph.outputs) wanted.push_back(output.name);
  FRL_TRY(run_nodes(graph.nodes, wanted, scope));
  for (const std::string_view name : wanted) {
    FRL_LET(const Entry entry, find(name, scope).within("graph output"));
    if (entry.kind != Entry::Kind::tensor)
      return Status(Code::unsupported,
                    cat("output '", name, "': a sequence or an optional is not supported"));
    root_.graph().add_output(entry.value.id, std::string(name),
                             request.droppable.contains(std::string(name)));
  }
  for (const onnx::ValueProto& output : graph.outputs)
    if (const auto found = scope.names.find(output.name); found != scope.names.end())
      FRL_TRY(check_declared("output", output, found->second, Extents::held));
  for (const auto& [leaf, output] : request.states) {
    const auto input = root_.graph().find_input(leaf);
    const auto at = std::find(wanted.begin(), wanted.end(), output);
    if (!input || at == wanted.end())
      return Status(Code::invalid_argument,
                    cat("state '", leaf, "': want an input and an output, got '", output, "'"));
    if (root_.graph().type(*input) !=
        root_.graph().type(root_.graph().outputs()[size_t(at - wanted.begin())].value))
      return Status(Code::invalid_argument,
                    cat("state '", leaf, "': want the type of output '", output, "'"));
    root_.graph().add_state_pair({*input, size_t(at - wanted.begin())});
  }
  root_.graph().compact();
  return {};
}

Entry Importer::localised(const Entry& entry, ImportBlock& block) {
  Entry out = entry;
  if (entry.kind == Entry::Kind::tensor) out.value = block.bring(entry.value);
  if (entry.kind != Entry::Kind::sequence) return out;
  std::vector<Entry> items;
  for (const Entry& item : *entry.items) items.push_back(localised(item, block));
  return Entry::sequence(std::move(items));
}

Result<Entry> Importer::initializer(std::string_view name, Scope& scope, bool* found) {
  const auto dense = scope.tensors.find(name);
  const auto sparse = scope.sparse.find(name);
  *found = dense != scope.tensors.end() || sparse != scope.sparse.end();
  if (!*found) return Entry{};
  const auto anew = state_.request.parameters.find(std::string(name));
  const bool is_set = !scope.outer && anew != state_.request.parameters.end();
  FRL_LET(Tensor tensor, is_set                         ? Result<Tensor>(anew->second)
                         : dense != scope.tensors.end() ? model_.tensor(*dense->second)
                                                        : model_.tensor(*sparse->second));
  // It belongs to the outermost block, so that all blocks share it.
  const Val value = is_literal(tensor.type())
                        ? scope.block->literal(std::move(tensor))
                        : scope.block->parameter(std::move(tensor), cat(scope.frame->prefix, name));
  if (!value.ok()) return scope.block->status();
  return scope.names[name] = Entry::of(value);
}

Result<Entry> Importer::find(std::string_view name, Scope& scope) {
  for (Scope* at = &scope; at; at = at->outer) {
    auto known = at->names.find(name);
    if (known != at->names.end()) {
      const Entry entry = localised(known->second, *scope.block);
      if (scope.block->failed()) return scope.block->status();
      return entry;
    }
    bool found = false;
    FRL_LET(const Entry entry, initializer(name, *at, &found));
    if (found) return localised(entry, *scope.block);
  }
  return Status(Code::invalid_argument,
                cat("want a value named '", name, "', got nothing of that name before"));
}

Result<std::vector<Entry>> Importer::run_graph(const onnx::GraphProto& graph, Scope& outer,
                                               ImportBlock& block, std::vector<Entry> inputs) {
  if (inputs.size() != graph.inputs.size())
    return Status(Code::invalid_argument, cat("body '", graph.name, "': want ", inputs.size(),
                                              " inputs, got ", graph.inputs.size()));
  if (outer.depth >= kMostNested)
    return Status(Code::out_of_limits,
                  cat("want at most ", kMostNested, " nested bodies and calls"));
  Scope scope{&outer, &block, outer.frame, outer.depth + 1, {}, {}, {}, {}};
  FRL_TRY(count(int64_t(graph.initializers.size())));
  scope.enter(graph);
  for (size_t i = 0; i < inputs.size(); ++i) {
    FRL_TRY(check_declared("body input", graph.inputs[i], inputs[i]));
    scope.names[graph.inputs[i].name] = inputs[i];
  }
  std::vector<std::string_view> wanted;
  for (const onnx::ValueProto& output : graph.outputs) wanted.push_back(output.name);
  FRL_TRY(run_nodes(graph.nodes, wanted, scope));
  std::vector<Entry> outputs;
  for (const onnx::ValueProto& output : graph.outputs) {
    FRL_LET(Entry entry, find(output.name, scope));
    FRL_TRY(check_declared("body output", output, entry));
    outputs.push_back(std::move(entry));
  }
  return outputs;
}

Status Importer::count(int64_t n_more) {
  state_.n_nodes += n_more;
  const int64_t most = state_.request.limits.n_nodes;
  if (state_.n_nodes <= most) return {};
  return Status(Code::out_of_limits,
                cat("want at most ", most, " nodes, bodies counted for each trip"));
}

Status Importer::run_nodes(std::span<const onnx::NodeProto> nodes,
                           std::span<const std::string_view> wanted, Scope& scope) {
  FRL_TRY(count(int64_t(nodes.size())));
  FRL_LET(const std::vector<uint32_t> order, schedule(nodes, wanted));
  for (const uint32_t number : order) FRL_TRY(run_node(nodes[number], scope));
  return {};
}

Status Importer::run_node(const onnx::NodeProto& node, Scope& scope) {
  const std::string name = node_name(node, *scope.frame);
  const int64_t opset = opset_of(*scope.frame->opsets, node.domain);
  const std::string label = cat("node '", name, "' (", node.op, ", opset ", opset, ")");
  const onnx::FunctionProto* function = functions_.find(node);
  FRL_TRY(
      (function ? call(*function, node, scope, name) : run_rule(node, scope, name)).within(label));
  for (const std::string_view output : node.outputs) {
    if (!output.empty() && !scope.names.contains(output))
      return Status(Code::unsupported, cat(label, ": output '", output, "' is not supported"));
    if (const auto found = scope.declared.find(output); found != scope.declared.end())
      FRL_TRY(check_declared("result", *found->second, scope.names[output]).within(label));
  }
  return {};
}

Status Importer::run_rule(const onnx::NodeProto& node, Scope& scope, const std::string& name) {
  const int64_t opset = opset_of(*scope.frame->opsets, node.domain);
  const ImportRow* row = find_row(node.domain, node.op, opset);
  if (!row) return Status(Code::unsupported, "the op is not supported");
  ModelNode rule(*this, scope, node, *row, opset, name);
  rule.mark_source();
  for (size_t i = 0; !row->symbols && i < node.inputs.size(); ++i) {
    if (!rule.has(i)) continue;
    const Entry entry = rule.entry(i);
    if (entry.kind == Entry::Kind::tensor && !entry.value.shape().is_exact())
      rule.unsupported(
          cat("input ", i, " has the data-dependent shape ", to_string(entry.value.type())));
  }
  if (!rule.failed()) row->rule(rule);
  return scope.block->status();
}

Status Importer::call(const onnx::FunctionProto& function, const onnx::NodeProto& node,
                      Scope& scope, const std::string& name) {
  if (scope.depth >= kMostNested)
    return Status(Code::out_of_limits,
                  cat("want at most ", kMostNested, " nested bodies and calls"));
  if (node.inputs.size() > function.inputs.size() || node.outputs.size() > function.outputs.size())
    return Status(Code::invalid_argument, cat("function: want at most ", function.inputs.size(),
                                              " inputs and ", function.outputs.size(), " outputs"));
  Frame frame{&function.opsets, {}, name + "/"};
  for (const onnx::AttributeProto& attribute : function.defaults)
    frame.attributes[attribute.name] = &attribute;
  for (const onnx::AttributeProto& attribute : node.attributes) {
    const onnx::AttributeProto* value = &attribute;
    if (!attribute.reference.empty()) {
      const auto bound = scope.frame->attributes.find(attribute.reference);
      if (bound == scope.frame->attributes.end()) continue;
      value = bound->second;
    }
    frame.attributes[attribute.name] = value;
  }
  Scope inner{nullptr, scope.block, &frame, scope.depth + 1, {}, {}, {}, {}};
  for (size_t i = 0; i < function.inputs.size(); ++i) {
    Entry entry{Entry::Kind::absent, {}, nullptr};
    if (i < node.inputs.size() && !node.inputs[i].empty()) {
      FRL_LET(entry, find(node.inputs[i], scope));
    }
    inner.names[function.inputs[i]] = entry;
  }
  FRL_TRY(run_nodes(function.nodes, function.outputs, inner));
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty()) continue;
    FRL_LET(scope.names[node.outputs[i]], find(function.outputs[i], inner));
  }
  return {};
}

Result<Imported> import_model(const Model& model, const ImportRequest& request) {
  Importer importer(model, request);
  const Status status = importer.run();
  ImportState& state = importer.state();
  if (!status.ok() && state.wanted.empty()) return status;
  Imported out;
  out.wanted_values = std::move(state.wanted);
  out.read_parameters = std::move(state.read);
  if (out.wanted_values.empty()) out.graph = std::move(importer.root().graph());
  return out;
}

}  // namespace ferrule
