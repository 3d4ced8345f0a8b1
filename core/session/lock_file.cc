#include "core/session/lock_file.h"

#include <filesystem>

#include "core/base/text.h"

namespace ferrule {
namespace {

bool add_scoped(PlacementLock& lock, const Executable& executable, std::span<const Target> targets,
                const std::string& scope) {
  bool changed = lock.add(executable.report().placement, targets, scope);
  const Graph& graph = executable.graph();
  for (size_t i = 0; i < graph.n_nodes(); ++i) {
    const auto& bodies = executable.bodies(NodeId(i));
    for (size_t b = 0; b < bodies.size(); ++b)
      changed |= add_scoped(lock, *bodies[b], targets,
                            body_scope(scope, graph.source_text(graph.node(NodeId(i))), b));
  }
  return changed;
}

}  // namespace

Result<std::shared_ptr<LockFile>> LockFile::open(const std::string& path, bool renew) {
  auto file = std::make_shared<LockFile>();
  file->path_ = path;
  std::error_code code;
  PlacementLock lock;
  if (!renew && std::filesystem::exists(path, code)) {
    FRL_LET(lock, PlacementLock::read(path).within("placement.lock"));
  } else {
    lock.set_complete(false);
  }
  file->lock_ = std::make_shared<const PlacementLock>(std::move(lock));
  return file;
}

std::shared_ptr<const PlacementLock> LockFile::lock() const {
  std::lock_guard guard(mutex_);
  return lock_;
}

Status LockFile::keep(const Executable& executable, std::span<const Target> targets) {
  std::lock_guard guard(mutex_);
  if (lock_->complete()) return {};
  PlacementLock next = *lock_;
  if (!add_placements(next, executable, targets)) return {};
  FRL_TRY(next.write(path_).within("placement.lock"));
  lock_ = std::make_shared<const PlacementLock>(std::move(next));
  return {};
}

bool add_placements(PlacementLock& lock, const Executable& executable,
                    std::span<const Target> targets) {
  return add_scoped(lock, executable, targets, "");
}

std::string body_scope(const std::string& scope, const std::string& names, size_t body) {
  return cat(scope, names, "/", body, ": ");
}

}  // namespace ferrule
