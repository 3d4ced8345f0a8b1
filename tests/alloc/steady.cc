// Steady-state runs allocate nothing, plugins included. Started with count_allocations.so
// preloaded.
#include <dlfcn.h>

#include <atomic>
#include <cstdio>

#include "core/session/session.h"

using namespace ferrule;

namespace {

Tensor input_of(const ModelValue& value) {
  Shape shape;
  // Open extents: one in the batch; elsewhere the chunk of the voice detector, the only model that
  // has them.
  for (const ModelDim& dim : value.dims)
    shape.push_back(dim.extent >= 0                               ? dim.extent
                    : shape.rank() == 1 && value.dims.size() == 2 ? 576
                                                                  : 1);
  Tensor out(TensorType{value.type, shape});
  for (int64_t i = 0; i < out.n_elements(); ++i)
    out.set_f64(i, value.type == Type::i64 ? 16000 : double(i % 17) / 17);
  return out;
}

// Allocations of 50 runs after three that warm up; -1 for an error.
long allocations_of(const std::shared_ptr<Runtime>& runtime, const std::string& path,
                    const std::atomic<long>& count) {
  auto model = Model::load(path);
  if (!model.ok()) return std::printf("%s\n", model.status().message().c_str()), -1;
  NamedTensors inputs;
  for (const ModelValue& value : model->inputs())
    if (!value.has_default) inputs[value.name] = input_of(value);
  auto session = Session::open(runtime, std::move(*model));
  if (!session.ok()) return std::printf("%s\n", session.status().message().c_str()), -1;
  const auto compiled = (*session)->compile(inputs);
  if (!compiled.ok()) return std::printf("%s\n", compiled.status().message().c_str()), -1;
  const Graph& graph = (*compiled)->executable->graph();
  std::vector<const Tensor*> given;
  for (const std::string& name : (*compiled)->inputs) given.push_back(&inputs.at(name));
  std::vector<Tensor> outputs;
  std::vector<void*> addresses;
  for (const Output& output : graph.outputs()) outputs.emplace_back(graph.type(output.value));
  for (Tensor& output : outputs) addresses.push_back(output.mutable_data());
  Stream stream(*session);
  long before = 0;
  for (int i = 0; i < 53; ++i) {
    if (i == 3) before = count;
    if (const Status s = stream.run_into(**compiled, given, addresses); !s.ok())
      return std::printf("%s\n", s.message().c_str()), -1;
  }
  return count - before;
}

}  // namespace

int main() {
  const auto* count =
      static_cast<const std::atomic<long>*>(::dlsym(RTLD_DEFAULT, "ferrule_allocations"));
  if (!count) return std::printf("want count_allocations.so preloaded\n"), 1;
  RuntimeOptions options;
  options.folders = {FRL_BUILD_DIR "/plugins"};
  Config config;
  if (!config.set("targets.order", "cpu", "test").ok()) return 1;
  const auto runtime = Runtime::open(config, options);
  if (!runtime.ok()) return 1;
  int failed = 0;
  // Convolutions, products, recurrence, branches.
  for (const char* name : {"mnist_cntk", "super_resolution", "dtln_1", "magika_fast_v2_1",
                           "silero_vad_16k", "ultraface_slim_320"}) {
    const long n = allocations_of(
        *runtime, std::string(FRL_TEST_DATA "/models/real/") + name + "/model.onnx", *count);
    std::printf("%s: %ld allocations in 50 runs\n", name, n);
    failed += n != 0;
  }
  return failed;
}
