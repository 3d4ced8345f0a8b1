#include "core/session/calibrated.h"

#include <map>
#include <mutex>

#include "core/base/text.h"

namespace ferrule {
namespace {

constexpr size_t kMostRemembered = 1 << 16;

// Estimates by the hash of the region's bytes: a prediction, so that two regions of one hash cost a
// worse choice and nothing else.
struct Memory {
  std::mutex mutex;
  std::map<uint64_t, uint64_t> ps;
};

}  // namespace

Result<DeviceIdentity> identity_of(const DeviceEntry& entry) {
  const Driver& driver = *entry.driver;
  const DeviceRow& row = entry.row();
  DeviceIdentity out;
  out.plugin = driver.id(), out.version = driver.version(), out.device = row.name;
  FRL_LET(const MappedFile file, MappedFile::open(driver.path()));
  FRL_LET(const Inspection found, inspect_image(file.bytes()));
  out.build = cat(found.build, found.build.empty() ? "" : " ",
                  hex_text(hash_bytes(file.bytes().data(), file.bytes().size())));
  for (uint8_t byte : row.uuid) out.uuid += hex_text(byte).substr(14);
  out.driver = row.driver, out.fingerprint = row.fingerprint, out.claims_hash = row.claims_hash();
  return out;
}

Result<std::string> calibration_folder(const Config& config) {
  if (const std::string& named = config.text("gate.calibration"); !named.empty()) return named;
  const std::string cache = cache_folder();
  if (!cache.empty()) return cache + "/calibration";
  return Status(Code::invalid_argument,
                "gate.calibration: want a folder, got none, and the user has no cache folder");
}

Result<Calibrated> calibrated_row(const Config& config, const DeviceEntry& entry) {
  FRL_LET(const DeviceIdentity identity, identity_of(entry));
  FRL_LET(const std::string folder, calibration_folder(config));
  const std::string path = calibration_path(folder, identity);
  const auto stored = read_calibration(path);
  const std::string why =
      stored.ok() ? difference(stored->identity, identity) : stored.status().message();
  if (!why.empty())
    return Status(Code::not_found,
                  cat("gate.mode calibrated: want measured rates of ", entry.id,
                      ", got none that hold (", stored.ok() ? cat(path, " is stale: ") : "", why,
                      "); run ferrule calibrate --target ", entry.id));
  auto row = std::make_shared<DeviceRow>(entry.row());
  row->cost = stored->cost;
  return Calibrated{std::move(row), stored->date};
}

Estimate remembered_estimate(const DeviceEntry& entry) {
  return [device = entry, memory = std::make_shared<Memory>()](const Block& region) {
    const uint64_t key = region.key();
    {
      const std::lock_guard lock(memory->mutex);
      if (const auto found = memory->ps.find(key); found != memory->ps.end()) return found->second;
    }
    const uint64_t ps = device.driver->estimate_ps(device.number, region);
    const std::lock_guard lock(memory->mutex);
    if (memory->ps.size() >= kMostRemembered) memory->ps.clear();
    memory->ps[key] = ps;
    return ps;
  };
}

}  // namespace ferrule
