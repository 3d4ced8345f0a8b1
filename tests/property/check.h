// The properties: what every graph must keep through the passes and on devices.
#pragma once

#include <map>

#include "conformance/judge/judge.h"
#include "tests/property/setting.h"

namespace ferrule::property {

// What a whole run saw.
struct Tally {
  std::map<std::string, size_t> changed;   // graphs, by pass
  std::map<std::string, size_t> accepted;  // candidates, by pass
  std::map<OpId, size_t> ops;              // nodes of the graphs
  size_t graphs = 0, unusable = 0;
  uint64_t judged = 0, elements = 0;  // of outputs
};

struct Finding {
  bool usable = true;  // false: the graph itself cannot be evaluated
  std::string fault;   // empty: all properties hold
};

// What stands for the passes: the graph's canonical and fused form.
using Passes = std::function<Status(Graph&, const Setting&, Tally*)>;
Status real_passes(Graph& graph, const Setting& setting, Tally* tally);

// Fused, the graph verifies, keeps its outputs and its values, and comes out the same twice.
Finding check_passes(const Sample& sample, const Setting& setting, const Passes& passes,
                     Tally* tally);

// Results of `got`, a form of `sample`, beside those of the sample itself. Both forms may err as
// the row's claims say.
//   form  the graph that gave the results
Finding compare(const Sample& sample, const Graph& form, std::span<const Tensor> got,
                const DeviceRow& row, bool on_device, Tally* tally);

}  // namespace ferrule::property
