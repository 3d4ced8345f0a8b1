// Each message's fields by number, as onnx.proto has them.
#include "core/model/wire.h"

#include <type_traits>

#include "core/base/text.h"
#include "core/model/wire_reader.h"

namespace ferrule::onnx {
namespace {

// "Field `number` goes to `place`": a member, or a function from the field to a Status.
template <class T>
struct On {
  uint32_t number;
  T place;
};
template <class T>
On(uint32_t, T&) -> On<T&>;
template <class T>
On(uint32_t, T&&) -> On<T>;

class Decoder : private FieldReader {
 public:
  Decoder(Bytes file, const WireLimits& limits)
      : FieldReader(file), depth_left_(limits.depth), messages_left_(limits.n_messages) {}

  Status read(Bytes bytes, ModelProto& out);
  Status read(Bytes bytes, TensorProto& out);

 private:
  // A message: its fields go where the rows say, all others are skipped.
  template <class... Rows>
  Status fields(Bytes message, const Rows&... rows) {
    return each(message, [&](const Field& field) {
      Status status;
      ((field.number == rows.number && (status = take(field, rows.place), true)) || ...);
      return status;
    });
  }

  template <class T>
  Status take(const Field& field, T& out) {
    if constexpr (std::is_invocable_v<T, const Field&>) {
      return out(field);
    } else if constexpr (std::is_same_v<T, std::string_view> ||
                         std::is_same_v<T, std::vector<std::string_view>>) {
      return text(field, out);
    } else if constexpr (std::is_same_v<T, int64_t>) {
      return integer(field, out);
    } else if constexpr (std::is_same_v<T, std::vector<int64_t>>) {
      return integers(field, out);
    } else if constexpr (std::is_same_v<T, float>) {
      return real(field, out);
    } else if constexpr (std::is_same_v<T, std::vector<float>>) {
      return reals(field, out);
    } else if constexpr (std::is_same_v<T, Bytes>) {
      return out = field.bytes, want(field, kBytes);
    } else {
      return message(field, out);
    }
  }

