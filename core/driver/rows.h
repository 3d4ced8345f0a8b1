// The rows that a plugin reports, copied out of its memory and checked: devices, claims, costs.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/op/op.h"

namespace ferrule {

struct Choice {
  uint32_t slot = 0;
  std::vector<int64_t> allowed;
};

// frl_claim, owned. The meaning of each field is in frl_plugin.h.
struct Claim {
  OpId op = 0;
  std::string name;  // of the op, or of the vendor's kind
  uint32_t shapes = 0, compute = 0;
  Type accumulate = Type::none;
  std::vector<frl_operand> operands;
  std::vector<Choice> choices;
  uint64_t max_elements = 0, max_dim = 0;
  uint32_t max_nodes = 1, max_inputs = 1, max_outputs = 1, max_slices = 1, max_prologue = 0,
           max_epilogue = 0;
  uint64_t scratch_bytes = 0;
  std::vector<OpId> members, prologue, epilogue;  // sorted
  uint32_t fp = 0, determinism = 0, error = 0, error_milli = 0;
};

struct Cost {
  uint64_t dispatch_ps = 0, round_trip_ps = 0, memory_ps_per_kib = 0, to_device_ps_per_kib = 0,
           from_device_ps_per_kib = 0, readback_ps_per_kib = 0, host_thunk_ps = 0,
           minimum_gain_ps = 0;
  std::vector<frl_rate> arithmetic;
  uint32_t basis = 0;
};

struct DeviceRow {
  std::string name, architecture, driver, pci;
  std::array<uint8_t, 16> uuid{};
  uint32_t state = FRL_DEVICE_PRESENT;
  Code reason = Code::ok;
  std::string reason_text;
  uint32_t flags = 0, max_queues = 1;
  int32_t dlpack_type = 0, dlpack_id = 0;
  uint64_t fingerprint = 0;
  std::vector<Claim> claims;
  std::vector<frl_space> spaces;
  Cost cost;
  std::vector<std::string> voided;      // claim rows that could not be used, and why
  const frl_device_row* own = nullptr;  // the plugin's row, for slots that want it

  uint64_t claims_hash() const;  // of everything a claim row says
};

// True if kernels of the device take plain host addresses.
bool takes_host_addresses(const DeviceRow& row);

// Owned text of an frl_str; empty for n == 0.
//   errors  invalid_argument for more than 64 KiB, a null pointer or a NUL inside
Result<std::string> read_text(const frl_str& text, const char* what);

// Rows of `T` from a plugin's table, each zero-extended to this side's size.
//   errors  invalid_argument if the table is not one: null, a stride below `least`, more than
//   `most` rows
template <class T>
Result<std::vector<T>> read_rows(const frl_rows& rows, uint32_t least, uint32_t most,
                                 const char* what);

// All device rows with their tables. A claim row with numbers that this core does not know is left
// out and named in `voided`; a broken table fails the plugin.
Result<std::vector<DeviceRow>> read_devices(const frl_rows& rows,
                                            const std::vector<std::string>& kind_names);

}  // namespace ferrule
