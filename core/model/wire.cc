#include "core/model/wire.h"

#include <cstring>

#include "core/base/text.h"

namespace ferrule::onnx {
namespace {

enum Wire : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

constexpr const char* wire_name(uint8_t wire) {
  return wire == kVarint ? "varint" : wire == kFixed64 ? "fixed64" : wire == kBytes ? "bytes"
       : wire == kFixed32 ? "fixed32" : "group";
}

struct Field {
  uint32_t number = 0;
  uint8_t wire = 0;
  uint64_t value = 0;  // of a varint
  Bytes bytes;         // the content; of a varint its own bytes
};

// The varint at `at`, which is moved past it; false if it is cut off or longer than ten bytes.
bool take_varint(Bytes bytes, size_t* at, uint64_t* out) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 70; shift += 7) {
    if (*at >= bytes.size()) return false;
    const auto byte = uint8_t(bytes[(*at)++]);
    if (shift < 64) value |= uint64_t(byte & 0x7f) << shift;
    if (!(byte & 0x80)) return *out = value, true;
  }
  return false;
}

class Decoder {
 public:
  Decoder(Bytes file, const WireLimits& limits)
      : file_(file), depth_left_(limits.depth), messages_left_(limits.n_messages) {}

  Status read(Bytes bytes, ModelProto& out);
  Status read(Bytes bytes, TensorProto& out);

 private:
  // Calls fn(field) for each field of a message.
  template <class Fn>
  Status each(Bytes message, Fn fn) {
    for (size_t at = 0; at < message.size();) {
      Field field;
      FRL_TRY(next(message, &at, &field));
      FRL_TRY(fn(field));
    }
    return {};
  }
  Status next(Bytes message, size_t* at, Field* out);

  Status want(const Field& field, uint8_t wire) const {
    if (field.wire == wire) return {};
    return fail(field.bytes.data(), cat("field ", field.number, ": want ", wire_name(wire), ", got ",
                                        wire_name(field.wire)));
  }
  Status fail(const std::byte* at, const std::string& what) const {
    return Status(Code::invalid_argument, cat("byte ", at - file_.data(), ": ", what));
  }

  Status text(const Field& field, std::string_view& out) const {
    FRL_TRY(want(field, kBytes));
    out = {reinterpret_cast<const char*>(field.bytes.data()), field.bytes.size()};
    return {};
  }
  Status text(const Field& field, std::vector<std::string_view>& out) const {
    return text(field, out.emplace_back());
  }
  Status integer(const Field& field, int64_t& out) const {
    FRL_TRY(want(field, kVarint));
    out = int64_t(field.value);
    return {};
  }
  Status integers(const Field& field, std::vector<int64_t>& out) const;
  Status real(const Field& field, float& out) const {
    FRL_TRY(want(field, kFixed32));
    std::memcpy(&out, field.bytes.data(), 4);
    return {};
  }
  Status reals(const Field& field, std::vector<float>& out) const;
  // A repeated number that stays encoded.
  Status numbers(const Field& field, uint8_t wire, Numbers& out) const {
    if (field.wire != kBytes) FRL_TRY(want(field, wire));
    const size_t size = wire == kFixed32 ? 4 : wire == kFixed64 ? 8 : 1;
    if (field.bytes.size() % size != 0)
      return fail(field.bytes.data(), cat("field ", field.number, ": want whole numbers of ", size, " bytes"));
    if (!field.bytes.empty()) out.chunks.push_back(field.bytes);
    return {};
  }

  template <class T>
  Status message(const Field& field, T& out) {
    FRL_TRY(want(field, kBytes));
    if (depth_left_ == 0)
      return Status(Code::out_of_limits,
                    cat("byte ", field.bytes.data() - file_.data(), ": messages are nested too deeply"));
    if (messages_left_ == 0) return Status(Code::out_of_limits, "the file has too many messages");
    --depth_left_, --messages_left_;
    FRL_TRY(read(field.bytes, out));
    ++depth_left_;
    return {};
  }
  template <class T>
  Status message(const Field& field, std::vector<T>& out) {
    return message(field, out.emplace_back());
  }
  template <class T>
  Status message(const Field& field, std::shared_ptr<T>& out) {
    if (!out) out = std::make_shared<T>();
    return message(field, *out);
  }

