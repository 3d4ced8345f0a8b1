// Placement locks: text that says which device runs which node, so that a placement can be kept,
// compared and edited.
//
//   ferrule placement 1
//   device "cpu" = "x86-64" fingerprint 161 claims 11258999068426240
//   node matmul 0 "fc1 (Gemm)" = "cpu"
//
// The number counts nodes of equal op and names, in the order of the graph. # starts a comment.
#pragma once

#include <map>
#include <mutex>
#include <span>
#include <string_view>

#include "core/place/place.h"

namespace ferrule {

class PlacementLock {
 public:
  // `name` is for messages.
  //   errors  invalid_argument "NAME:LINE: want ..., got ..."
  static Result<PlacementLock> parse(std::string_view text, std::string name);
  //   errors  not_found with the system's text; else as above
  static Result<PlacementLock> read(const std::string& path);
  std::string text() const;
  // Replaces the file at once: a reader sees the old text or the new one.
  //   errors  not_found with the system's text
  Status write(const std::string& path) const;

  // What stands behind a key's =; null if it has no line.
  const std::string* find(const std::string& key) const;
  // What both know of a device, and know differently: `device "cpu" as IDENTITY, got IDENTITY`.
  std::vector<std::string> changed_devices(const PlacementLock& now) const;
  // Keys of the nodes' lines, without those in `known`.
  std::vector<std::string> nodes_but(std::span<const std::string> known) const;
  // Takes in the nodes of a placement that it does not hold yet, and the devices. True if any.
  bool add(const Placement& placement, std::span<const Target> targets, const std::string& scope);

  const std::string& name() const { return name_; }
  // False: nodes that it does not hold are placed by cost.
  bool complete() const { return complete_; }
  void set_complete(bool complete) { complete_ = complete; }

 private:
  friend std::vector<std::string> lock_differences(const PlacementLock&, const PlacementLock&);
  struct Line {
    std::string key, value;
  };
  Status read_line(std::string_view text);
  std::vector<std::string> device_ids() const;      // quoted
  bool insert(std::string key, std::string value);  // false: the key has a line already

  std::string name_;
  bool complete_ = true;
  std::vector<Line> lines_;
  std::map<std::string, size_t> number_;  // of lines_, by key
};

// The lock that a session's compilations share.
//   thread  any
class LockFile {
 public:
  // A file that exists holds for every node, unless `renew` says that it is to be written anew.
  //   errors  those of PlacementLock::read
  static Result<std::shared_ptr<LockFile>> open(const std::string& path, bool renew);
  // As it is now; what is added later shows in the next one.
  std::shared_ptr<const PlacementLock> lock() const;
  // Writes the file if `add` put something into the lock. A complete lock is never asked.
  Status keep(const std::function<bool(PlacementLock&)>& add);

 private:
  mutable std::mutex mutex_;
  std::string path_;
  std::shared_ptr<const PlacementLock> lock_;
};

// By node: the key of its line, `node matmul 0 "fc1 (Gemm)"`; empty for views and control flow.
std::vector<std::string> lock_keys(std::span<const PlacedNode> nodes, const std::string& scope);

// One line for each device and node of which two locks say different things.
std::vector<std::string> lock_differences(const PlacementLock& before, const PlacementLock& after);

}  // namespace ferrule
