// Plan: the steps of one executable, and where every value lies. A description; nothing here runs.
#pragma once

#include <variant>
#include <vector>

#include "core/graph/graph.h"

namespace ferrule {

// What planning must know of a device.
struct PlanDevice {
  bool host_memory = false;  // kernels take host addresses: values lie in the host's arena
  bool is_inline = false;    // submit returns when the work is done
  uint64_t align_bytes = 64;
  uint64_t max_alloc_bytes = UINT64_MAX;  // of one arena block
};

// What planning must know of the compiled kernel of a node.
struct PlanKernel {
  bool present = false;  // false for control flow and for views
  uint64_t scratch_bytes = 0;
  std::vector<frl_pack> packs;
  std::vector<frl_alias> aliases;
};

// Where bytes are. Space 0 is the host's arena, 1 + d the arena of device d.
struct Place {
  enum class Kind : uint8_t { none, input, output, parameter, pack, state, arena, extents };
  Kind kind = Kind::none;
  uint32_t number =
      0;  // of the input, output, parameter, pack, state; space of an arena; device of extents
  uint32_t block = 0;   // of an arena
  uint64_t offset = 0;  // bytes
  bool operator==(const Place&) const = default;
};

struct KernelStep {
  NodeId node = kNoNode;
  std::vector<Place> args;  // inputs, outputs, written extents, scratch
};

struct SubmitStep {
  uint32_t device = 0;
  std::vector<KernelStep> kernels;
};

// Between the host and the memory of one device, through the device's queue.
struct CopyStep {
  struct Copy {
    Place target, source;
    uint64_t size_bytes = 0;
    ValueId value = kNoValue;
  };
  uint32_t device = 0;
  bool to_device = true;
  std::vector<Copy> copies;
};

struct WaitStep {
  uint32_t device = 0;
};

// Nodes with bodies. Bodies are executables of their own, which take and give host addresses.
struct ControlStep {
  NodeId node = kNoNode;
  std::vector<Place> operands;  // missing ones left out
  std::vector<Place> results;
  std::vector<Place> spare;   // a second place for each carried value of a loop
  std::vector<Place> slices;  // for each sliced operand, then result, of a scan: room for one slice
};

using Step = std::variant<SubmitStep, CopyStep, WaitStep, ControlStep>;

struct PackPlan {
  uint32_t parameter = 0;  // of Plan::parameters
  uint32_t device = 0;
  NodeId node = kNoNode;  // whose kernel packs
  uint32_t input = 0;     // which of its operands
  uint64_t key = 0, size_bytes = 0;
};

// One output as the caller gets it.
struct OutputPlan {
  Place place;      // kind output: written in place; else to be copied out after the run
  TensorType type;  // upper bound where there are symbols
};

struct Plan {
  std::vector<Step> steps;
  std::vector<ValueId> parameters;  // used by kernels or control flow
  std::vector<PackPlan> packs;
  std::vector<ValueId> states;
  std::vector<OutputPlan> outputs;
  std::vector<std::vector<uint64_t>> arena_bytes;  // by space, then block
  std::vector<uint32_t> extents_count;             // i64 slots by device
  std::vector<int64_t> symbol_slot;                // by symbol: slot of its writer's device, or -1
  std::vector<uint32_t> symbol_device;
  uint64_t live_bytes = 0;  // most bytes of arena values alive at once: the floor of all plans

  uint64_t planned_bytes() const;
};

//   errors  no_memory if a value is larger than a device can allocate
Result<Plan> make_plan(const Graph& graph, std::span<const PlanDevice> devices,
                       std::span<const PlanKernel> kernels);

// Re-derives lifetimes from the steps alone and looks for overlaps, reads before writes, places
// outside their arena, outputs that nothing writes. Shares no code with make_plan.
//   errors  internal naming the step and the values
Status check_plan(const Graph& graph, const Plan& plan, std::span<const PlanKernel> kernels);

}  // namespace ferrule
