// From a graph to an executable: canonicalise > place > fuse > kernels > plan.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "core/dispatch/executable.h"
#include "core/place/lock.h"
#include "core/session/runtime.h"

namespace ferrule {

// Kernels by device and region bytes; shared by the executables of a session.
class KernelCache {
 public:
  Result<std::shared_ptr<Kernel>> kernel(const std::shared_ptr<Device>& device,
                                         const Block& region);

 private:
  struct Entry {
    Block region;
    std::shared_ptr<Device> device;
    std::shared_ptr<Kernel> kernel;
  };
  std::mutex mutex_;
  std::multimap<uint64_t, Entry> entries_;
};

// What all compilations of a session share.
struct CompileContext {
  std::vector<Target> targets;
  std::vector<std::shared_ptr<const DeviceRow>> calibrated;  // that targets point into
  std::vector<const DeviceEntry*> entries;       // by target
  std::vector<std::shared_ptr<Device>> devices;  // by target
  FuseOptions options;
  std::shared_ptr<ParameterStore> parameters = std::make_shared<ParameterStore>();
  std::shared_ptr<KernelCache> kernels = std::make_shared<KernelCache>();
  std::shared_ptr<LockFile> lock;  // null: costs alone decide
  bool check_plans = false;
  std::function<void(const std::string&)> warn;  // takes sentences that are no errors; may be empty
};

// Opens the allowed devices and reads the options out of the config.
// The context refers to the runtime, which outlives it.
Result<CompileContext> make_compile_context(const Runtime& runtime);

// Options of the passes as the config has them.
Result<FuseOptions> fuse_options(const Config& config);

// The whole line for one graph; bodies of control flow are compiled on the way.
//   errors  unsupported (placement), or those of plugins, with the model's node names
Result<std::shared_ptr<const Executable>> compile_graph(
    Graph graph, const CompileContext& context, std::set<std::string>* read_parameters = nullptr);

// How an executable and the bodies of its control flow were placed, put into `lock`; names in a
// body have the node around it in front: "loop1 (Loop)/0: ". True if any of it was news.
bool add_placements(PlacementLock& lock, const Executable& executable,
                    std::span<const Target> targets, const std::string& scope = {});

}  // namespace ferrule
