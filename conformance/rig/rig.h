// Runs single regions on the judged device through the core's driver, with guards round every
// buffer.
//
// Each tensor lies between guard bytes; outputs are pre-filled with a pattern, and inputs are
// compared afterwards, so a byte written outside, an element not written and an input changed are
// all found, in every case of every family.
#pragma once

#include <optional>

#include "conformance/suite/case.h"
#include "core/graph/graph.h"

namespace ferrule::conformance {

// How one operand or result lies in memory.
struct Lay {
  std::vector<int64_t> strides;  // in elements; empty: dense
  int64_t offset_elements = 0;   // of the first element from an aligned place
  int32_t on_input = -1;   // results: lies exactly on this operand (an alias the kernel allows)
  bool parameter = false;  // operands: a weight, which the kernel may want packed
};

struct RunResult {
  Status status;                // a refusal keeps its code (FRL_NO_*)
  std::vector<Tensor> results;  // dense, as computed; with written extents applied
  std::string damage;           // "" or what the guards found, as a sentence
  uint64_t step_ns = 0;         // of the last run, if asked for
  uint64_t scratch_bytes = 0;   // that the kernel asked for
  std::vector<frl_alias> aliases;
};

struct RunOptions {
  std::vector<Lay> operands, results;  // shorter lists are filled up with dense ones
  uint32_t compute = 1;                // FRL_COMPUTE_IEEE
  bool late = false;                   // tensors come with each submit, not with the recording
  bool imported = false;               // operands are the caller's memory, where a space takes it
  int repeats = 1;                     // submits of the same recording
  std::vector<int64_t> extents;        // of given symbols, in their order
  bool time = false;
};

// One opened device with one queue. Reopens the queue after a failure.
//   thread  one at a time
class Rig {
 public:
  // workers 0: on the target's own driver; else the file is loaded anew with a team of so many.
  static Result<std::unique_ptr<Rig>> open(const Target& target, uint32_t workers = 0);

  Device& device() { return *device_; }
  Queue& queue() { return *queue_; }
  const DeviceRow& row() const { return device_->row(); }

  // The claims' answer, then the plugin's own refuse(), for node 0 of a one-node graph.
  Refusal asks(const Graph& one_node, const RunOptions& options = {}) const;

  // Compiles and runs node 0 of a one-node graph. `inputs` as one_node.inputs(); parameters and
  // literals bring their own values.
  RunResult run(const Graph& one_node, std::span<const Tensor> inputs,
                const RunOptions& options = {});

  // The nodes of `graph` one by one on the device, without any fusion: what fused regions are
  // compared with. `inputs` as graph.inputs().
  Result<std::vector<Tensor>> run_unfused(const Graph& graph, std::span<const Tensor> inputs);

 private:
  Rig() = default;
  Status reopen_queue();
  std::shared_ptr<Driver> driver_;
  std::shared_ptr<Device> device_;
  std::unique_ptr<Queue> queue_;
};

}  // namespace ferrule::conformance
