// Config documents: any bytes give a config or a sentence.
#include "core/config/config.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ferrule::Config config;
  const auto status =
      config.add_toml({reinterpret_cast<const char*>(data), size}, "fuzz.toml", "/");
  if (!status.ok() && status.message().empty()) __builtin_trap();
  for (const ferrule::KeyRow& row : ferrule::config_keys())
    if (row.kind == ferrule::KeyKind::integer && config.integer(row.name) < 0) __builtin_trap();
  return 0;
}
