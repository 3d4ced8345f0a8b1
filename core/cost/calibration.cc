#include "core/cost/calibration.h"

#include <charconv>
#include <cstring>
#include <filesystem>

#include "core/base/bytes.h"
#include "core/base/text.h"
#include "core/config/config.h"

namespace ferrule {
namespace {

constexpr int64_t kFormat = 1;
constexpr int64_t kMostPs = 1'000'000'000'000'000;  // a quarter of an hour for one of anything
constexpr size_t kMostFileBytes = 64 << 10;
constexpr const char* kArithmetic = "arithmetic.";

struct RateRow {
  const char* name;
  uint64_t Cost::*field;
};
constexpr RateRow kRates[] = {
    {"dispatch_ps", &Cost::dispatch_ps},
    {"round_trip_ps", &Cost::round_trip_ps},
    {"memory_ps_per_kib", &Cost::memory_ps_per_kib},
    {"to_device_ps_per_kib", &Cost::to_device_ps_per_kib},
    {"from_device_ps_per_kib", &Cost::from_device_ps_per_kib},
    {"readback_ps_per_kib", &Cost::readback_ps_per_kib},
    {"host_thunk_ps", &Cost::host_thunk_ps},
    {"minimum_gain_ps", &Cost::minimum_gain_ps},
};

struct TextRow {
  const char* name;
  std::string DeviceIdentity::*field;
};
constexpr TextRow kTexts[] = {
    {"plugin", &DeviceIdentity::plugin}, {"version", &DeviceIdentity::version},
    {"build", &DeviceIdentity::build},   {"device", &DeviceIdentity::device},
    {"uuid", &DeviceIdentity::uuid},     {"driver", &DeviceIdentity::driver},
};

struct HashRow {
  const char* name;
  uint64_t DeviceIdentity::*field;
};
constexpr HashRow kHashes[] = {{"fingerprint", &DeviceIdentity::fingerprint},
                               {"claims", &DeviceIdentity::claims_hash}};

struct ModeRow {
  const char* name;
  uint32_t compute;
};
constexpr ModeRow kModes[] = {{"ieee", FRL_COMPUTE_IEEE},
                              {"tf32", FRL_COMPUTE_TF32},
                              {"bf16x3", FRL_COMPUTE_BF16X3},
                              {"reduced", FRL_COMPUTE_REDUCED}};

using Keys = std::map<std::string, std::vector<std::string>>;

// Each key is taken once, so that what is left over is unknown.
class Reader {
 public:
  Reader(Keys keys, const std::string& name) : keys_(std::move(keys)), name_(name) {}

  Result<std::string> text(const std::string& key) {
    const auto found = keys_.find(key);
    if (found == keys_.end() || found->second.size() != 1)
      return Status(Code::invalid_argument, cat(name_, ": want one value of ", key, ", got ",
                                                found == keys_.end() ? 0 : found->second.size()));
    std::string out = std::move(found->second[0]);
    keys_.erase(found);
    return out;
  }
  Result<uint64_t> number(const std::string& key) {
    FRL_LET(const std::string value, text(key));
    const auto n = parse_int(value);
    if (!n || *n < 0 || *n > kMostPs)
      return Status(Code::invalid_argument,
                    cat(name_, ": ", key, ": want 0 to ", kMostPs, ", got ", value));
    return uint64_t(*n);
  }
  Result<uint64_t> hash(const std::string& key) {
    FRL_LET(const std::string value, text(key));
    uint64_t out = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), out, 16);
    if (error != std::errc() || end != value.data() + value.size())
      return Status(Code::invalid_argument,
                    cat(name_, ": ", key, ": want sixteen hexadecimal digits, got ", value));
    return out;
  }
  const Keys& left() const { return keys_; }

 private:
  Keys keys_;
  const std::string& name_;
};

// "arithmetic.f32.ieee"
Result<frl_rate> read_rate(Reader& reader, const std::string& key, const std::string& name) {
  const auto parts = split(key.substr(std::strlen(kArithmetic)), '.');
  const Type type = parse_type(parts[0]);
  for (const ModeRow& mode : kModes) {
    if (type == Type::none || parts.size() != 2 || parts[1] != mode.name) continue;
    FRL_LET(const uint64_t ps, reader.number(key));
    return frl_rate{uint32_t(type), mode.compute, ps};
  }
  return Status(Code::invalid_argument,
                cat(name, ": ", key, ": want arithmetic.TYPE.MODE of a type and a compute mode"));
}

}  // namespace

