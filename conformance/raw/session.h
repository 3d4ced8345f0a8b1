// One opened device under the suite's own host. Every call is checked for the rules of the line:
// errors filled or left alone, handles and their tags present.
#pragma once

#include <functional>
#include <memory>

#include "conformance/raw/library.h"
#include "conformance/raw/services.h"
#include "core/driver/rows.h"
#include "core/graph/block.h"

namespace ferrule::conformance::raw {

template <class Handle>
struct Drop {
  void(FRL_CALL* drop)(Handle*) = nullptr;
  void operator()(Handle* handle) const { drop(handle); }
};
template <class Handle>
using Held = std::unique_ptr<Handle, Drop<Handle>>;

struct SessionOptions {
  ServiceOptions services;
  Longer longer;
  size_t device = 0;
  std::function<void(const char* point)> at;  // called at the first four of kLifePoints
};

struct CompileOptions {
  Bytes cached;
  bool restore_only = false;
  const uint32_t* cancel = nullptr;
};

// What one submit carries.
struct Request {
  const frl_recording* recording = nullptr;
  std::vector<frl_binding> late;
  std::vector<frl_copy> copies;
  std::vector<frl_point> waits;
  const uint32_t* cancel = nullptr;
  uint64_t* step_ns = nullptr;
};

struct SegmentRows {
  std::vector<frl_step> steps;
  std::vector<frl_arg> args;
  std::vector<uint32_t> extents;
  std::vector<frl_binding> fixed;
  uint32_t n_late = 0, n_submit_extents = 0;
};

class Session;

// A queue and the number that its next submit signals.
class Queue {
 public:
  Queue(Session& session, Held<frl_queue> handle) : session_(session), handle_(std::move(handle)) {}
  const frl_queue* handle() const { return handle_.get(); }
  uint64_t last_signal() const { return last_signal_; }
  Result<Held<frl_recording>> record(const SegmentRows& segment);
  // The value to wait for.
  Result<uint64_t> submit(const Request& request);
  Status wait(uint64_t value, uint64_t timeout_ns = UINT64_MAX) const;
  // Somebody called the table directly, up to this value.
  void skip_to(uint64_t signal) { last_signal_ = signal; }
  // Submits, waiting for the oldest work as long as the queue is busy, and waits for the end.
  Status finish(const Request& request);

 private:
  Session& session_;
  Held<frl_queue> handle_;
  uint64_t last_signal_ = 0;
};

class Session {
 public:
  //   errors  those of load, entry, devices and open; not_found if there is no such device
  static Result<std::unique_ptr<Session>> open(const std::string& path,
                                               SessionOptions options = {});
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  Library& library() { return library_; }
  const frl_plugin& table() const { return *table_; }
  Services& services() const { return *services_; }
  const DeviceRow& row() const { return row_; }
  frl_device* device() const { return device_.get(); }
  bool is_inline() const { return row_.flags & FRL_DEVICE_INLINE; }
  const Longer& longer() const { return options_.longer; }

  Status reopen();   // closes the device if it is open, and opens it
  void close();      // the device alone
  Status quiesce();  // the services call every later use a misuse

  Result<Held<frl_kernel>> compile(const Block& region, const CompileOptions& options = {});
  Result<Held<frl_buffer>> make_buffer(uint64_t size_bytes, uint32_t space = 0,
                                       void* import = nullptr, bool read_only = false);
  Result<std::unique_ptr<Queue>> open_queue();
  Status refuse(const Block& region) const;
  //   errors  unsupported if the plugin has no such slot; internal if it writes past its room
  Result<std::vector<std::byte>> serialise(const frl_kernel& kernel) const;
  // "" or what the host noticed.
  std::string misuse() const { return services_->misuse(); }

 private:
  explicit Session(Library library) : library_(std::move(library)) {}
  Status list();
  SessionOptions options_;
  Library library_;
  std::unique_ptr<Services> services_;
  const frl_plugin* table_ = nullptr;
  DeviceRow row_;
  Held<frl_device> device_;
  bool quiesced_ = false;
};

inline frl_binding whole(const Held<frl_buffer>& buffer) { return {buffer.get(), 0}; }
inline frl_binding address(const void* p) { return {nullptr, reinterpret_cast<uint64_t>(p)}; }
inline frl_copy copy_of(frl_binding target, frl_binding source, uint64_t n) {
  return {target, source, n, 1, int64_t(n), int64_t(n)};
}

// The block as a newer core would send it: head and rows longer, garbage behind.
Block grown_block(const Block& block, uint32_t head_by, uint32_t rows_by);

}  // namespace ferrule::conformance::raw