  Status read(Bytes bytes, EntryProto& out);
  Status read(Bytes bytes, SparseProto& out);
  Status read(Bytes bytes, DimProto& out);
  Status read(Bytes bytes, TypeProto& out);
  Status read(Bytes bytes, ValueProto& out);
  Status read(Bytes bytes, AttributeProto& out);
  Status read(Bytes bytes, NodeProto& out);
  Status read(Bytes bytes, GraphProto& out);
  Status read(Bytes bytes, OpsetProto& out);
  Status read(Bytes bytes, FunctionProto& out);
  Status read_tensor_type(Bytes bytes, TypeProto& out);
  Status read_shape(Bytes bytes, TypeProto& out);

  Bytes file_;
  int depth_left_;
  uint64_t messages_left_;
};

Status Decoder::next(Bytes message, size_t* at, Field* out) {
  const std::byte* start = message.data() + *at;
  uint64_t key = 0;
  if (!take_varint(message, at, &key)) return fail(start, "want a field, got a cut-off varint");
  if (key >> 3 == 0 || key >> 3 > (1u << 29) - 1)
    return fail(start, cat("want a field number from 1 to 2^29 - 1, got ", key >> 3));
  out->number = uint32_t(key >> 3);
  out->wire = uint8_t(key & 7);
  const size_t content = *at;
  uint64_t size = 0;
  switch (out->wire) {
    case kVarint:
      if (!take_varint(message, at, &out->value)) return fail(start, "want a varint, got a cut-off one");
      out->bytes = message.subspan(content, *at - content);
      return {};
    case kFixed64: size = 8; break;
    case kFixed32: size = 4; break;
    case kBytes:
      if (!take_varint(message, at, &size)) return fail(start, "want a length, got a cut-off varint");
      break;
    default: return fail(start, cat("field ", out->number, ": want a wire type of 0, 1, 2 or 5, got ", out->wire));
  }
  if (size > message.size() - *at)
    return fail(start, cat("field ", out->number, ": want ", size, " bytes, got ", message.size() - *at));
  out->bytes = message.subspan(*at, size);
  *at += size;
  return {};
}

Status Decoder::integers(const Field& field, std::vector<int64_t>& out) const {
  if (field.wire == kVarint) return out.push_back(int64_t(field.value)), Status();
  FRL_TRY(want(field, kBytes));
  for (size_t at = 0; at < field.bytes.size();) {
    uint64_t value = 0;
    if (!take_varint(field.bytes, &at, &value))
      return fail(field.bytes.data(), cat("field ", field.number, ": want varints, got a cut-off one"));
    out.push_back(int64_t(value));
  }
  return {};
}

Status Decoder::reals(const Field& field, std::vector<float>& out) const {
  if (field.wire == kFixed32) return real(field, out.emplace_back());
  FRL_TRY(want(field, kBytes));
  if (field.bytes.size() % 4 != 0)
    return fail(field.bytes.data(), cat("field ", field.number, ": want whole floats"));
  const size_t n = out.size();
  out.resize(n + field.bytes.size() / 4);
  if (!field.bytes.empty()) std::memcpy(out.data() + n, field.bytes.data(), field.bytes.size());
  return {};
}

Status Decoder::read(Bytes bytes, EntryProto& out) {
  return each(bytes, [&](const Field& f) -> Status {
    switch (f.number) {
      case 1: return text(f, out.key);
      case 2: return text(f, out.value);
      default: return {};
    }
  });
}

Status Decoder::read(Bytes bytes, TensorProto& out) {
  return each(bytes, [&](const Field& f) -> Status {
    switch (f.number) {
      case 1: return integers(f, out.dims);
      case 2: return integer(f, out.data_type);
      case 3: return out.has_segment = true, want(f, kBytes);
      case 4: return numbers(f, kFixed32, out.floats);
      case 5: return numbers(f, kVarint, out.int32s);
      case 6: return ++out.n_strings, want(f, kBytes);
      case 7: return numbers(f, kVarint, out.int64s);
      case 8: return text(f, out.name);
      case 9: return out.raw = f.bytes, out.has_raw = true, want(f, kBytes);
      case 10: return numbers(f, kFixed64, out.doubles);
      case 11: return numbers(f, kVarint, out.uint64s);
      case 13: return message(f, out.external);
      case 14: return integer(f, out.location);
      default: return {};
    }
  });
}

