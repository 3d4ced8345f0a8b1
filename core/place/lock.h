// Placement locks: text that says which device runs which node, so that a placement can be kept,
// compared and edited.
//
//   ferrule placement 1
//   device "cpu" "x86_64 avx2" fingerprint 00000000000000a1 claims 9c3f5a7e00112233
//   node "cpu" matmul 0 "fc1 (Gemm)"
//
// The number counts nodes of equal op and names, in the order of the graph. # starts a comment.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/place/place.h"

namespace ferrule {

struct LockedDevice {
  std::string id;        // quoted, as in the text
  std::string identity;  // the rest of its line
};

class PlacementLock {
 public:
  // `name` is for messages.
  //   errors  invalid_argument "NAME:LINE: want ..., got ..."; out_of_limits
  static Result<PlacementLock> parse(std::string_view text, std::string name);
  //   errors  not_found with the system's text; else as above
  static Result<PlacementLock> read(const std::string& path);
  std::string text() const;
  // Replaces the file at once: a reader sees the old text or the new one.
  //   errors  not_found with the system's text
  Status write(const std::string& path) const;

  // The quoted id of the device that runs the node of this key; null if there is no such line.
  const std::string* find(const std::string& key) const;
  // Takes in the nodes of a placement that it does not hold yet, and the devices. True if any.
  bool add(const Placement& placement, std::span<const Target> targets, const std::string& scope);

  const std::string& name() const { return name_; }
  // False: nodes that it does not hold are placed by cost.
  bool complete() const { return complete_; }
  void set_complete(bool complete) { complete_ = complete; }

 private:
  friend std::vector<std::string> lock_differences(const PlacementLock&, const PlacementLock&);
  Status line(std::string_view text);
  Status device_line(std::span<const std::string> words);
  Status node_line(std::span<const std::string> words);

  std::string name_;
  bool complete_ = true;
  std::vector<LockedDevice> devices_;
  std::vector<std::pair<std::string, std::string>> nodes_;  // key, device; in order
  std::map<std::string, size_t, std::less<>> number_;       // of nodes_, by key
};

// By node: what its line of a lock holds behind the device; empty for views and control flow.
std::vector<std::string> lock_keys(std::span<const PlacedNode> nodes, const std::string& scope);

// One line for each device and node of which two locks say different things.
std::vector<std::string> lock_differences(const PlacementLock& before, const PlacementLock& after);

}  // namespace ferrule
