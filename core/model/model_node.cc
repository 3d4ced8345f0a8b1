#include <set>

#include "core/base/text.h"
#include "core/model/importer.h"
#include "core/model/tensor_proto.h"

namespace ferrule {

using onnx::AttributeProto;
using onnx::AttributeType;

ModelNode::ModelNode(Importer& importer, Scope& scope, const onnx::NodeProto& proto,
                     const ImportRow& row, int64_t opset, std::string name)
    : importer_(importer),
      scope_(scope),
      proto_(proto),
      row_(row),
      opset_(opset),
      name_(std::move(name)) {}

void ModelNode::mark_source() {
  Graph& graph = block().graph();
  graph.set_sources({graph.add_source({name_, std::string(proto_.op)})});
}

void ModelNode::fail(const std::string& what, Code code) { block().fail(Status(code, what)); }

bool ModelNode::want(bool holds, const std::string& what) {
  if (failed() || holds) return !failed();
  std::vector<std::string> types;
  for (size_t i = 0; i < n_in(); ++i)
    types.push_back(has(i) ? to_string(maybe(i).type()) : "nothing");
  fail(cat("want ", what, ", got ", join(types)));
  return false;
}

bool ModelNode::has(size_t i) const {
  if (i >= proto_.inputs.size() || proto_.inputs[i].empty()) return false;
  const auto found = importer_.find(proto_.inputs[i], scope_);
  return !found.ok() || found->kind != Entry::Kind::absent;
}

Entry ModelNode::entry(size_t i) {
  if (i >= proto_.inputs.size() || proto_.inputs[i].empty()) {
    fail(cat("want input ", i, ", got nothing"));
    return Entry::of({&block(), kNoValue});
  }
  auto found = importer_.find(proto_.inputs[i], scope_);
  if (found.ok()) return *found;
  fail(std::move(found).status());
  return Entry::of({&block(), kNoValue});
}

Val ModelNode::in(size_t i) {
  const Entry found = entry(i);
  if (found.kind == Entry::Kind::tensor) return found.value;
  unsupported(cat("input ", i, ": want a tensor, got ",
                  found.kind == Entry::Kind::sequence ? "a sequence" : "nothing"));
  return {&block(), kNoValue};
}

Val ModelNode::maybe(size_t i) { return has(i) ? in(i) : Val{&block(), kNoValue}; }

Tensor ModelNode::known(size_t i) {
  const Val value = in(i);
  if (failed()) return {};
  auto tensor = block().value(value, true);
  if (tensor.ok()) return *tensor;
  fail(std::move(tensor).status());
  return {};
}

Ints ModelNode::known_ints(size_t i) {
  const Tensor tensor = known(i);
  return tensor.empty() ? Ints() : tensor.to_i64();
}

double ModelNode::known_number(size_t i, double fallback) {
  const Tensor tensor = known_scalar(i);
  return tensor.empty() ? fallback : tensor.at_f64(0);
}

int64_t ModelNode::known_integer(size_t i, int64_t fallback) {
  const Tensor tensor = known_scalar(i);
  return tensor.empty() ? fallback : tensor.at_i64(0);
}

Tensor ModelNode::known_scalar(size_t i) {
  if (!has(i)) return {};
  const Tensor tensor = known(i);
  if (tensor.empty() || tensor.n_elements() == 1) return tensor;
  fail(cat("input ", i, ": want one element, got ", to_string(tensor.type())));
  return {};
}

bool ModelNode::try_known(Val value, Tensor* out) {
  if (failed() || !value.ok()) return false;
  auto tensor = block().value(value, false);
  if (tensor.ok()) *out = *tensor;
  return tensor.ok();
}

bool ModelNode::knowable(Val value, Tensor* out) {
  if (failed()) return false;
  auto tensor = block().value(value, true);
  if (tensor.ok()) return *out = *tensor, true;
  if (asks()) fail(std::move(tensor).status());
  return false;
}

void ModelNode::forget() {
  for (ImportBlock* each = &block(); each; each = each->outer()) each->clear();
}

void ModelNode::out(size_t i, Val value) {
  if (failed() || !wants(i)) return;
  if (!value.ok()) return fail("this form is not handled", Code::unsupported);
  out(i, Entry::of(value));
}

void ModelNode::out(size_t i, Entry entry) {
  if (failed() || !wants(i)) return;
  scope_.names[proto_.outputs[i]] = std::move(entry);
}

std::string ModelNode::out_name(size_t i) const {
  return scope_.frame->prefix + (wants(i) ? std::string(proto_.outputs[i]) : name_);
}

const AttributeProto* ModelNode::find_attribute(std::string_view name) const {
  for (const AttributeProto& attribute : proto_.attributes) {
    if (attribute.name != name) continue;
    if (attribute.reference.empty()) return &attribute;
    const auto bound = scope_.frame->attributes.find(attribute.reference);
    return bound == scope_.frame->attributes.end() ? nullptr : bound->second;
  }
  return nullptr;
}

const AttributeProto* ModelNode::attribute(std::string_view name, AttributeType type) {
  const AttributeProto* found = find_attribute(name);
  if (!found || found->type == type) return found;
  fail(cat("attribute '", name, "': want type ", int(type), ", got ", int(found->type)));
  return nullptr;
}

int64_t ModelNode::i(std::string_view name, int64_t fallback) {
  const AttributeProto* found = attribute(name, AttributeType::integer);
  return found ? found->i : fallback;
}

int64_t ModelNode::need_i(std::string_view name) {
  if (!has_attribute(name)) fail(cat("want attribute '", name, "', got nothing"));
  return i(name, 0);
}

double ModelNode::f(std::string_view name, double fallback) {
  const AttributeProto* found = attribute(name, AttributeType::real);
  return found ? double(found->f) : fallback;
}

Ints ModelNode::ints(std::string_view name) {
  const AttributeProto* found = attribute(name, AttributeType::integers);
  return found ? found->ints : Ints();
}

std::vector<double> ModelNode::reals(std::string_view name) {
  const AttributeProto* found = attribute(name, AttributeType::reals);
  return found ? std::vector<double>(found->floats.begin(), found->floats.end())
               : std::vector<double>();
}

std::string ModelNode::text(std::string_view name, const char* fallback) {
  const AttributeProto* found = attribute(name, AttributeType::text);
  return found ? std::string(found->s) : fallback;
}

std::vector<std::string> ModelNode::texts(std::string_view name) {
  const AttributeProto* found = attribute(name, AttributeType::texts);
  return found ? std::vector<std::string>(found->strings.begin(), found->strings.end())
               : std::vector<std::string>();
}

const onnx::GraphProto* ModelNode::graph(std::string_view name, size_t n_inputs, size_t n_outputs) {
  const AttributeProto* found = attribute(name, AttributeType::graph);
  if (!found) return fail(cat("want attribute '", name, "', got nothing")), nullptr;
  const size_t n_in = found->graph->inputs.size(), n_out = found->graph->outputs.size();
  if (n_in == n_inputs && n_out == n_outputs) return found->graph.get();
  fail(cat("attribute '", name, "': want a body of ", n_inputs, " inputs and ", n_outputs,
           " outputs, got ", n_in, " and ", n_out));
  return nullptr;
}

int64_t ModelNode::choice(std::string_view name, const char* fallback,
                          std::span<const char* const> names) {
  const std::string given = text(name, fallback);
  for (size_t k = 0; k < names.size(); ++k)
    if (given == names[k]) return int64_t(k);
  unsupported(cat("attribute '", name, "': '", given, "' is not supported"));
  return 0;
}

int64_t ModelNode::axis(int64_t given, int64_t rank) {
  if (failed()) return 0;
  const int64_t axis = from_start(given, rank);
  if (axis >= 0 && axis < rank) return axis;
  fail(cat("axis: want -", rank, " .. ", rank - 1, ", got ", given));
  return 0;
}

int64_t ModelNode::split_attribute(int64_t rank) {
  const int64_t given = i("axis", 1), axis = from_start(given, rank);
  if (failed()) return 0;
  if (axis >= 0 && axis <= rank) return axis;
  fail(cat("axis: want -", rank, " .. ", rank, ", got ", given));
  return 0;
}

Ints ModelNode::axes(const Ints& given, int64_t rank) {
  Ints out;
  std::set<int64_t> seen;
  for (const int64_t each : given) {
    out.push_back(axis(each, rank));
    if (!seen.insert(out.back()).second)
      fail(cat("axes: want each axis once, got ", each, " twice"));
    if (failed()) return {};
  }
  return out;
}

Type ModelNode::type_of(int64_t data_type) {
  const Type type = onnx::element_type(data_type);
  if (type == Type::none)
    unsupported(cat("element type ", onnx::data_type_name(data_type), " is not supported"));
  return type;
}

}  // namespace ferrule
