// Starting a plugin: negotiation, the table, its rows.
#include "core/driver/driver.h"

#include <algorithm>
#include <cstring>

#include "core/base/text.h"

namespace ferrule {
namespace {

constexpr uint64_t kQuiesceNs = 5'000'000'000;
constexpr uint32_t kPluginBytes = sizeof(frl_plugin);  // in minor 0

Status wrong(std::string text) { return Status(Code::incompatible, std::move(text)); }

std::string error_text(const frl_error& error) {
  const std::string text(error.text,
                         strnlen(error.text, std::min<size_t>(error.text_n, sizeof error.text)));
  return text.empty() ? "the plugin gave no reason" : text;
}

bool same_devices(const std::vector<DeviceRow>& a, const std::vector<DeviceRow>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const DeviceRow& x, const DeviceRow& y) {
                      return x.own == y.own && x.name == y.name && x.state == y.state &&
                             x.claims_hash() == y.claims_hash();
                    });
}

// A required slot and what it is called.
#define SLOT(name) \
  { #name, reinterpret_cast < void*>(table.name) }

}  // namespace

Status Driver::check_table(const frl_plugin* given) {
  if (given->head.tag != FRL_TAG_PLUGIN)
    return wrong(cat("table: want tag ", int(FRL_TAG_PLUGIN), ", got ", given->head.tag));
  if (given->head.size < kPluginBytes)
    return wrong(cat("table: want at least ", kPluginBytes, " bytes, got ", given->head.size));
  std::memcpy(&table_, given, std::min<size_t>(given->head.size, sizeof table_));
  const frl_plugin& table = table_;
  if (table.minor > FRL_MINOR)
    return wrong(cat("minor: want at most ", FRL_MINOR, ", got ", table.minor));
  if (table.features != 0)
    return wrong(cat("features: want a subset of the offer's (none), got ", table.features));
  const struct {
    const char* name;
    void* slot;
  } kRequired[] = {SLOT(devices),     SLOT(open),        SLOT(close),          SLOT(compile),
                   SLOT(drop_kernel), SLOT(make_buffer), SLOT(drop_buffer),    SLOT(open_queue),
                   SLOT(close_queue), SLOT(record),      SLOT(drop_recording), SLOT(submit),
                   SLOT(wait)};
  for (const auto& required : kRequired)
    if (!required.slot) return wrong(cat("slot ", required.name, ": want a function, got NULL"));
  FRL_LET(const std::string id, read_text(table.id, "id"));
  if (!id_.empty() && id != id_)
    return wrong(cat("id: want that of the identity note, ", id_, ", got ", id));
  if (id.empty()) return wrong("id: want a text, got none");
  id_ = id;
  FRL_LET(version_, read_text(table.version, "version"));
  FRL_LET(const auto options,
          read_rows<frl_option>(table.options, sizeof(frl_option), 4096, "options"));
  for (const frl_option& option : options) {
    Option out;
    FRL_LET(out.key, read_text(option.key, "option key"));
    FRL_LET(out.fallback, read_text(option.fallback, "option fallback"));
    FRL_LET(out.doc, read_text(option.doc, "option doc"));
    options_.push_back(std::move(out));
  }
  return {};
}

Status Driver::negotiate(frl_entry_fn entry) {
  frl_offer offer{{sizeof(frl_offer), FRL_TAG_OFFER}, 0, FRL_MINOR, 0};
  frl_error error{};
  const frl_plugin* table = entry(&offer, &error);
  if (!table) {
    const bool silent = error.text_n == 0 || error.text[0] == 0;
    return wrong(
        cat("entry: ", silent ? "it refused the offer without a reason" : error_text(error),
            " (offered minor 0 to ", FRL_MINOR, ")"));
  }
  return check_table(table);
}

