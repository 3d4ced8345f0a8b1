// Executable: a plan with its kernels, immutable; many threads run it at once, each with a context.
// RunContext: the memory, queues and recordings of one run at a time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/dispatch/parameters.h"
#include "core/place/place.h"
#include "core/plan/plan.h"

namespace ferrule {

// What compiling decided, for explain.
struct CompileReport {
  std::vector<std::string> targets;  // by device number
  FuseReport canonical;
  Placement placement;
  std::vector<FuseReport> fusion;  // by device number
  int64_t place_ns = 0, kernels_ns = 0, plan_ns = 0, total_ns = 0;
};

class RunContext;

class Executable : public std::enable_shared_from_this<Executable> {
 public:
  struct Parts {
    Graph graph;
    std::vector<std::shared_ptr<Device>> devices;  // by device number
    std::vector<std::shared_ptr<Kernel>> kernels;  // by node; null for views and control flow
    std::vector<std::vector<std::shared_ptr<const Executable>>> bodies;  // by node
    Plan plan;
    CompileReport report;
    std::shared_ptr<ParameterStore> parameters;
  };
  // Uploads and packs parameters.
  static Result<std::shared_ptr<const Executable>> create(Parts parts);

  const Graph& graph() const { return parts_.graph; }
  const Plan& plan() const { return parts_.plan; }
  const CompileReport& report() const { return parts_.report; }
  std::span<const std::shared_ptr<Device>> devices() const { return parts_.devices; }
  const std::vector<std::shared_ptr<const Executable>>& bodies(NodeId node) const {
    return parts_.bodies[index(node)];
  }
  const Kernel* kernel(NodeId node) const { return parts_.kernels[index(node)].get(); }

  Result<std::unique_ptr<RunContext>> make_context() const;

 private:
  friend class RunContext;
  explicit Executable(Parts parts) : parts_(std::move(parts)) {}
  Parts parts_;
  std::vector<std::vector<Upload>> resident_;  // by device, then plan parameter
  std::vector<Upload> packs_;                  // by plan pack
};

struct RunOptions {
  const uint32_t* cancel = nullptr;  // set to stop early
  bool time_steps = false;
};

// Time of one kernel of the last run that was timed.
struct StepTime {
  NodeId node = kNoNode;
  uint32_t device = 0;
  uint64_t ns = 0;
};

//   thread  one at a time; destroy it before the executable's devices
class RunContext {
 public:
  ~RunContext();

  // Runs the plan. inputs: addresses by graph input (those of states are ignored); outputs:
  // addresses of graph outputs of exact shape (null for the others, see output()). Both aligned to
  // 64 bytes.
  //   errors  the failing step's, with the model node's name; the context can be used again
  Status run(std::span<const void* const> inputs, std::span<void* const> outputs,
             const RunOptions& options = {});

  // After a run: an output whose extent depends on data, cut to its true shape.
  Result<Tensor> output(size_t number) const;

  // State leaves, in the order of the plan; zero in a new context.
  std::span<std::byte> state(size_t number);
  std::vector<StepTime> step_times() const;
  uint64_t arena_bytes() const;

 private:
  friend class Executable;
  struct Segment;
  struct HostBlock;
  explicit RunContext(std::shared_ptr<const Executable> executable);
  Status allocate();
  Status record_all();
  Status record(const SubmitStep& step, Segment& segment);
  frl_binding fixed_binding(const Place& place, uint32_t device) const;
  std::byte* host_address(const Place& place) const;
  frl_binding copy_side(const Place& place, uint32_t device) const;

  Status step(const SubmitStep& step, size_t number);
  Status step(const CopyStep& step, size_t number);
  Status step(const WaitStep& step, size_t number);
  Status step(const ControlStep& step, size_t number);
  using Bodies = std::vector<std::unique_ptr<RunContext>>;
  Status run_if(const ControlStep& step, Bodies& bodies);
  Status run_while(const ControlStep& step, const Node& node, Bodies& bodies);
  Status run_scan(const ControlStep& step, const Node& node, RunContext& body);
  Status named(Status status, const SubmitStep& step, int32_t subject) const;
  Status submit(uint32_t device, frl_submit& request);
  Status keep_states();
  Status recover();

  std::shared_ptr<const Executable> executable_;
  std::vector<HostBlock> host_blocks_;                               // of the host's arena
  std::vector<std::vector<std::unique_ptr<Buffer>>> device_blocks_;  // by device
  std::vector<std::unique_ptr<Buffer>> extents_;    // by device; null where host memory serves
  std::vector<std::vector<int64_t>> host_extents_;  // by device
  std::vector<Tensor> states_;
  std::vector<std::unique_ptr<Queue>> queues_;                    // by device; null until used
  std::vector<std::unique_ptr<Segment>> segments_;                // by step; null for other steps
  std::vector<std::vector<frl_copy>> copies_;                     // by step
  std::vector<std::vector<std::unique_ptr<RunContext>>> bodies_;  // by step, then body
  std::vector<const void*> body_inputs_;
  std::vector<void*> body_outputs_;
  std::span<const void* const> inputs_;
  std::span<void* const> outputs_;
  RunOptions options_;
  int32_t subject_ = -1;                     // of the last submit that failed
  const SubmitStep* last_submit_ = nullptr;  // to a queue that is not inline
  bool ready_ = false, failed_ = false;
};

}  // namespace ferrule
