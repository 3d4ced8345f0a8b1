// The C API over Runtime and Session. The only file of libferrule whose names are exported.
#include "core/api/ferrule.h"

#include <dlfcn.h>

#include <filesystem>

#include "core/base/text.h"
#include "core/session/session.h"

using namespace ferrule;

struct ferrule_runtime {
  std::shared_ptr<Runtime> runtime;
};
struct ferrule_session {
  std::shared_ptr<Session> session;
};
struct ferrule_stream {
  std::shared_ptr<Session> session;
  Stream stream;
};
struct ferrule_result {
  std::vector<NamedTensor> tensors;
};

namespace {

int32_t report(const Status& status, ferrule_error* error) {
  if (!error) return int32_t(status.code());
  error->code = int32_t(status.code());
  const size_t n = std::min(status.message().size(), sizeof error->text - 1);
  std::memcpy(error->text, status.message().data(), n);
  error->text[n] = 0;
  return error->code;
}

Status wrong(std::string text) { return Status(Code::invalid_argument, std::move(text)); }

// Memory may run out anywhere below; across the C line it is a code like any other.
template <class Fn>
int32_t guarded(ferrule_error* error, Fn&& fn) {
  return report(within_memory(fn), error);
}

// Plugins that belong to this library lie beside it: lib/ferrule/plugins, or plugins in a build
// tree.
std::vector<std::string> own_folders() {
  Dl_info info{};
  if (!::dladdr(reinterpret_cast<const void*>(&ferrule_version), &info) || !info.dli_fname)
    return {};
  std::error_code code;
  const auto folder = std::filesystem::canonical(info.dli_fname, code).parent_path();
  if (code) return {};
  return {(folder / "ferrule" / "plugins").string(), (folder.parent_path() / "plugins").string()};
}

Result<NamedTensors> read_inputs(const ferrule_tensor* inputs, uint32_t n) {
  NamedTensors out;
  if (n && !inputs) return wrong("inputs: want tensors, got NULL");
  for (uint32_t i = 0; i < n; ++i) {
    const ferrule_tensor& t = inputs[i];
    if (!t.name) return wrong(cat("input ", i, ": want a name, got NULL"));
    const Type type = t.type <= FERRULE_BOOL ? Type(t.type) : Type::none;
    if (type == Type::none || t.rank > FERRULE_MAX_RANK)
      return wrong(
          cat("input ", t.name, ": want a known type and a rank up to ", FERRULE_MAX_RANK));
    auto shape = Shape::checked(std::span(t.extents, t.rank));
    if (!shape.ok()) return std::move(shape).within(cat("input ", t.name)).status();
    const TensorType tensor_type{type, *shape};
    if (uint64_t(tensor_type.size_bytes()) != t.size_bytes || (t.size_bytes && !t.data))
      return wrong(cat("input ", t.name, ": want ", tensor_type.size_bytes(), " bytes for ",
                       to_string(tensor_type), ", got ", t.size_bytes));
    if (!out.emplace(t.name, Tensor(tensor_type,
                                    {static_cast<const std::byte*>(t.data), t.size_bytes}, nullptr))
             .second)
      return wrong(cat("input ", t.name, ": want it once"));
  }
  return out;
}

void write_value(const ModelValue& from, ferrule_value* to) {
  *to = {};
  to->name = from.name.c_str();
  to->rank = uint32_t(std::min<size_t>(from.dims.size(), FERRULE_MAX_RANK));
  for (uint32_t i = 0; i < to->rank; ++i) to->extents[i] = from.dims[i].extent;
  to->type = uint32_t(from.type);
  to->has_shape = from.has_shape, to->has_default = from.has_default;
}

Status open_session(ferrule_runtime* runtime, Result<Model> model, ferrule_session** session) {
  FRL_TRY(model.status());
  FRL_LET(auto opened, Session::open(runtime->runtime, std::move(*model)));
  *session = new ferrule_session{std::move(opened)};
  return {};
}

Status give(Result<std::vector<NamedTensor>> outputs, ferrule_result** result) {
  FRL_TRY(outputs.status());
  *result = new ferrule_result{std::move(*outputs)};
  return {};
}

}  // namespace

