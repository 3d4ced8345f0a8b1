// A device with the rates that were measured on this machine, and what it predicts by itself.
#pragma once

#include "core/cost/calibration.h"
#include "core/place/place.h"
#include "core/session/runtime.h"

namespace ferrule {

// What the plugin's file and the device's row say of it.
//   errors  those of inspect_library
Result<DeviceIdentity> identity_of(const DeviceEntry& entry);

// The folder that gate.calibration names, or the one in the user's cache folder.
//   errors  invalid_argument if there is neither
Result<std::string> calibration_folder(const Config& config);

struct Calibrated {
  std::shared_ptr<const DeviceRow> row;  // the device's, with the measured costs
  std::string date;
};
//   errors  not_found where nothing fits, with the reason: no file, another plugin, other claims
Result<Calibrated> calibrated_row(const Config& config, const DeviceEntry& entry);

// The plugin's estimate; each region is asked for once.
//   thread  any
Estimate remembered_estimate(const DeviceEntry& entry);

}  // namespace ferrule
