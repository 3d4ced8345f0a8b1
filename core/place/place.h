// Placement: which device runs which node, and why.
#pragma once

#include <string>
#include <vector>

#include "core/pass/pass.h"

namespace ferrule {

// A device that may be chosen. `also`: only for nodes that no other one can run (targets.also).
struct Target {
  std::string id;  // as in targets.order
  const DeviceRow* row = nullptr;
  bool also = false;
};

enum class Support { native, decomposed, refused };

struct Option {
  Support support = Support::refused;
  Refusal refusal;
  int64_t time_ps = 0;      // of the node alone
  int64_t transfer_ps = 0;  // of operands that lie elsewhere
};

// One node as it was when it was placed.
struct PlacedNode {
  std::string nodes;  // "conv1 (Conv)"
  std::string op;
  int32_t device = -1;          // of the targets; -1: the core itself (control flow)
  std::vector<Option> options;  // by target
};

struct Placement {
  std::vector<PlacedNode> nodes;
};

// Sets Node::device of every node; bodies of control flow are placed when they are compiled.
// Costs decide within the targets, transfers included; ties follow the targets' order.
//   errors  no_device: every node that no target runs, with each target's reason
Result<Placement> place(Graph& graph, std::span<const Target> targets, uint32_t compute);

// Whether a device runs a node, as it is, wrapped as a one-node region, or by its expansion.
Option support_of(Graph& graph, NodeId id, const DeviceRow& device, uint32_t compute);

}  // namespace ferrule
