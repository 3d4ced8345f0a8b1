// Session: a model on a runtime. compile() and run() are the whole line; the first file to open.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/model/import.h"
#include "core/session/compile.h"

namespace ferrule {

struct NamedTensor {
  std::string name;
  Tensor tensor;
  bool absent = false;  // a droppable output that was not computed for the caller: no elements
};

using NamedTensors = std::map<std::string, Tensor>;

struct SessionOptions {
  std::map<std::string, std::string> states;  // input -> the output that is its next value
  std::vector<std::string> outputs;           // wanted ones; empty: all
  // Outputs that may come back as absent where what is made of them is enough (peaks of a
  // spectrum).
  std::set<std::string> droppable;
};

// One compiled form of the model: for these input shapes, and these elements of inputs that shapes
// depend on.
struct Compiled {
  std::shared_ptr<const Executable> executable;
  std::vector<std::string> inputs;        // by graph input; states included
  std::vector<std::string> value_inputs;  // whose elements are part of the key
};

class Session;

// One caller's place to run in: memory, queues and the state leaves of one stream of inputs.
//   thread  one at a time; any number of streams beside each other
class Stream {
 public:
  explicit Stream(std::shared_ptr<Session> session) : session_(std::move(session)) {}

  // Runs the model. State leaves keep their values from run to run, zero at first; an input sets one.
  //   errors  invalid_argument for inputs that do not fit the model; else those of compile and run
  Result<std::vector<NamedTensor>> run(const NamedTensors& inputs, const RunOptions& options = {});

  // The same into memory of the caller: one address for each output of the compiled form, whose
  // shapes are exact. Allocates nothing once it has run with these shapes.
  Status run_into(const Compiled& compiled, std::span<const Tensor* const> inputs,
                  std::span<void* const> outputs, const RunOptions& options = {});

  Result<RunContext*> context(const Compiled& compiled);

 private:
  struct Slot {
    std::shared_ptr<const Executable> executable;
    std::unique_ptr<RunContext> context;
  };
  void carry_states(RunContext& to, const Executable& executable);
  Result<std::vector<NamedTensor>> run_held(const NamedTensors& inputs, const RunOptions& options);

  std::shared_ptr<Session> session_;
  std::vector<Slot> slots_;
  Slot* last_ = nullptr;
  std::vector<const void*> input_addresses_;
};

class Session : public std::enable_shared_from_this<Session> {
 public:
  //   errors  no_device; invalid_argument for states that the model has not
  static Result<std::shared_ptr<Session>> open(std::shared_ptr<Runtime> runtime, Model model,
                                               SessionOptions options = {});

  // The compiled form for inputs of these shapes (and, where shapes depend on them, elements).
  //   thread  any; the same form for everybody
  Result<std::shared_ptr<const Compiled>> compile(const NamedTensors& inputs);

  // How many places the elements of each input choose among (token ids: the rows of their table),
  // for inputs of these shapes; no entry for those that name none.
  //   errors  those of the import
  Result<std::map<std::string, int64_t>> count_places(const NamedTensors& inputs);

  // Sets an initialiser of the model anew. The next compile() or run() sees it, and so does all
  // that was made of it: folded constants, weights laid side by side, packs. A run that has begun
  // keeps the old one.
  //   errors  not_found; invalid_argument for another type or shape
  //   thread  any
  Status set_parameter(const std::string& name, Tensor value);

  // Runs on a stream from a pool; for models without states.
  //   thread  any number at once
  Result<std::vector<NamedTensor>> run(const NamedTensors& inputs, const RunOptions& options = {});

  const Model& model() const { return model_; }
  const Runtime& runtime() const { return *runtime_; }
  std::shared_ptr<Runtime> shared_runtime() const { return runtime_; }
  const CompileContext& context() const { return context_; }
  const SessionOptions& options() const { return options_; }

 private:
  struct Form {
    std::string key;
    std::shared_ptr<const Compiled> compiled;
    uint64_t last_used = 0;
  };
  Result<Imported> import_form(const NamedTensors& inputs);
  Result<std::shared_ptr<const Compiled>> compile_form(const NamedTensors& inputs);

  std::shared_ptr<Runtime> runtime_;
  Model model_;
  SessionOptions options_;
  CompileContext context_;
  std::mutex mutex_;
  std::set<std::string> value_inputs_;  // grows as forms are imported
  std::vector<Form> forms_;
  std::map<std::string, Tensor> parameters_;  // those that were set
  uint64_t clock_ = 0;
  // What count_places() imported, for the form that is most likely next.
  std::string imported_key_;
  std::optional<Imported> imported_;
  std::mutex pool_mutex_;
  std::vector<std::unique_ptr<Stream>> pool_;
};

}  // namespace ferrule
