// Passes: graph in, graph out, same meaning. passes.def lists them in order; reading it is reading
// the pipeline. fuse() builds the pipeline of one device from its claims and runs it.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/cost/gate.h"

namespace ferrule {

// Upper bounds that the caller sets on one region; the device's own bounds hold as well.
struct RegionLimits {
  std::optional<uint32_t> nodes, inputs, outputs;
};

struct FuseOptions {
  std::set<std::string> passes_off;
  bool fusion = true;     // false: only what is needed for the device to run the graph
  bool pointwise = true;  // false: pointwise regions are not formed
  GateOptions gate;
  RegionLimits limits;
  bool verify = true;  // after each pass that changed something
};

// One fusion that a pass considered, in the words of the model.
struct Candidate {
  std::string pass, kind;
  std::string nodes;  // "a (MatMul), b (Add)"
  bool accepted = false;
  std::string reason;  // why not
  int64_t before_ps = 0, after_ps = 0;
  int64_t bytes_saved = 0, launches_saved = 0;
};

struct PassRecord {
  std::string name;
  bool on = false;
  std::string why_off;
  bool changed = false;
  int64_t time_ns = 0;
  size_t nodes_before = 0, nodes_after = 0;
};

// What the device itself predicts for a region; 0: it does not know. May be empty.
//   units   picoseconds
using Estimate = std::function<uint64_t(const Block&)>;

struct FuseReport {
  std::vector<PassRecord> passes;
  std::vector<Candidate> candidates;
};

// What a pass may look at. It may not log, read the clock, know a vendor or allocate device memory.
struct PassContext {
  const DeviceRow& device;
  int32_t number;  // nodes with this device number are this pipeline's
  const FuseOptions& options;
  const std::function<Refusal(const Block&)>& refuse;  // may be empty
  FuseReport& report;
  std::set<std::string>* read_parameters = nullptr;  // of canonical passes; may be null
  const Estimate* estimate = nullptr;                // null: rates alone
};

struct Pass {
  const char* name;
  const char* doc;
  OpId claim = 0;  // what the device must claim, fusion being on; 0: nothing
  // Empty: the pass joins the pipeline; else why not. Null: it always does.
  std::string (*when)(const PassContext&) = nullptr;
  Result<bool> (*run)(Graph&, PassContext&) = nullptr;  // "changed?"; null: the rows are tried
  std::span<const struct FusionRow> rows = {};
  // A graph that it has not seen cannot be compiled; such a pass cannot be switched off.
  bool mandatory = false;
};

// Passes that hold for any target: constants folded, equal nodes merged, dead ones dropped. A
// parameter whose value was read is named in `read_parameters`.
//   first   the first target, whose gate says what control flow may cost; null: none is lowered
//   errors  internal if a pass breaks the graph
Status canonicalise(Graph& graph, const FuseOptions& options, FuseReport& report,
                    std::set<std::string>* read_parameters, const DeviceRow* first = nullptr);

// The pipeline of one device over the nodes placed on it. A pure function of its arguments.
Result<FuseReport> fuse(Graph& graph, const DeviceRow& device, int32_t number,
                        const FuseOptions& options,
                        const std::function<Refusal(const Block&)>& refuse = {},
                        const Estimate& estimate = {});

// Names of the passes that this device's pipeline holds, in order.
std::vector<std::string> pipeline(const DeviceRow& device, const FuseOptions& options);
// All passes, in order.
std::vector<const Pass*> all_passes();

// The last step of every fusion: asks claims, gate and plugin about `region`, a node that was just
// emitted to stand for `members`; the answer goes into the report. True: the pass may replace.
//   beside  further nodes of the new side; those that only known values feed are counted as done
//   once
bool admit(Graph& graph, PassContext& context, const char* pass, NodeId region,
           std::span<const NodeId> members, std::span<const NodeId> beside = {});

// What the device predicts for one node as a kernel of its own; a pointwise op as the region that
// it would become. Nothing: it does not know.
//   units   picoseconds
std::optional<int64_t> estimated_ps(const Graph& graph, const Node& node, const DeviceRow& device,
                                    const Estimate& estimate, uint32_t compute);

// Empty if fusion is on; else why passes that are not needed to run the graph are off.
std::string unless_off(const PassContext& context);
// Empty if fusion is on and the device claims the kind; else why a pass that needs it is off.
std::string unless_claimed(const PassContext& context, OpId kind);

// The device's claim row of a kind with the caller's limits applied.
std::optional<Claim> limited_claim(const PassContext& context, OpId kind);

}  // namespace ferrule