  template <class T>
  Status message(const Field& field, T& out) {
    FRL_TRY(want(field, kBytes));
    if (depth_left_ == 0)
      return fail(field.bytes.data(), "messages are nested too deeply", Code::out_of_limits);
    if (messages_left_ == 0)
      return fail(field.bytes.data(), "the file has too many messages", Code::out_of_limits);
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

  Status read(Bytes bytes, TypeProto& out);
  Status read(Bytes bytes, AttributeProto& out);
  Status read(Bytes b, EntryProto& o) { return fields(b, On{1, o.key}, On{2, o.value}); }
  Status read(Bytes b, DimProto& o) {
    // Some exporters write -1 for an extent that is open.
    const auto value = [&](const Field& f) {
      const Status status = integer(f, o.value);
      return o.has_value = o.value != -1, status;
    };
    return fields(b, On{1, value}, On{2, o.symbol});
  }
  Status read(Bytes b, SparseProto& o) {
    return fields(b, On{1, o.values}, On{2, o.indices}, On{3, o.dims});
  }
  Status read(Bytes b, ValueProto& o) { return fields(b, On{1, o.name}, On{2, o.type}); }
  Status read(Bytes b, OpsetProto& o) { return fields(b, On{1, o.domain}, On{2, o.version}); }
  Status read(Bytes b, NodeProto& o) {
    return fields(b, On{1, o.inputs}, On{2, o.outputs}, On{3, o.name}, On{4, o.op},
                  On{5, o.attributes}, On{7, o.domain}, On{8, o.overload});
  }
  Status read(Bytes b, GraphProto& o) {
    return fields(b, On{1, o.nodes}, On{2, o.name}, On{5, o.initializers}, On{11, o.inputs},
                  On{12, o.outputs}, On{13, o.values}, On{15, o.sparse_initializers});
  }
  Status read(Bytes b, FunctionProto& o) {
    return fields(b, On{1, o.name}, On{4, o.inputs}, On{5, o.outputs}, On{6, o.attributes},
                  On{7, o.nodes}, On{9, o.opsets}, On{10, o.domain}, On{11, o.defaults},
                  On{13, o.overload});
  }

  int depth_left_;
  uint64_t messages_left_;
};

Status Decoder::read(Bytes bytes, TensorProto& out) {
  const auto encoded = [&](uint8_t wire, Numbers& to) {
    return [this, wire, to = &to](const Field& field) { return numbers(field, wire, *to); };
  };
  return fields(bytes, On{1, out.dims}, On{2, out.data_type}, On{3, out.segment},
                On{4, encoded(kFixed32, out.floats)}, On{5, encoded(kVarint, out.int32s)},
                On{7, encoded(kVarint, out.int64s)}, On{8, out.name}, On{9, out.raw},
                On{10, encoded(kFixed64, out.doubles)}, On{11, encoded(kVarint, out.uint64s)},
                On{13, out.external}, On{14, out.location});
}

Status Decoder::read(Bytes bytes, TypeProto& out) {
  const auto shape = [&](const Field& field) {
    out.has_shape = true;
    FRL_TRY(want(field, kBytes));
    return fields(field.bytes, On{1, out.dims});
  };
  const auto tensor = [&](TypeKind kind) {
    return [&, kind](const Field& field) {
      out.kind = kind;
      FRL_TRY(want(field, kBytes));
      return fields(field.bytes, On{1, out.element}, On{2, shape});
    };
  };
  const auto wrapped = [&](TypeKind kind) {
    return [&, kind](const Field& field) {
      out.kind = kind;
      FRL_TRY(want(field, kBytes));
      return fields(field.bytes, On{1, out.inner});
    };
  };
  const auto map = [&](const Field& field) {
    return out.kind = TypeKind::map, want(field, kBytes);
  };
  return fields(bytes, On{1, tensor(TypeKind::tensor)}, On{4, wrapped(TypeKind::sequence)},
                On{5, map}, On{8, tensor(TypeKind::sparse)}, On{9, wrapped(TypeKind::optional)});
}

// The kind of an attribute whose file does not say it (ir version 1): fields 2 to 9 in order.
constexpr AttributeType kTypeOfField[] = {AttributeType::undefined, AttributeType::undefined,
                                          AttributeType::real,      AttributeType::integer,
                                          AttributeType::text,      AttributeType::tensor,
                                          AttributeType::graph,     AttributeType::reals,
                                          AttributeType::integers,  AttributeType::texts};

Status Decoder::read(Bytes bytes, AttributeProto& out) {
  int64_t type = 0;
  AttributeType seen = AttributeType::undefined;
  const auto noted = [&](auto& place) {
    return [this, &seen, to = &place](const Field& field) {
      seen = kTypeOfField[field.number];
      return take(field, *to);
    };
  };
  FRL_TRY(fields(bytes, On{1, out.name}, On{2, noted(out.f)}, On{3, noted(out.i)},
                 On{4, noted(out.s)}, On{5, noted(out.tensor)}, On{6, noted(out.graph)},
                 On{7, noted(out.floats)}, On{8, noted(out.ints)}, On{9, noted(out.strings)},
                 On{20, type}, On{21, out.reference}, On{22, out.sparse}));
  if (type < 0 || type > int64_t(AttributeType::types))
    return fail(bytes.data(),
                cat("attribute '", out.name, "': want a type from 0 to 14, got ", type));
  out.type = type ? AttributeType(type) : seen;
  if (out.type == AttributeType::tensor && !out.tensor)
    out.tensor = std::make_shared<TensorProto>();
  if (out.type == AttributeType::graph && !out.graph) out.graph = std::make_shared<GraphProto>();
  if (out.type == AttributeType::sparse && !out.sparse)
    out.sparse = std::make_shared<SparseProto>();
  return {};
}

Status Decoder::read(Bytes bytes, ModelProto& out) {
  const auto graph = [&](const Field& f) { return out.has_graph = true, message(f, out.graph); };
  return fields(bytes, On{1, out.ir_version}, On{2, out.producer}, On{3, out.producer_version},
                On{4, out.domain}, On{7, graph}, On{8, out.opsets}, On{14, out.metadata},
                On{25, out.functions});
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

}  // namespace ferrule::onnx
