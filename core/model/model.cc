#include "core/model/model.h"

#include <filesystem>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "core/base/text.h"
#include "core/model/tensor_proto.h"

namespace ferrule {
namespace {

constexpr int64_t kMaxIrVersion = 11;
constexpr int64_t kMaxOpset = 23;
constexpr int64_t kMaxSparseBytes = int64_t(1) << 31;

ModelValue model_value(const onnx::ValueProto& proto) {
  ModelValue out;
  out.name = proto.name;
  out.type_text = onnx::type_text(proto.type);
  if (proto.type.kind != onnx::TypeKind::tensor) return out;
  out.type = onnx::element_type(proto.type.element);
  out.has_shape = proto.type.has_shape;
  out.dims_text = onnx::dims_text(proto.type);
  for (const onnx::DimProto& dim : proto.type.dims)
    out.dims.push_back({dim.has_value ? dim.value : -1, std::string(dim.symbol)});
  return out;
}

Status check_model(const onnx::ModelProto& model) {
  const auto wrong = [](const std::string& what) { return Status(Code::invalid_argument, what); };
  if (!model.has_graph) return wrong("model: want a graph, got none");
  if (model.ir_version < 1)
    return wrong(cat("model: want an ir version of 1 or more, got ", model.ir_version));
  if (model.ir_version > kMaxIrVersion)
    return Status(Code::unsupported, cat("model: want an ir version up to ", kMaxIrVersion,
                                         ", got ", model.ir_version));
  // Before ir version 3 there were no opset imports.
  if (model.opsets.empty() && model.ir_version >= 3)
    return wrong("model: want an opset import, got none");
  for (const onnx::OpsetProto& opset : model.opsets) {
    const bool own = opset.domain.empty() || opset.domain == "ai.onnx";
    if (opset.version < 1)
      return wrong(cat("opset of '", opset.domain, "': want 1 or more, got ", opset.version));
    if (own && opset.version > kMaxOpset)
      return Status(Code::unsupported,
                    cat("model: want an opset up to ", kMaxOpset, ", got ", opset.version));
  }
  for (const onnx::ValueProto& input : model.graph.inputs)
    if (input.name.empty()) return wrong("graph input: want a name, got an empty one");
  if (model.graph.outputs.empty()) return wrong("graph: want an output, got none");
  for (const onnx::ValueProto& output : model.graph.outputs)
    if (output.name.empty()) return wrong("graph output: want a name, got an empty one");
  return {};
}

}  // namespace

struct Model::Parsed {
  explicit Parsed(const std::string& folder) : files(folder) {}

  std::shared_ptr<const void> owner;
  onnx::ModelProto proto;
  std::vector<ModelValue> inputs, outputs;
  onnx::ExternalFiles files;
  std::mutex mutex;
  std::unordered_map<const void*, Tensor> tensors;  // by their proto

  template <class Read>
  Result<Tensor> once(const void* key, Read read) {
    {
      const std::lock_guard lock(mutex);
      if (const auto found = tensors.find(key); found != tensors.end()) return found->second;
    }
    FRL_LET(Tensor tensor, read());
    const std::lock_guard lock(mutex);
    return tensors.emplace(key, std::move(tensor)).first->second;
  }
};

Result<Model> Model::load(const std::string& path) {
  FRL_LET(const MappedFile file, MappedFile::open(path));
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return within_memory([&] { return parse(file.bytes(), file.owner(), folder); }).within(path);
}

Result<Model> Model::parse(Bytes bytes, std::shared_ptr<const void> owner,
                           const std::string& folder, const onnx::WireLimits& limits) {
  Model out;
  out.parsed_ = std::make_shared<Parsed>(folder);
  Parsed& parsed = *out.parsed_;
  FRL_LET(parsed.proto, onnx::decode_model(bytes, limits));
  FRL_TRY(check_model(parsed.proto));
  // Without an owner the bytes still outlive the model by contract; the marker allows borrowing.
  static const char kCallerOwns = 0;
  parsed.owner =
      owner ? std::move(owner) : std::shared_ptr<const void>(&kCallerOwns, [](const void*) {});
  std::unordered_set<std::string_view> defaults;
  for (const onnx::TensorProto& tensor : parsed.proto.graph.initializers)
    defaults.insert(tensor.name);
  for (const onnx::SparseProto& tensor : parsed.proto.graph.sparse_initializers)
    defaults.insert(tensor.values.name);
  for (const onnx::ValueProto& input : parsed.proto.graph.inputs) {
    parsed.inputs.push_back(model_value(input));
    parsed.inputs.back().has_default = defaults.contains(input.name);
  }
  for (const onnx::ValueProto& output : parsed.proto.graph.outputs)
    parsed.outputs.push_back(model_value(output));
  return out;
}

const std::vector<ModelValue>& Model::inputs() const { return parsed_->inputs; }
const std::vector<ModelValue>& Model::outputs() const { return parsed_->outputs; }
const onnx::ModelProto& Model::proto() const { return parsed_->proto; }

int64_t Model::opset() const {
  for (const onnx::OpsetProto& opset : proto().opsets)
    if (opset.domain.empty() || opset.domain == "ai.onnx") return opset.version;
  return proto().opsets.empty() ? 1 : 0;
}

std::string Model::producer() const {
  const onnx::ModelProto& model = proto();
  if (model.producer_version.empty()) return std::string(model.producer);
  return cat(model.producer, " ", model.producer_version);
}

std::vector<std::pair<std::string, std::string>> Model::metadata() const {
  std::vector<std::pair<std::string, std::string>> out;
  for (const onnx::EntryProto& entry : proto().metadata) out.emplace_back(entry.key, entry.value);
  return out;
}

Result<Tensor> Model::tensor(const onnx::TensorProto& tensor) const {
  return parsed_->once(&tensor,
                       [&] { return onnx::read_tensor(tensor, parsed_->owner, &parsed_->files); });
}

Result<Tensor> Model::tensor(const onnx::SparseProto& tensor) const {
  return parsed_->once(&tensor, [&] {
    return onnx::read_sparse(tensor, parsed_->owner, &parsed_->files, kMaxSparseBytes);
  });
}

Result<Tensor> load_tensor(const std::string& path) {
  FRL_LET(const MappedFile file, MappedFile::open(path));
  return parse_tensor(file.bytes(), file.owner()).within(path);
}

Result<Tensor> parse_tensor(Bytes bytes, std::shared_ptr<const void> owner) {
  FRL_LET(const onnx::TensorProto proto, onnx::decode_tensor(bytes));
  const bool no_elements = !proto.has_raw() && proto.floats.empty() && proto.int32s.empty() &&
                           proto.int64s.empty() && proto.doubles.empty() && proto.uint64s.empty() &&
                           proto.external.empty();
  // In a sequence or an optional the elements are messages in the field that is a tensor's segment.
  if (proto.has_segment() && no_elements)
    return Status(Code::unsupported, "want a tensor, got a sequence or an optional");
  auto tensor = onnx::read_tensor(proto, std::move(owner), nullptr);
  // Other messages have other meanings for the same fields, and then little fits.
  if (!tensor.ok() && proto.name.empty() && !proto.has_raw())
    return Status(tensor.status().code(),
                  cat(tensor.status().message(), " (a sequence or an optional is not read)"));
  return tensor;
}

}  // namespace ferrule
