// The ONNX file format: protobuf messages decoded into plain structs, without a protobuf library.
//
// Names, strings and raw elements are spans of the bytes that were decoded; whoever keeps a struct
// keeps those bytes alive. Fields that no rule of the importer reads are skipped.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"

namespace ferrule::onnx {

struct GraphProto;

// A repeated number field of a tensor, still encoded: one chunk for each packed run or lone number.
struct Numbers {
  std::vector<Bytes> chunks;
  bool empty() const { return chunks.empty(); }
};

struct EntryProto {  // StringStringEntryProto
  std::string_view key, value;
};

struct TensorProto {
  std::vector<int64_t> dims;
  int64_t data_type = 0;
  std::string_view name;
  Bytes raw;      // no pointer: not there
  Bytes segment;  // likewise; a sequence or an optional has its elements in this field
  Numbers floats, int32s, int64s, doubles, uint64s;
  bool has_raw() const { return raw.data() != nullptr; }
  bool has_segment() const { return segment.data() != nullptr; }
  std::vector<EntryProto> external;
  int64_t location = 0;  // 1: external
};

struct SparseProto {
  TensorProto values, indices;
  std::vector<int64_t> dims;
};

struct DimProto {
  bool has_value = false;
  int64_t value = 0;
  std::string_view symbol;
};

enum class TypeKind : uint8_t { none, tensor, sequence, optional, map, sparse };

struct TypeProto {
  TypeKind kind = TypeKind::none;
  int64_t element = 0;  // of tensor and sparse: a TensorProto::data_type
  bool has_shape = false;
  std::vector<DimProto> dims;
  std::shared_ptr<TypeProto> inner;  // of sequence and optional
};

struct ValueProto {  // ValueInfoProto
  std::string_view name;
  TypeProto type;
};

enum class AttributeType : uint8_t {
  undefined = 0,
  real = 1,
  integer = 2,
  text = 3,
  tensor = 4,
  graph = 5,
  reals = 6,
  integers = 7,
  texts = 8,
  tensors = 9,
  graphs = 10,
  sparse = 11,
  sparses = 12,
  type = 13,
  types = 14,
};

struct AttributeProto {
  std::string_view name, reference;  // reference: the attribute of the calling node that it takes
  AttributeType type = AttributeType::undefined;
  float f = 0;
  int64_t i = 0;
  std::string_view s;
  std::shared_ptr<TensorProto> tensor;
  std::shared_ptr<SparseProto> sparse;
  std::shared_ptr<GraphProto> graph;
  std::vector<float> floats;
  std::vector<int64_t> ints;
  std::vector<std::string_view> strings;
};

struct NodeProto {
  std::vector<std::string_view> inputs, outputs;
  std::string_view name, op, domain, overload;
  std::vector<AttributeProto> attributes;
};

struct GraphProto {
  std::string_view name;
  std::vector<NodeProto> nodes;
  std::vector<TensorProto> initializers;
  std::vector<SparseProto> sparse_initializers;
  std::vector<ValueProto> inputs, outputs, values;  // values: what is said of those inside
};

struct OpsetProto {
  std::string_view domain;
  int64_t version = 0;
};

struct FunctionProto {
  std::string_view name, domain, overload;
  std::vector<std::string_view> inputs, outputs, attributes;
  std::vector<AttributeProto> defaults;
  std::vector<NodeProto> nodes;
  std::vector<OpsetProto> opsets;
};

struct ModelProto {
  int64_t ir_version = 0;
  std::string_view producer, producer_version, domain;
  std::vector<OpsetProto> opsets;
  std::vector<EntryProto> metadata;
  bool has_graph = false;
  GraphProto graph;
  std::vector<FunctionProto> functions;
};

struct WireLimits {
  int depth = 64;                   // of messages inside messages
  uint64_t n_messages = 4'000'000;  // each costs more memory than its two bytes in the file
};

//   errors  invalid_argument "byte N: ..." for anything that is not well-formed to the last byte;
//           out_of_limits past the limits
Result<ModelProto> decode_model(Bytes bytes, const WireLimits& limits = {});
Result<TensorProto> decode_tensor(Bytes bytes, const WireLimits& limits = {});

// Counts, then decodes all numbers of a field; varints as int64, else as stored. False if they are
// not exactly `n`.
bool decode_varints(const Numbers& numbers, int64_t n, std::vector<int64_t>* out);
bool decode_fixed(const Numbers& numbers, size_t size_bytes, void* out);

}  // namespace ferrule::onnx