Status Decoder::read(Bytes bytes, SparseProto& out) {
  return each(bytes, [&](const Field& f) -> Status {
    switch (f.number) {
      case 1: return message(f, out.values);
      case 2: return message(f, out.indices);
      case 3: return integers(f, out.dims);
      default: return {};
    }
  });
}

Status Decoder::read(Bytes bytes, DimProto& out) {
  return each(bytes, [&](const Field& f) -> Status {
    switch (f.number) {
      case 1: return out.has_value = true, integer(f, out.value);
      case 2: return text(f, out.symbol);
      default: return {};
    }
  });
}

Status Decoder::read_shape(Bytes bytes, TypeProto& out) {
  return each(bytes, [&](const Field& f) { return f.number == 1 ? message(f, out.dims) : Status(); });
}

Status Decoder::read_tensor_type(Bytes bytes, TypeProto& out) {
  return each(bytes, [&](const Field& f) -> Status {
    switch (f.number) {
      case 1: return integer(f, out.element);
      case 2:
        out.has_shape = true;
        FRL_TRY(want(f, kBytes));
        return read_shape(f.bytes, out);
      default: return {};
    }
  });
}

Status Decoder::read(Bytes bytes, TypeProto& out) {
  const auto wrapped = [&](const Field& f, TypeKind kind) {
    out.kind = kind;
    return each(f.bytes, [&](const Field& g) { return g.number == 1 ? message(g, out.inner) : Status(); });
  };
  return each(bytes, [&](const Field& f) -> Status {
    if (f.number == 6 || f.number > 9 || f.number == 7) return {};
    FRL_TRY(want(f, kBytes));
    switch (f.number) {
      case 1: return out.kind = TypeKind::tensor, read_tensor_type(f.bytes, out);
      case 4: return wrapped(f, TypeKind::sequence);
      case 5: return out.kind = TypeKind::map, Status();
      case 8: return out.kind = TypeKind::sparse, read_tensor_type(f.bytes, out);
      case 9: return wrapped(f, TypeKind::optional);
      default: return {};
    }
  });
}

Status Decoder::read(Bytes bytes, ValueProto& out) {
  return each(bytes, [&](const Field& f) -> Status {
    switch (f.number) {
      case 1: return text(f, out.name);
      case 2: return message(f, out.type);
      default: return {};
    }
  });
}

// The kind of an attribute whose file does not say it (ir version 1), from the field that is there.
AttributeType type_of_field(uint32_t number) {
  switch (number) {
    case 2: return AttributeType::real;
    case 3: return AttributeType::integer;
    case 4: return AttributeType::text;
    case 5: return AttributeType::tensor;
    case 6: return AttributeType::graph;
    case 7: return AttributeType::reals;
    case 8: return AttributeType::integers;
    case 9: return AttributeType::texts;
    default: return AttributeType::undefined;
  }
}

Status Decoder::read(Bytes bytes, AttributeProto& out) {
  int64_t type = 0;
  AttributeType seen = AttributeType::undefined;
  FRL_TRY(each(bytes, [&](const Field& f) -> Status {
    if (const AttributeType of = type_of_field(f.number); of != AttributeType::undefined) seen = of;
    switch (f.number) {
      case 1: return text(f, out.name);
      case 2: return real(f, out.f);
      case 3: return integer(f, out.i);
      case 4: return text(f, out.s);
      case 5: return message(f, out.tensor);
      case 6: return message(f, out.graph);
      case 7: return reals(f, out.floats);
      case 8: return integers(f, out.ints);
      case 9: return text(f, out.strings);
      case 20: return integer(f, type);
      case 21: return text(f, out.reference);
      case 22: return message(f, out.sparse);
      default: return {};
    }
  }));
  if (type < 0 || type > int64_t(AttributeType::types))
    return fail(bytes.data(), cat("attribute '", out.name, "': want a type from 0 to 14, got ", type));
  out.type = type ? AttributeType(type) : seen;
  if (out.type == AttributeType::tensor && !out.tensor) out.tensor = std::make_shared<TensorProto>();
  if (out.type == AttributeType::graph && !out.graph) out.graph = std::make_shared<GraphProto>();
  if (out.type == AttributeType::sparse && !out.sparse) out.sparse = std::make_shared<SparseProto>();
  return {};
}