extern "C" {

const char* ferrule_version(void) { return "0.1.0"; }

int32_t ferrule_open(const ferrule_options* given, ferrule_runtime** runtime,
                     ferrule_error* error) {
  return guarded(error, [&]() -> Status {
    if (!runtime) return wrong("runtime: want a place for it, got NULL");
    ferrule_options options{};
    if (given) std::memcpy(&options, given, std::min<size_t>(given->size, sizeof options));
    Config config;
    if (!options.ignore_files) FRL_TRY(config.add_standard_files("."));
    if (options.config_toml) FRL_TRY(config.add_toml(options.config_toml, "config_toml", "."));
    RuntimeOptions out;
    if (options.n_plugin_folders && !options.plugin_folders)
      return wrong("plugin_folders: want texts, got NULL");
    for (uint32_t i = 0; i < options.n_plugin_folders; ++i)
      out.folders.push_back(options.plugin_folders[i]);
    for (std::string& folder : own_folders()) out.folders.push_back(std::move(folder));
    if (options.log)
      out.log = [log = options.log, user = options.log_user](int level, const std::string& from,
                                                             const std::string& text) {
        log(user, level, from.c_str(), text.c_str());
      };
    FRL_LET(auto opened, Runtime::open(config, out));
    *runtime = new ferrule_runtime{std::move(opened)};
    return {};
  });
}

void ferrule_close(ferrule_runtime* runtime) { delete runtime; }

uint32_t ferrule_n_verdicts(const ferrule_runtime* runtime) {
  return uint32_t(runtime->runtime->verdicts().size());
}

int32_t ferrule_get_verdict(const ferrule_runtime* runtime, uint32_t number, ferrule_verdict* out) {
  const auto verdicts = runtime->runtime->verdicts();
  if (number >= verdicts.size()) return FRL_INVALID;
  const Verdict& v = verdicts[number];
  *out = {v.path.c_str(), v.id.c_str(), stage_name(v.stage), v.status.message().c_str(),
          int32_t(v.status.code())};
  return FRL_OK;
}

int32_t ferrule_load(ferrule_runtime* runtime, const char* path, ferrule_session** session,
                     ferrule_error* error) {
  return guarded(error, [&]() -> Status {
    if (!runtime || !path || !session)
      return wrong("load: want a runtime, a path and a place for the session, got NULL");
    return open_session(runtime, Model::load(path), session);
  });
}

int32_t ferrule_load_bytes(ferrule_runtime* runtime, const void* bytes, uint64_t size_bytes,
                           ferrule_session** session, ferrule_error* error) {
  return guarded(error, [&]() -> Status {
    if (!runtime || !bytes || !session)
      return wrong("load: want a runtime, bytes and a place for the session, got NULL");
    const auto* first = static_cast<const std::byte*>(bytes);
    const auto copy = std::make_shared<const std::vector<std::byte>>(first, first + size_bytes);
    return open_session(runtime, Model::parse(*copy, copy, "."), session);
  });
}

void ferrule_session_close(ferrule_session* session) { delete session; }
uint32_t ferrule_n_inputs(const ferrule_session* session) {
  return uint32_t(session->session->model().inputs().size());
}
uint32_t ferrule_n_outputs(const ferrule_session* session) {
  return uint32_t(session->session->model().outputs().size());
}

int32_t ferrule_input(const ferrule_session* session, uint32_t number, ferrule_value* value) {
  if (number >= ferrule_n_inputs(session)) return FRL_INVALID;
  return write_value(session->session->model().inputs()[number], value), FRL_OK;
}

int32_t ferrule_output(const ferrule_session* session, uint32_t number, ferrule_value* value) {
  if (number >= ferrule_n_outputs(session)) return FRL_INVALID;
  return write_value(session->session->model().outputs()[number], value), FRL_OK;
}

int32_t ferrule_run(ferrule_session* session, const ferrule_tensor* inputs, uint32_t n_inputs,
                    ferrule_result** result, ferrule_error* error) {
  return guarded(error, [&]() -> Status {
    if (!session || !result)
      return wrong("run: want a session and a place for the result, got NULL");
    FRL_LET(const NamedTensors named, read_inputs(inputs, n_inputs));
    return give(session->session->run(named), result);
  });
}

uint32_t ferrule_result_n(const ferrule_result* result) { return uint32_t(result->tensors.size()); }

int32_t ferrule_result_tensor(const ferrule_result* result, uint32_t number, ferrule_tensor* out) {
  if (number >= result->tensors.size()) return FRL_INVALID;
  const NamedTensor& t = result->tensors[number];
  *out = {t.name.c_str(),
          t.tensor.bytes().data(),
          t.tensor.bytes().size(),
          {},
          uint32_t(t.tensor.shape().rank()),
          uint32_t(t.tensor.element())};
  for (uint32_t i = 0; i < out->rank; ++i) out->extents[i] = t.tensor.shape()[i];
  return FRL_OK;
}

void ferrule_result_close(ferrule_result* result) { delete result; }

int32_t ferrule_stream_open(ferrule_session* session, const char* const* states, uint32_t n_states,
                            ferrule_stream** stream, ferrule_error* error) {
  return guarded(error, [&]() -> Status {
    if (!session || !stream || (n_states && !states))
      return wrong("stream: want a session, states and a place for the stream, got NULL");
    SessionOptions options;
    for (uint32_t i = 0; i < n_states; ++i) options.states[states[2 * i]] = states[2 * i + 1];
    FRL_LET(auto own, Session::open(session->session->shared_runtime(), session->session->model(),
                                    std::move(options)));
    *stream = new ferrule_stream{own, Stream(own)};
    return {};
  });
}

int32_t ferrule_stream_run(ferrule_stream* stream, const ferrule_tensor* inputs, uint32_t n_inputs,
                           ferrule_result** result, ferrule_error* error) {
  return guarded(error, [&]() -> Status {
    if (!stream || !result) return wrong("run: want a stream and a place for the result, got NULL");
    FRL_LET(const NamedTensors named, read_inputs(inputs, n_inputs));
    return give(stream->stream.run(named), result);
  });
}

void ferrule_stream_close(ferrule_stream* stream) { delete stream; }

}  // extern "C"
