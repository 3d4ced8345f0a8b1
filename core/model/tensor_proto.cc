#include "core/model/tensor_proto.h"

#include <cstring>
#include <filesystem>

#include "core/base/text.h"

namespace ferrule::onnx {
namespace {

// Which field holds the elements when they are not raw bytes.
using Storage = Numbers TensorProto::*;

struct ElementRow {
  int64_t data_type;
  const char* name;
  Type type;
  Storage storage;
};

constexpr ElementRow kElements[] = {
    {0, "undefined", Type::none, nullptr},
    {1, "f32", Type::f32, &TensorProto::floats},
    {2, "u8", Type::u8, &TensorProto::int32s},
    {3, "i8", Type::i8, &TensorProto::int32s},
    {4, "u16", Type::u16, &TensorProto::int32s},
    {5, "i16", Type::i16, &TensorProto::int32s},
    {6, "i32", Type::i32, &TensorProto::int32s},
    {7, "i64", Type::i64, &TensorProto::int64s},
    {8, "string", Type::none, nullptr},
    {9, "bool", Type::boolean, &TensorProto::int32s},
    {10, "f16", Type::f16, &TensorProto::int32s},
    {11, "f64", Type::f64, &TensorProto::doubles},
    {12, "u32", Type::u32, &TensorProto::uint64s},
    {13, "u64", Type::u64, &TensorProto::uint64s},
    {14, "complex64", Type::none, nullptr},
    {15, "complex128", Type::none, nullptr},
    {16, "bf16", Type::bf16, &TensorProto::int32s},
    {17, "float8e4m3fn", Type::none, nullptr},
    {18, "float8e4m3fnuz", Type::none, nullptr},
    {19, "float8e5m2", Type::none, nullptr},
    {20, "float8e5m2fnuz", Type::none, nullptr},
    {21, "uint4", Type::none, nullptr},
    {22, "int4", Type::none, nullptr},
    {23, "float4e2m1", Type::none, nullptr},
    {24, "float8e8m0", Type::none, nullptr},
};

const ElementRow* find_element(int64_t data_type) {
  for (const ElementRow& row : kElements)
    if (row.data_type == data_type) return &row;
  return nullptr;
}

Status wrong(const TensorProto& proto, const std::string& what) {
  return Status(Code::invalid_argument, cat("tensor '", proto.name, "': ", what));
}

Tensor copy_of(const TensorType& type, Bytes bytes) {
  Tensor out(type);
  if (!bytes.empty()) std::memcpy(out.mutable_data(), bytes.data(), bytes.size());
  return out;
}

// A bool of the file is any byte; one of C++ is 0 or 1.
Tensor clean_bool(const TensorType& type, Bytes bytes) {
  Tensor out(type);
  for (size_t i = 0; i < bytes.size(); ++i)
    out.mutable_data()[i] = std::byte{bytes[i] != std::byte{0}};
  return out;
}

Tensor from_raw(const TensorType& type, Bytes bytes, std::shared_ptr<const void> owner) {
  if (type.type == Type::boolean) return clean_bool(type, bytes);
  const bool aligned =
      reinterpret_cast<uintptr_t>(bytes.data()) % uintptr_t(size_bytes(type.type)) == 0;
  return aligned && owner ? Tensor(type, bytes, std::move(owner)) : copy_of(type, bytes);
}

Result<Tensor> from_numbers(const TensorProto& proto, const TensorType& type,
                            const ElementRow& row) {
  const Numbers& numbers = proto.*row.storage;
  const int64_t n = type.shape.n_elements();
  if (type.type == Type::f32 || type.type == Type::f64) {
    size_t present = 0;
    for (const Bytes chunk : numbers.chunks) present += chunk.size();
    if (present != size_t(type.size_bytes()))
      return wrong(proto, cat("want ", type.size_bytes(), " bytes of elements, got ", present));
    Tensor out(type);
    decode_fixed(numbers, present, out.mutable_data());
    return out;
  }
  std::vector<int64_t> values;
  if (!decode_varints(numbers, n, &values))
    return wrong(proto, cat("want ", n, " elements, got another number"));
  Tensor out(type);
  with_type(type.type, [&]<class T>(T) {
    auto at = out.mutable_as<T>();
    for (size_t i = 0; i < values.size(); ++i) {
      if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
        at[i] = T{uint16_t(values[i])};
      else if constexpr (std::is_same_v<T, bool>)
        at[i] = values[i] != 0;
      else
        at[i] = T(values[i]);
    }
  });
  return out;
}

struct Place {
  std::string location;
  int64_t offset = 0, length = -1;
};

Result<Place> external_place(const TensorProto& proto) {
  Place place;
  for (const EntryProto& entry : proto.external) {
    if (entry.key == "location") place.location = entry.value;
    if (entry.key != "offset" && entry.key != "length") continue;
    const auto number = parse_int(entry.value);
    if (!number || *number < 0)
      return wrong(
          proto, cat("external ", entry.key, ": want a number of bytes, got '", entry.value, "'"));
    (entry.key == "offset" ? place.offset : place.length) = *number;
  }
  if (place.location.empty()) return wrong(proto, "external data: want a location, got nothing");
  return place;
}

Result<Tensor> from_external(const TensorProto& proto, const TensorType& type,
                             ExternalFiles* files) {
  if (!files) return wrong(proto, "want its elements in this file, got external data");
  FRL_LET(const Place place, external_place(proto));
  FRL_LET(const MappedFile file,
          files->open(place.location).within(cat("tensor '", proto.name, "'")));
  const int64_t size = int64_t(file.bytes().size()), want = type.size_bytes();
  if (place.length >= 0 && place.length != want)
    return wrong(proto, cat("external length: want ", want, " bytes, got ", place.length));
  if (place.offset > size || want > size - place.offset)
    return wrong(proto, cat(place.location, ": want ", want, " bytes at ", place.offset,
                            ", got a file of ", size));
  return from_raw(type, file.bytes().subspan(size_t(place.offset), size_t(want)), file.owner());
}

}  // namespace

Type element_type(int64_t data_type) {
  const ElementRow* row = find_element(data_type);
  return row ? row->type : Type::none;
}

std::string data_type_name(int64_t data_type) {
  const ElementRow* row = find_element(data_type);
  return row ? row->name : cat("type ", data_type);
}

std::string type_text(const TypeProto& type) {
  const auto inner = [&] { return type.inner ? type_text(*type.inner) : std::string("?"); };
  switch (type.kind) {
    case TypeKind::tensor:
      return cat("tensor(", data_type_name(type.element), ")");
    case TypeKind::sparse:
      return cat("sparse_tensor(", data_type_name(type.element), ")");
    case TypeKind::sequence:
      return cat("sequence(", inner(), ")");
    case TypeKind::optional:
      return cat("optional(", inner(), ")");
    case TypeKind::map:
      return "map";
    case TypeKind::none:
      break;
  }
  return "no type";
}

std::string dims_text(const TypeProto& type) {
  std::vector<std::string> dims;
  for (const DimProto& dim : type.dims)
    dims.emplace_back(dim.has_value ? cat(dim.value) : dim.symbol.empty() ? "?" : dim.symbol);
  return cat("[", join(dims, ","), "]");
}

Result<MappedFile> ExternalFiles::open(const std::string& location) {
  namespace fs = std::filesystem;
  const auto refuse = [&](const char* why) {
    return Status(Code::denied, cat("external data '", location,
                                    "': want a file inside the model's folder, got ", why));
  };
  const fs::path path(location);
  if (location.find('\0') != std::string::npos) return refuse("a name with a zero byte");
  if (path.is_absolute()) return refuse("an absolute path");
  for (const fs::path& part : path)
    if (part == "..") return refuse("a path with '..'");
  const std::lock_guard lock(mutex_);
  if (const auto found = files_.find(location); found != files_.end()) return found->second;
  std::error_code error;
  const fs::path folder = fs::canonical(folder_.empty() ? "." : folder_, error);
  if (error)
    return Status(Code::not_found, cat("external data '", location, "': ", error.message()));
  const fs::path real = fs::canonical(folder / path, error);
  if (error)
    return Status(Code::not_found, cat("external data '", location, "': ", error.message()));
  const fs::path inside = real.lexically_relative(folder);
  if (inside.empty() || *inside.begin() == "..") return refuse("a link that leads out of it");
  FRL_LET(MappedFile file, MappedFile::open(real.string()));
  files_.emplace(location, file);
  return file;
}

Result<Tensor> read_tensor(const TensorProto& proto, std::shared_ptr<const void> owner,
                           ExternalFiles* files) {
  const ElementRow* row = find_element(proto.data_type);
  if (!row || row->type == Type::none)
    return Status(Code::unsupported, cat("tensor '", proto.name, "': element type ",
                                         data_type_name(proto.data_type), " is not supported"));
  if (proto.has_segment()) return wrong(proto, "want it in one piece, got a segment");
  FRL_LET(const Shape shape, Shape::checked(proto.dims).within(cat("tensor '", proto.name, "'")));
  const TensorType type{row->type, shape};
  // 2^62 elements of eight bytes do not count in 64 bits.
  if (shape.n_elements() > int64_t(1) << 56) return wrong(proto, "want fewer than 2^56 elements");
  if (proto.location == 1) return from_external(proto, type, files);
  if (!proto.has_raw()) return from_numbers(proto, type, *row);
  if (int64_t(proto.raw.size()) != type.size_bytes())
    return wrong(proto, cat("want ", type.size_bytes(), " bytes for ", to_string(type), ", got ",
                            proto.raw.size()));
  return from_raw(type, proto.raw, std::move(owner));
}

Result<Tensor> read_sparse(const SparseProto& proto, std::shared_ptr<const void> owner,
                           ExternalFiles* files, int64_t max_bytes) {
  FRL_LET(const Tensor values, read_tensor(proto.values, owner, files));
  FRL_LET(const Tensor indices, read_tensor(proto.indices, owner, files));
  FRL_LET(const Shape shape, Shape::checked(proto.dims));
  const TensorType type{values.element(), shape};
  if (shape.n_elements() > max_bytes || type.size_bytes() > max_bytes)
    return wrong(proto.values,
                 cat("sparse ", to_string(type), ": want at most ", max_bytes, " bytes"));
  const int64_t n = values.n_elements();
  const bool flat = indices.shape().rank() == 1;
  const int64_t per = flat ? 1 : int64_t(shape.rank());
  if (indices.element() != Type::i64 || indices.n_elements() != n * per ||
      (!flat && indices.shape().rank() != 2))
    return wrong(proto.values, "sparse indices: want i64, one place for each value");
  Tensor out(type);
  const auto size = size_t(size_bytes(type.type));
  for (int64_t i = 0; i < n; ++i) {
    int64_t place = flat ? indices.at_i64(i) : 0;
    for (int64_t axis = 0; !flat && axis < per; ++axis) {
      const int64_t at = indices.at_i64(i * per + axis);
      if (at < 0 || at >= shape[size_t(axis)])
        return wrong(proto.values, "sparse indices: want them inside the shape");
      place = place * shape[size_t(axis)] + at;
    }
    if (place < 0 || place >= shape.n_elements())
      return wrong(proto.values, "sparse indices: want them inside the shape");
    std::memcpy(out.mutable_data() + size_t(place) * size, values.bytes().data() + size_t(i) * size,
                size);
  }
  return out;
}

}  // namespace ferrule::onnx