Status Decoder::read(Bytes bytes, NodeProto& out) {
  return each(bytes, [&](const Field& f) -> Status {
    switch (f.number) {
      case 1: return text(f, out.inputs);
      case 2: return text(f, out.outputs);
      case 3: return text(f, out.name);
      case 4: return text(f, out.op);
      case 5: return message(f, out.attributes);
      case 7: return text(f, out.domain);
      case 8: return text(f, out.overload);
      default: return {};
    }
  });
}

Status Decoder::read(Bytes bytes, GraphProto& out) {
  return each(bytes, [&](const Field& f) -> Status {
    switch (f.number) {
      case 1: return message(f, out.nodes);
      case 2: return text(f, out.name);
      case 5: return message(f, out.initializers);
      case 11: return message(f, out.inputs);
      case 12: return message(f, out.outputs);
      case 15: return message(f, out.sparse_initializers);
      default: return {};
    }
  });
}

Status Decoder::read(Bytes bytes, OpsetProto& out) {
  return each(bytes, [&](const Field& f) -> Status {
    switch (f.number) {
      case 1: return text(f, out.domain);
      case 2: return integer(f, out.version);
      default: return {};
    }
  });
}

Status Decoder::read(Bytes bytes, FunctionProto& out) {
  return each(bytes, [&](const Field& f) -> Status {
    switch (f.number) {
      case 1: return text(f, out.name);
      case 4: return text(f, out.inputs);
      case 5: return text(f, out.outputs);
      case 6: return text(f, out.attributes);
      case 7: return message(f, out.nodes);
      case 9: return message(f, out.opsets);
      case 10: return text(f, out.domain);
      case 11: return message(f, out.defaults);
      case 13: return text(f, out.overload);
      default: return {};
    }
  });
}

Status Decoder::read(Bytes bytes, ModelProto& out) {
  return each(bytes, [&](const Field& f) -> Status {
    switch (f.number) {
      case 1: return integer(f, out.ir_version);
      case 2: return text(f, out.producer);
      case 3: return text(f, out.producer_version);
      case 4: return text(f, out.domain);
      case 7: return out.has_graph = true, message(f, out.graph);
      case 8: return message(f, out.opsets);
      case 14: return message(f, out.metadata);
      case 25: return message(f, out.functions);
      default: return {};
    }
  });
}

}  // namespace

Result<ModelProto> decode_model(Bytes bytes, const WireLimits& limits) {
  ModelProto out;
  FRL_TRY(Decoder(bytes, limits).read(bytes, out));
  return out;
}

Result<TensorProto> decode_tensor(Bytes bytes, const WireLimits& limits) {
  TensorProto out;
  FRL_TRY(Decoder(bytes, limits).read(bytes, out));
  return out;
}

bool decode_varints(const Numbers& numbers, int64_t n, std::vector<int64_t>* out) {
  int64_t count = 0;
  for (const Bytes chunk : numbers.chunks)
    for (const std::byte byte : chunk) count += uint8_t(byte) < 0x80;
  if (count != n) return false;
  out->reserve(size_t(n));
  for (const Bytes chunk : numbers.chunks)
    for (size_t at = 0; at < chunk.size();) {
      uint64_t value = 0;
      if (!take_varint(chunk, &at, &value)) return false;
      out->push_back(int64_t(value));
    }
  return out->size() == size_t(n);
}

bool decode_fixed(const Numbers& numbers, size_t size_bytes, void* out) {
  size_t at = 0;
  for (const Bytes chunk : numbers.chunks) at += chunk.size();
  if (at != size_bytes) return false;
  at = 0;
  for (const Bytes chunk : numbers.chunks) {
    std::memcpy(static_cast<std::byte*>(out) + at, chunk.data(), chunk.size());
    at += chunk.size();
  }
  return true;
}

}  // namespace ferrule::onnx