std::vector<std::pair<std::string, uint64_t>> cost_rates(const Cost& cost) {
  std::vector<std::pair<std::string, uint64_t>> out;
  for (const RateRow& row : kRates) out.emplace_back(row.name, cost.*row.field);
  for (const frl_rate& rate : cost.arithmetic)
    for (const ModeRow& mode : kModes)
      if (rate.compute == mode.compute)
        out.emplace_back(cat(kArithmetic, type_name(Type(rate.type)), ".", mode.name),
                         rate.ps_per_mflop);
  return out;
}

std::string difference(const DeviceIdentity& stored, const DeviceIdentity& now) {
  for (const TextRow& row : kTexts)
    if (stored.*row.field != now.*row.field)
      return cat(row.name, ": want ", now.*row.field, ", got ", stored.*row.field);
  for (const HashRow& row : kHashes)
    if (stored.*row.field != now.*row.field)
      return cat(row.name, ": want ", hex_text(now.*row.field), ", got ",
                 hex_text(stored.*row.field));
  return {};
}

std::string to_toml(const Calibration& calibration) {
  std::string out = cat("# Measured by ferrule calibrate.\nformat = ", kFormat,
                        "\ndate = ", json_quote(calibration.date), "\n");
  for (const TextRow& row : kTexts)
    out += cat(row.name, " = ", json_quote(calibration.identity.*row.field), "\n");
  for (const HashRow& row : kHashes)
    out += cat(row.name, " = \"", hex_text(calibration.identity.*row.field), "\"\n");
  for (const auto& [name, ps] : cost_rates(calibration.cost)) out += cat(name, " = ", ps, "\n");
  return out;
}

Result<Calibration> parse_calibration(std::string_view text, const std::string& name) {
  FRL_LET(Keys keys, flat_toml(text, name));
  Reader reader(std::move(keys), name);
  FRL_LET(const uint64_t format, reader.number("format"));
  if (format != uint64_t(kFormat))
    return Status(Code::invalid_argument, cat(name, ": format: want ", kFormat, ", got ", format));
  Calibration out;
  FRL_LET(out.date, reader.text("date"));
  for (const TextRow& row : kTexts) {
    FRL_LET(out.identity.*row.field, reader.text(row.name));
  }
  for (const HashRow& row : kHashes) {
    FRL_LET(out.identity.*row.field, reader.hash(row.name));
  }
  for (const RateRow& row : kRates) {
    FRL_LET(out.cost.*row.field, reader.number(row.name));
  }
  while (!reader.left().empty()) {
    const std::string key = reader.left().begin()->first;
    if (key.rfind(kArithmetic, 0) != 0)
      return Status(Code::invalid_argument, cat(name, ": want known keys, got ", key));
    FRL_LET(const frl_rate rate, read_rate(reader, key, name));
    out.cost.arithmetic.push_back(rate);
  }
  out.cost.basis = FRL_BASIS_MEASURED;
  return out;
}

std::string calibration_path(const std::string& folder, const DeviceIdentity& identity) {
  // Names may hold anything; two devices of one file name tell each other apart by identity.
  std::string name = identity.plugin + "-" + identity.device;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '.') c = '_';
  return cat(folder, "/", name.substr(0, 200), ".toml");
}

Result<Calibration> read_calibration(const std::string& path) {
  FRL_LET(const MappedFile file, MappedFile::open(path));
  if (file.bytes().size() > kMostFileBytes)
    return Status(Code::out_of_limits, cat(path, ": want at most ", kMostFileBytes, " bytes, got ",
                                           file.bytes().size()));
  return parse_calibration(
      {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()}, path);
}

Status write_calibration(const std::string& path, const Calibration& calibration) {
  std::error_code code;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), code);
  return replace_file(path, to_toml(calibration));
}

}  // namespace ferrule