Result<std::shared_ptr<Driver>> Driver::start(Library library, const Inspection& inspection,
                                              std::string path, std::shared_ptr<Team> team,
                                              LogSink sink,
                                              const std::map<std::string, std::string>& settings) {
  const auto entry = reinterpret_cast<frl_entry_fn>(library.find("frl_plugin_v1"));
  if (!entry) return wrong("entry: want the exported symbol frl_plugin_v1, got none");
  auto driver = start(entry, inspection.id, std::move(team), std::move(sink), settings);
  // Unmapping code that may still have a thread or a hook is how hosts crash at exit: only a plugin
  // that promises to be clean goes.
  if (!driver.ok() || !(driver.value()->table_.flags & FRL_PLUGIN_CAN_UNLOAD)) library.keep();
  FRL_TRY(driver.status());
  (*driver)->library_ = std::move(library);
  (*driver)->path_ = std::move(path);
  return driver;
}

Result<std::shared_ptr<Driver>> Driver::start(frl_entry_fn entry, std::string id,
                                              std::shared_ptr<Team> team, LogSink sink,
                                              const std::map<std::string, std::string>& settings) {
  std::shared_ptr<Driver> driver(new Driver);
  driver->id_ = std::move(id);
  FRL_TRY(driver->negotiate(entry));
  std::vector<std::string> kind_names;
  FRL_LET(const auto kinds,
          read_rows<frl_kind>(driver->table_.kinds, sizeof(frl_kind), 4096, "kinds"));
  for (const frl_kind& kind : kinds) {
    FRL_LET(std::string name, read_text(kind.name, "kind name"));
    if (name.rfind(driver->id_ + ".", 0) != 0)
      return wrong(cat("kind ", json_quote(name), ": want the plugin's id as prefix"));
    kind_names.push_back(std::move(name));
  }
  driver->host_ = std::make_unique<Host>(driver->id_, std::move(team), std::move(sink), settings);
  FRL_LET(driver->devices_, driver->list_devices(kind_names));
  FRL_LET(const auto again, driver->list_devices(kind_names));
  if (!same_devices(driver->devices_, again))
    return Status(Code::internal,
                  "devices: want the same rows at each call, got other ones at the second");
  driver->opened_.resize(driver->devices_.size());
  return driver;
}

Result<std::vector<DeviceRow>> Driver::list_devices(
    const std::vector<std::string>& kind_names) const {
  frl_rows rows{};
  frl_error error{};
  if (const int32_t code = table_.devices(host_->table(), &rows, &error))
    return Status(Code(code), cat("devices: ", error_text(error)));
  return read_devices(rows, kind_names);
}

Driver::~Driver() {
  if (!table_.quiesce || !host_) return;
  frl_error error{};
  table_.quiesce(host_->table(), kQuiesceNs, &error);
}

Refusal Driver::refuse(size_t device, const Block& region) const {
  if (!table_.refuse) return {};
  frl_error error{};
  const int32_t code = table_.refuse(devices_[device].own, region.region(), &error);
  return code ? Refusal{Code(code), error_text(error)} : Refusal{};
}

uint64_t Driver::estimate_ps(size_t device, const Block& region) const {
  return table_.estimate ? table_.estimate(devices_[device].own, region.region()) : 0;
}

Result<std::shared_ptr<Device>> Driver::open(size_t number) {
  std::lock_guard lock(opening_);
  if (auto open = opened_[number].lock()) return open;
  const DeviceRow& row = devices_[number];
  if (row.state != FRL_DEVICE_PRESENT)
    return Status(row.state == FRL_DEVICE_ABSENT ? row.reason : Code::no_device,
                  cat(row.name, ": ",
                      row.state == FRL_DEVICE_ABSENT ? row.reason_text : "a profile cannot run"));
  frl_error error{};
  frl_device* handle = nullptr;
  if (const int32_t code = table_.open(host_->table(), row.own, &handle, &error))
    return Status(Code(code), cat(id_, ": open ", row.name, ": ", error_text(error)));
  if (!handle)
    return Status(Code::internal, cat(id_, ": open ", row.name, ": want a device, got NULL"));
  auto device = std::make_shared<Device>();
  device->driver_ = shared_from_this();
  device->row_ = &row, device->number_ = number, device->handle_ = handle;
  opened_[number] = device;
  return device;
}

}  // namespace ferrule
