// The placement lock of a session: read when it opens, written where there was none.
#pragma once

#include <mutex>

#include "core/dispatch/executable.h"
#include "core/place/lock.h"

namespace ferrule {

class LockFile {
 public:
  // A file that exists holds for every node, unless `renew` says that it is to be written anew.
  //   errors  those of PlacementLock::read
  static Result<std::shared_ptr<LockFile>> open(const std::string& path, bool renew);

  // As it is now; what is added later shows in the next one.
  std::shared_ptr<const PlacementLock> lock() const;

  // Adds how an executable was placed, and writes the file if that was news.
  //   errors  those of PlacementLock::write
  Status keep(const Executable& executable, std::span<const Target> targets);

 private:
  mutable std::mutex mutex_;
  std::string path_;
  std::shared_ptr<const PlacementLock> lock_ = std::make_shared<PlacementLock>();
};

// How an executable and the bodies of its control flow were placed, put into `lock`. True if the
// lock did not hold all of it.
bool add_placements(PlacementLock& lock, const Executable& executable,
                    std::span<const Target> targets);

// Before the names of nodes in a body of control flow: "loop1 (Loop)/0: ".
std::string body_scope(const std::string& scope, const std::string& names, size_t body);

}  // namespace ferrule
