// Placement: which device runs which node, and why.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/pass/pass.h"

namespace ferrule {

// A device that may be chosen. `also`: only for nodes that no other one can run (targets.also).
struct Target {
  std::string id;  // as in targets.order
  const DeviceRow* row = nullptr;
  bool also = false;
  std::function<Refusal(const Block&)> refuse = {};  // the plugin's; may be empty
  Estimate estimate = {};                            // likewise
  std::string rates = "plugin";  // whose rates `row` holds; "calibrated of DATE"
};

enum class Support { native, decomposed, refused };

struct Option {
  Support support = Support::refused;
  Refusal refusal;
  // Of the node's share of its region, as fuse() would form it; alone where nothing is to choose.
  int64_t time_ps = 0;
  int64_t transfer_ps = 0;  // of operands that lie elsewhere
};

// One node as it was when it was placed.
struct PlacedNode {
  std::string nodes;  // "conv1 (Conv)"
  std::string op;
  int32_t device = -1;          // of the targets; -1: the core itself (control flow)
  bool view = false;            // no work: it lies where its operand lies
  std::vector<Option> options;  // by target; none for control flow
};

struct Placement {
  std::vector<PlacedNode> nodes;
  int64_t predicted_ps = 0;  // work and transfers; 0 where nothing was to choose
};

class PlacementLock;

// What a placement lock says about a graph. `scope` stands before the names of its nodes.
struct Pinned {
  const PlacementLock* lock = nullptr;
  std::string scope;
};

// Sets Node::device of every node; bodies of control flow are placed when they are compiled.
// Nodes that the lock knows go where it says. Costs decide over the others within the targets,
// transfers included; ties follow the targets' order.
//   errors  no_device: every node that no target runs, with each target's reason, or every node
//           for which the lock has no usable line; internal if a pass breaks a copy of the graph
Result<Placement> place(Graph& graph, std::span<const Target> targets, const FuseOptions& options,
                        const Pinned& pinned = {});

// Whether a device runs a node, as it is, wrapped as a one-node region, or by its expansion.
Option support_of(Graph& graph, NodeId id, const DeviceRow& device, uint32_t compute);

}  // namespace ferrule
