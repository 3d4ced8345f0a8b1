// Runs of body nodes that a kernel of a closed kind does better than one kernel a node.
#pragma once

#include <optional>

#include "plugin-api/sdk/part.h"

namespace cpu {

class PartFinder {
 public:
  // uses: by value, the nodes of the body that use it; n_nodes stands for an output.
  PartFinder(const frl::Region& region, const std::vector<std::vector<uint32_t>>& uses)
      : region_(region), body_(region.body(0)), uses_(uses) {}

  // The part that begins at node `first` of the body, with all its inputs in the kind's order and
  // one output; nothing if the nodes there mean no kind.
  std::optional<frl::PartRequest> at(uint32_t first) const;

 private:
  class Reader;

  std::optional<frl::PartRequest> norm(uint32_t first, bool centred) const;
  std::optional<frl::PartRequest> attention(uint32_t first) const;
  std::optional<frl::PartRequest> product(uint32_t first) const;

  const frl::Region& region_;
  frl::Body body_;
  const std::vector<std::vector<uint32_t>>& uses_;
};

}  // namespace cpu
