// Driver: RAII over one loaded plugin. The only code that calls through a plugin's tables.
//
// Ownership runs Driver <- Device <- Kernel, Buffer, Queue <- Recording; each keeps what it needs
// alive. Messages carry the plugin's id in front.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "core/driver/host.h"
#include "core/driver/library.h"
#include "core/driver/rows.h"
#include "core/graph/block.h"

namespace ferrule {

// A plugin's "no", or yes. Never an error.
struct Refusal {
  Code code = Code::ok;
  std::string text;
  bool refused() const { return code != Code::ok; }
};

// A plugin's error, with the step, node or row that it is about (-1 none).
struct PluginError {
  Status status;
  int32_t subject = -1;
};

class Device;
class Kernel;

class Driver : public std::enable_shared_from_this<Driver> {
 public:
  // Calls the entry, checks the table, lists the devices.
  //   errors  incompatible, invalid_argument, internal: what the plugin did wrong, as a sentence
  static Result<std::shared_ptr<Driver>> start(Library library, const Inspection& inspection,
                                               std::string path, std::shared_ptr<Team> team,
                                               LogSink sink,
                                               const std::map<std::string, std::string>& settings);
  // The same for a table that is linked into the program (tests).
  static Result<std::shared_ptr<Driver>> start(frl_entry_fn entry, std::string id,
                                               std::shared_ptr<Team> team, LogSink sink,
                                               const std::map<std::string, std::string>& settings);
  ~Driver();  // quiesces; the library stays mapped unless the plugin says that it may go

  const std::string& id() const { return id_; }
  const std::string& version() const { return version_; }
  const std::string& path() const { return path_; }
  std::span<const DeviceRow> devices() const { return devices_; }
  struct Option {
    std::string key, fallback, doc;
  };
  std::span<const Option> options() const { return options_; }

  // Neither opens the device; both work for profiles.
  Refusal refuse(size_t device, const Block& region) const;
  uint64_t estimate_ps(size_t device, const Block& region) const;  // 0: unknown
  bool has_estimate() const { return table_.estimate != nullptr; }

  // The opened device; the same one for everybody while it is in use.
  Result<std::shared_ptr<Device>> open(size_t device);
  const frl_plugin& table() const { return table_; }

 private:
  friend class Device;
  Driver() = default;
  Status negotiate(frl_entry_fn entry);
  Status check_table(const frl_plugin* table);
  Result<std::vector<DeviceRow>> list_devices(const std::vector<std::string>& kind_names) const;

  Library library_;
  frl_plugin table_{};  // zero-extended copy
  std::string id_, version_, path_;
  std::vector<Option> options_;
  std::vector<DeviceRow> devices_;
  std::unique_ptr<Host> host_;
  std::mutex opening_;
  std::vector<std::weak_ptr<Device>> opened_;
};

class Kernel {
 public:
  ~Kernel();
  const frl_kernel* handle() const { return handle_; }
  uint64_t scratch_bytes() const { return handle_->scratch_bytes; }
  std::span<const frl_pack> packs() const { return packs_; }
  std::span<const frl_alias> aliases() const { return aliases_; }
  bool restored() const { return handle_->restored != 0; }
  //   errors  unsupported if the plugin cannot
  Result<std::vector<std::byte>> serialise() const;

 private:
  friend class Device;
  std::shared_ptr<Device> device_;
  frl_kernel* handle_ = nullptr;
  std::vector<frl_pack> packs_;
  std::vector<frl_alias> aliases_;
};

class Buffer {
 public:
  ~Buffer();
  const frl_buffer* handle() const { return handle_; }
  std::byte* host() const {
    return static_cast<std::byte*>(handle_->host);
  }  // null unless host-visible
  uint64_t size_bytes() const { return handle_->bytes; }

 private:
  friend class Device;
  std::shared_ptr<Device> device_;
  frl_buffer* handle_ = nullptr;
};

class Recording;

//   thread  one at a time, but for wait()
class Queue {
 public:
  ~Queue();
  const frl_queue* handle() const { return handle_; }
  Result<std::unique_ptr<Recording>> record(const frl_segment& segment, int32_t* subject);
  // signal is chosen here; the value to wait for comes back in request.signal.
  PluginError submit(frl_submit& request);
  PluginError wait(uint64_t value, uint64_t timeout_ns = UINT64_MAX) const;
  uint64_t last_signal() const { return last_signal_; }

 private:
  friend class Device;
  friend class Recording;
  std::shared_ptr<Device> device_;
  frl_queue* handle_ = nullptr;
  uint64_t last_signal_ = 0;
};

class Recording {
 public:
  ~Recording();
  const frl_recording* handle() const { return handle_; }

 private:
  friend class Queue;
  std::shared_ptr<Device> device_;
  frl_recording* handle_ = nullptr;
};

class Device : public std::enable_shared_from_this<Device> {
 public:
  ~Device();
  const DeviceRow& row() const { return *row_; }
  Driver& driver() const { return *driver_; }
  size_t number() const { return number_; }  // of the driver's devices
  bool is_inline() const { return row_->flags & FRL_DEVICE_INLINE; }

  Result<std::unique_ptr<Kernel>> compile(const Block& region, Bytes cached = {},
                                          bool restore_only = false,
                                          const uint32_t* cancel = nullptr);
  Result<std::unique_ptr<Buffer>> make_buffer(uint32_t space, uint64_t size_bytes);
  // Registers caller's memory, which stays alive until the buffer goes.
  Result<std::unique_ptr<Buffer>> import_buffer(uint32_t space, void* memory, uint64_t size_bytes,
                                                bool read_only);
  Result<std::unique_ptr<Queue>> open_queue();
  frl_telemetry telemetry() const;

 private:
  friend class Driver;
  std::shared_ptr<Driver> driver_;
  const DeviceRow* row_ = nullptr;
  size_t number_ = 0;
  frl_device* handle_ = nullptr;
};

}  // namespace ferrule
