// Each message's fields by number, as onnx.proto has them.
#include "core/model/wire.h"

#include "core/base/text.h"
#include "core/model/wire_reader.h"

namespace ferrule::onnx {
namespace {

class Decoder : private FieldReader {
 public:
  Decoder(Bytes file, const WireLimits& limits)
      : FieldReader(file), depth_left_(limits.depth), messages_left_(limits.n_messages) {}

  Status read(Bytes bytes, ModelProto& out);
  Status read(Bytes bytes, TensorProto& out);

 private:
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

  int depth_left_;
  uint64_t messages_left_;
};

Status Decoder::read(Bytes bytes, EntryProto& out) {
  return each(bytes, [&](const Field& f) -> Status {
    switch (f.number) {
      case 1:
        return text(f, out.key);
      case 2:
        return text(f, out.value);
      default:
        return {};
    }
  });
}

Status Decoder::read(Bytes bytes, TensorProto& out) {
  return each(bytes, [&](const Field& f) -> Status {
    switch (f.number) {
      case 1:
        return integers(f, out.dims);
      case 2:
        return integer(f, out.data_type);
      case 3:
        return out.has_segment = true, want(f, kBytes);
      case 4:
        return numbers(f, kFixed32, out.floats);
      case 5:
        return numbers(f, kVarint, out.int32s);
      case 6:
        return ++out.n_strings, want(f, kBytes);
      case 7:
        return numbers(f, kVarint, out.int64s);
      case 8:
        return text(f, out.name);
      case 9:
        return out.raw = f.bytes, out.has_raw = true, want(f, kBytes);
      case 10:
        return numbers(f, kFixed64, out.doubles);
      case 11:
        return numbers(f, kVarint, out.uint64s);
      case 13:
        return message(f, out.external);
      case 14:
        return integer(f, out.location);
      default:
        return {};
    }
  });
}

Status Decoder::read(Bytes bytes, SparseProto& out) {
  return each(bytes, [&](const Field& f) -> Status {
    switch (f.number) {
      case 1:
        return message(f, out.values);
      case 2:
        return message(f, out.indices);
      case 3:
        return integers(f, out.dims);
      default:
        return {};
    }
  });
}

Status Decoder::read(Bytes bytes, DimProto& out) {
  return each(bytes, [&](const Field& f) -> Status {
    switch (f.number) {
      case 1:
        return out.has_value = true, integer(f, out.value);
      case 2:
        return text(f, out.symbol);
      default:
        return {};
    }
  });
}

Status Decoder::read_shape(Bytes bytes, TypeProto& out) {
  return each(bytes,
              [&](const Field& f) { return f.number == 1 ? message(f, out.dims) : Status(); });
}

Status Decoder::read_tensor_type(Bytes bytes, TypeProto& out) {
  return each(bytes, [&](const Field& f) -> Status {
    switch (f.number) {
      case 1:
        return integer(f, out.element);
      case 2:
        out.has_shape = true;
        FRL_TRY(want(f, kBytes));
        return read_shape(f.bytes, out);
      default:
        return {};
    }
  });
}

Status Decoder::read(Bytes bytes, TypeProto& out) {
  const auto wrapped = [&](const Field& f, TypeKind kind) {
    out.kind = kind;
    return each(f.bytes,
                [&](const Field& g) { return g.number == 1 ? message(g, out.inner) : Status(); });
  };
  return each(bytes, [&](const Field& f) -> Status {
    if (f.number == 6 || f.number > 9 || f.number == 7) return {};
    FRL_TRY(want(f, kBytes));
    switch (f.number) {
      case 1:
        return out.kind = TypeKind::tensor, read_tensor_type(f.bytes, out);
      case 4:
        return wrapped(f, TypeKind::sequence);
      case 5:
        return out.kind = TypeKind::map, Status();
      case 8:
        return out.kind = TypeKind::sparse, read_tensor_type(f.bytes, out);
      case 9:
        return wrapped(f, TypeKind::optional);
      default:
        return {};
    }
  });
}

Status Decoder::read(Bytes bytes, ValueProto& out) {
  return each(bytes, [&](const Field& f) -> Status {
    switch (f.number) {
      case 1:
        return text(f, out.name);
      case 2:
        return message(f, out.type);
      default:
        return {};
    }
  });
}

// The kind of an attribute whose file does not say it (ir version 1), from the field that is there.
AttributeType type_of_field(uint32_t number) {
  switch (number) {
    case 2:
      return AttributeType::real;
    case 3:
      return AttributeType::integer;
    case 4:
      return AttributeType::text;
    case 5:
      return AttributeType::tensor;
    case 6:
      return AttributeType::graph;
    case 7:
      return AttributeType::reals;
    case 8:
      return AttributeType::integers;
    case 9:
      return AttributeType::texts;
    default:
      return AttributeType::undefined;
  }
}

Status Decoder::read(Bytes bytes, AttributeProto& out) {
  int64_t type = 0;
  AttributeType seen = AttributeType::undefined;
  FRL_TRY(each(bytes, [&](const Field& f) -> Status {
    if (const AttributeType of = type_of_field(f.number); of != AttributeType::undefined) seen = of;
    switch (f.number) {
      case 1:
        return text(f, out.name);
      case 2:
        return real(f, out.f);
      case 3:
        return integer(f, out.i);
      case 4:
        return text(f, out.s);
      case 5:
        return message(f, out.tensor);
      case 6:
        return message(f, out.graph);
      case 7:
        return reals(f, out.floats);
      case 8:
        return integers(f, out.ints);
      case 9:
        return text(f, out.strings);
      case 20:
        return integer(f, type);
      case 21:
        return text(f, out.reference);
      case 22:
        return message(f, out.sparse);
      default:
        return {};
    }
  }));
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

Status Decoder::read(Bytes bytes, NodeProto& out) {
  return each(bytes, [&](const Field& f) -> Status {
    switch (f.number) {
      case 1:
        return text(f, out.inputs);
      case 2:
        return text(f, out.outputs);
      case 3:
        return text(f, out.name);
      case 4:
        return text(f, out.op);
      case 5:
        return message(f, out.attributes);
      case 7:
        return text(f, out.domain);
      case 8:
        return text(f, out.overload);
      default:
        return {};
    }
  });
}

Status Decoder::read(Bytes bytes, GraphProto& out) {
  return each(bytes, [&](const Field& f) -> Status {
    switch (f.number) {
      case 1:
        return message(f, out.nodes);
      case 2:
        return text(f, out.name);
      case 5:
        return message(f, out.initializers);
      case 11:
        return message(f, out.inputs);
      case 12:
        return message(f, out.outputs);
      case 15:
        return message(f, out.sparse_initializers);
      default:
        return {};
    }
  });
}

Status Decoder::read(Bytes bytes, OpsetProto& out) {
  return each(bytes, [&](const Field& f) -> Status {
    switch (f.number) {
      case 1:
        return text(f, out.domain);
      case 2:
        return integer(f, out.version);
      default:
        return {};
    }
  });
}

Status Decoder::read(Bytes bytes, FunctionProto& out) {
  return each(bytes, [&](const Field& f) -> Status {
    switch (f.number) {
      case 1:
        return text(f, out.name);
      case 4:
        return text(f, out.inputs);
      case 5:
        return text(f, out.outputs);
      case 6:
        return text(f, out.attributes);
      case 7:
        return message(f, out.nodes);
      case 9:
        return message(f, out.opsets);
      case 10:
        return text(f, out.domain);
      case 11:
        return message(f, out.defaults);
      case 13:
        return text(f, out.overload);
      default:
        return {};
    }
  });
}

Status Decoder::read(Bytes bytes, ModelProto& out) {
  return each(bytes, [&](const Field& f) -> Status {
    switch (f.number) {
      case 1:
        return integer(f, out.ir_version);
      case 2:
        return text(f, out.producer);
      case 3:
        return text(f, out.producer_version);
      case 4:
        return text(f, out.domain);
      case 7:
        return out.has_graph = true, message(f, out.graph);
      case 8:
        return message(f, out.opsets);
      case 14:
        return message(f, out.metadata);
      case 25:
        return message(f, out.functions);
      default:
        return {};
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

}  // namespace ferrule::onnx
