// Random devices and options for the passes: claims, costs, limits, gate, passes switched off.
#pragma once

#include "core/pass/pass.h"
#include "tests/property/grow.h"

namespace ferrule::property {

struct Setting {
  std::vector<DeviceRow> devices;  // one or two
  std::vector<int32_t> placed;     // device of node i % placed.size()
  FuseOptions options;
  bool canonical = true;  // the passes for any target come first
  uint64_t refuses = 0;   // the plugin refuses regions whose key this divides; 0: none

  // The lines of a text case that say the same.
  std::string text() const;
};

//   wanted  claims of a planted case; some devices have these alone
Setting draw_setting(Chance& chance, std::span<const std::string> wanted);

// All options that are the caller's: limits, gate, passes off.
FuseOptions draw_options(Chance& chance);
std::string options_text(const FuseOptions& options);

// A row by whose claims results of the reference are judged: every op correct to a few ulp.
const DeviceRow& reference_row();

}  // namespace ferrule::property
