// bytes > model > graph > composites > claims > placement > passes > kernels > plan > dispatch
#include "core/session/session.h"

#include <algorithm>

#include "core/base/text.h"
#include "core/graph/places.h"
#include "core/session/inputs.h"

namespace ferrule {

Result<std::shared_ptr<Session>> Session::open(std::shared_ptr<Runtime> runtime, Model model,
                                               SessionOptions options) {
  auto session = std::make_shared<Session>();
  FRL_TRY(check_states(model, options.states));
  FRL_TRY(check_droppable(model, options.droppable));
  FRL_LET(session->context_, make_compile_context(*runtime));
  session->runtime_ = std::move(runtime), session->model_ = std::move(model),
  session->options_ = std::move(options);
  return session;
}

Result<std::shared_ptr<const Compiled>> Session::compile(const NamedTensors& inputs) {
  FRL_TRY(check_model_inputs(model_, options_.states, inputs));
  std::lock_guard lock(mutex_);
  const std::string key = form_key(inputs, value_inputs_);
  for (Form& form : forms_)
    if (form.key == key) return form.last_used = ++clock_, form.compiled;
  FRL_LET(auto compiled, within_memory([&] { return compile_form(inputs); }));
  const auto most = size_t(std::max<int64_t>(1, runtime_->config().integer("session.executables")));
  if (forms_.size() >= most) {
    const auto oldest = [](const Form& a, const Form& b) { return a.last_used < b.last_used; };
    forms_.erase(std::min_element(forms_.begin(), forms_.end(), oldest));
  }
  forms_.push_back({form_key(inputs, value_inputs_), compiled, ++clock_});
  const CompileReport& report = compiled->executable->report();
  runtime_->log(
      3, "session",
      cat("compiled a form: ", compiled->executable->plan().steps.size(), " steps, ",
          report.total_ns / 1000, " us, of which kernels ", report.kernels_ns / 1000, " us"));
  return compiled;
}

// The model is imported for exact shapes; inputs that the import wants by value join the key.
Result<Imported> Session::import_form(const NamedTensors& inputs) {
  std::optional<Imported> ready = std::exchange(imported_, std::nullopt);
  if (ready && imported_key_ == form_key(inputs, value_inputs_)) return std::move(*ready);
  ImportRequest request;
  request.states = options_.states, request.outputs = options_.outputs;
  request.parameters = parameters_, request.droppable = options_.droppable;
  FRL_LET(request.shapes, model_shapes(model_, options_.states, inputs));
  Result<Imported> imported = Status(Code::internal, "import: not asked");
  for (;;) {
    for (const std::string& name : value_inputs_)
      if (const auto found = inputs.find(name); found != inputs.end())
        request.values[name] = found->second;
    imported = import_model(model_, request);
    if (!imported.ok() || imported->wanted_values.empty()) return imported;
    const size_t before = value_inputs_.size();
    value_inputs_.insert(imported->wanted_values.begin(), imported->wanted_values.end());
    if (value_inputs_.size() == before)
      return Status(Code::internal,
                    cat("import: asks again for the values of ", join(imported->wanted_values)));
  }
}

Result<std::shared_ptr<const Compiled>> Session::compile_form(const NamedTensors& inputs) {
  FRL_LET(Imported imported, import_form(inputs));
  auto compiled = std::make_shared<Compiled>();
  for (ValueId id : imported.graph.inputs())
    compiled->inputs.push_back(imported.graph.value(id).name);
  compiled->value_inputs.assign(value_inputs_.begin(), value_inputs_.end());
  FRL_LET(compiled->executable, compile_graph(std::move(imported.graph), context_));
  return std::shared_ptr<const Compiled>(std::move(compiled));
}

Result<std::map<std::string, int64_t>> Session::count_places(const NamedTensors& inputs) {
  FRL_TRY(check_model_inputs(model_, options_.states, inputs));
  std::lock_guard lock(mutex_);
  FRL_LET(imported_, within_memory([&] { return import_form(inputs); }));
  imported_key_ = form_key(inputs, value_inputs_);
  const Graph& graph = imported_->graph;
  const std::vector<int64_t> places = ferrule::count_places(graph);
  std::map<std::string, int64_t> out;
  for (size_t i = 0; i < places.size(); ++i)
    if (places[i] != kAnyPlace) out[graph.value(graph.inputs()[i]).name] = places[i];
  return out;
}

Status Session::set_parameter(const std::string& name, Tensor value) {
  std::lock_guard lock(mutex_);
  for (const onnx::TensorProto& initialiser : model_.proto().graph.initializers) {
    if (initialiser.name != name) continue;
    FRL_LET(const Tensor old, model_.tensor(initialiser));
    if (old.type() != value.type())
      return Status(Code::invalid_argument,
                    cat("parameter ", name, ": want ", to_string(old.type()), ", got ",
                        to_string(value.type())));
    parameters_[name] = std::move(value);
    forms_.clear(), imported_.reset();
    return {};
  }
  return Status(Code::not_found, cat("parameter ", name, ": want one of the model's initialisers"));
}

Result<std::vector<NamedTensor>> Session::run(const NamedTensors& inputs,
                                              const RunOptions& options) {
  if (!options_.states.empty())
    return Status(Code::invalid_argument, "run: want a stream for a model with states");
  std::unique_ptr<Stream> stream;
  {
    std::lock_guard lock(pool_mutex_);
    if (!pool_.empty()) stream = std::move(pool_.back()), pool_.pop_back();
  }
  // A pooled stream must not own the session that owns the pool.
  if (!stream)
    stream = std::make_unique<Stream>(std::shared_ptr<Session>(std::shared_ptr<Session>(), this));
  auto outputs = stream->run(inputs, options);
  std::lock_guard lock(pool_mutex_);
  pool_.push_back(std::move(stream));
  return outputs;
}

}  // namespace ferrule
