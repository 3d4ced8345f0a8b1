#include "core/config/config.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/base/text.h"

namespace ferrule {
namespace {

namespace fs = std::filesystem;

constexpr KeyKind text = KeyKind::text, list = KeyKind::list, integer = KeyKind::integer,
                  boolean = KeyKind::boolean, choice = KeyKind::choice;
constexpr KeyRow kKeys[] = {
#define KEY(name, kind, fallback, doc) {name, kind, fallback, doc},
#include "core/config/keys.def"
#undef KEY
};
constexpr std::string_view kPluginPrefix = "plugin.";
constexpr uintmax_t kMostFileBytes = 1 << 20;

std::vector<std::string> choices_of(const KeyRow& row) {
  const std::string_view doc = row.doc;
  return split(doc.substr(0, doc.find(':')), '|');
}

std::vector<std::string> as_list(const std::string& value) {
  std::vector<std::string> out;
  if (value.empty()) return out;
  for (const std::string& part : split(value, ',')) out.emplace_back(trim(part));
  return out;
}

Status unknown_key(const std::string& key) {
  std::vector<std::string> names;
  for (const KeyRow& row : kKeys) names.push_back(row.name);
  return Status(Code::invalid_argument,
                cat("key ", key, ": want a known key", near_text(key, names)));
}

}  // namespace

std::span<const KeyRow> config_keys() { return kKeys; }

const KeyRow* find_key(std::string_view name) {
  for (const KeyRow& row : kKeys)
    if (row.name == name) return &row;
  return nullptr;
}

bool Config::is_path(std::string_view key) {
  return key == "plugins.folders" || key == "placement.lock" || key == "gate.calibration";
}

Config::Config() {
  for (const KeyRow& row : kKeys)
    settings_[row.name] = {
        row.kind == KeyKind::list ? as_list(row.fallback) : std::vector<std::string>{row.fallback},
        "built-in"};
}

Status Config::check(const std::string& key, const Setting& setting) const {
  const KeyRow* row = find_key(key);
  if (!row && key.rfind(kPluginPrefix, 0) != 0) return unknown_key(key);
  if (!row)
    return key.rfind('.') > kPluginPrefix.size() && !key.ends_with('.')
               ? Status()
               : Status(Code::invalid_argument, cat("key ", key, ": want plugin.ID.KEY"));
  const std::string value = setting.values.size() == 1 ? setting.values[0] : join(setting.values);
  const auto wrong = [&](std::string want) {
    return Status(Code::invalid_argument,
                  cat("key ", key, ": want ", want, ", got ", json_quote(value)));
  };
  if (row->kind != KeyKind::list && setting.values.size() != 1) return wrong("one value");
  if (row->kind == KeyKind::list)
    for (const std::string& element : setting.values)
      if (element.empty()) return wrong("no empty text in the list");
  if (row->kind == KeyKind::integer) {
    const auto number = parse_int(value);
    if (!number || *number < 0) return wrong("an integer of 0 or more");
  }
  if (row->kind == KeyKind::boolean && value != "true" && value != "false")
    return wrong("true or false");
  if (row->kind == KeyKind::choice) {
    const auto choices = choices_of(*row);
    if (std::find(choices.begin(), choices.end(), value) == choices.end())
      return wrong(join(choices, ", "));
  }
  return {};
}

Status Config::set(const std::string& key, const std::string& value, const std::string& origin) {
  std::string name = key;  // quotes are for TOML, which needs them around a plugin's id
  name.erase(std::remove(name.begin(), name.end(), '"'), name.end());
  if (!value.empty() && std::string_view("[\"'").find(value[0]) != std::string_view::npos)
    return set_toml(name, value, origin);
  const KeyRow* row = find_key(name);
  const bool is_list = row && row->kind == KeyKind::list;
  return set_list(name, is_list ? as_list(value) : std::vector<std::string>{value}, origin);
}

Status Config::set_list(const std::string& key, std::vector<std::string> values,
                        const std::string& origin) {
  std::error_code code;
  if (is_path(key))
    for (std::string& path : values)
      if (!path.empty()) path = fs::absolute(path, code).lexically_normal().string();
  Setting setting{std::move(values), origin};
  FRL_TRY(check(key, setting));
  settings_[key] = std::move(setting);
  return {};
}

Status Config::add_file(const std::string& path) {
  std::error_code code;
  const auto size = fs::file_size(path, code);
  if (code == std::errc::is_a_directory)
    return Status(Code::not_found, cat(path, ": want a file, got a folder"));
  if (code) return Status(Code::not_found, cat(path, ": ", code.message()));
  if (size > kMostFileBytes)
    return Status(Code::out_of_limits, cat(path, ": want at most ", int64_t(kMostFileBytes),
                                           " bytes, got ", int64_t(size)));
  std::ifstream file(path, std::ios::binary);
  std::stringstream contents;
  contents << file.rdbuf();
  if (!file) return Status(Code::not_found, cat(path, ": cannot be read: ", std::strerror(errno)));
  return add_toml(contents.str(), path, fs::absolute(path, code).parent_path().string());
}

Status Config::add_standard_files(const std::string& start) {
  std::vector<std::string> paths = {"/etc/ferrule/ferrule.toml"};
  const char* home = std::getenv("HOME");
  const char* xdg = std::getenv("XDG_CONFIG_HOME");
  if (xdg && *xdg)
    paths.push_back(cat(xdg, "/ferrule/ferrule.toml"));
  else if (home && *home)
    paths.push_back(cat(home, "/.config/ferrule/ferrule.toml"));
  std::error_code code;
  for (fs::path folder = fs::absolute(start, code); !folder.empty();
       folder = folder.parent_path()) {
    if (fs::exists(folder / "ferrule.toml", code)) {
      paths.push_back((folder / "ferrule.toml").lexically_normal().string());
      break;
    }
    if (folder == folder.parent_path()) break;
  }
  for (const std::string& path : paths)
    if (fs::exists(path, code)) FRL_TRY(add_file(path));
  return {};
}

std::string cache_folder() {
  const char* home = std::getenv("HOME");
  const char* xdg = std::getenv("XDG_CACHE_HOME");
  if (xdg && *xdg) return cat(xdg, "/ferrule");
  return home && *home ? cat(home, "/.cache/ferrule") : std::string();
}

const std::vector<std::string>& Config::list(std::string_view key) const {
  return settings_.find(key)->second.values;
}
const std::string& Config::text(std::string_view key) const { return list(key)[0]; }
int64_t Config::integer(std::string_view key) const { return *parse_int(text(key)); }
bool Config::boolean(std::string_view key) const { return text(key) == "true"; }
const std::string& Config::origin(std::string_view key) const {
  return settings_.find(key)->second.origin;
}

std::map<std::string, std::map<std::string, std::string>> Config::plugin_settings() const {
  std::map<std::string, std::map<std::string, std::string>> out;
  for (const auto& [key, setting] : settings_) {
    if (key.rfind(kPluginPrefix, 0) != 0) continue;
    // plugin.ID.KEY; the id has dots, the key has none.
    const size_t dot = key.rfind('.');
    if (dot < kPluginPrefix.size()) continue;
    out[key.substr(kPluginPrefix.size(), dot - kPluginPrefix.size())][key.substr(dot + 1)] =
        join(setting.values);
  }
  return out;
}

}  // namespace ferrule
