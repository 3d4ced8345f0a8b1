// Rates of a device as they were measured on this machine, and the file that keeps them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/driver/rows.h"

namespace ferrule {

// Whose rates they are. Any difference makes them stale.
struct DeviceIdentity {
  std::string plugin, version, build;  // build: the note's id and the file's hash
  std::string device, uuid, driver;
  uint64_t fingerprint = 0, claims_hash = 0;
};
// "claims: want 00.., got 11..": the first thing in which the stored one differs; empty: none.
std::string difference(const DeviceIdentity& stored, const DeviceIdentity& now);

struct Calibration {
  std::string date;  // 2026-11-30
  DeviceIdentity identity;
  Cost cost;
};

// Every rate by its name in the file, in the file's order: {"dispatch_ps", 30000}, ...,
// {"arithmetic.f32.ieee", 6000000}.
std::vector<std::pair<std::string, uint64_t>> cost_rates(const Cost& cost);

std::string to_toml(const Calibration& calibration);
//   name    of the document, for messages
//   errors  invalid_argument: what is missing, unknown or out of range
Result<Calibration> parse_calibration(std::string_view text, const std::string& name);

// The device's file in a folder.
std::string calibration_path(const std::string& folder, const DeviceIdentity& identity);
//   errors  not_found; out_of_limits for a large file; else those of parse_calibration
Result<Calibration> read_calibration(const std::string& path);
// Makes the folder if there is none; the file is renamed into its place.
//   errors  not_found with the system's text
Status write_calibration(const std::string& path, const Calibration& calibration);

}  // namespace ferrule
