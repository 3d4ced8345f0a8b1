// Config: keys with a value and the place that it came from, in layers. keys.def lists the keys.
//
//   built-in < system file < user file < project file < --config < flags
//
// Keys under plugin."ID". belong to that plugin and are checked when it is loaded.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/base/status.h"

namespace ferrule {

enum class KeyKind { text, list, integer, boolean, choice };

struct KeyRow {
  const char* name;
  KeyKind kind;
  const char* fallback;
  const char* doc;
};
std::span<const KeyRow> config_keys();
const KeyRow* find_key(std::string_view name);  // null: no such key

struct Setting {
  std::vector<std::string> values;  // one, but for lists
  std::string origin;               // "built-in", "ferrule.toml:3", "flag --threads"
  bool is_flag() const { return origin.starts_with("flag "); }
};

// Where ferrule keeps what it can make again: in XDG_CACHE_HOME, else in .cache of the user's home.
// Empty: the user has neither.
std::string cache_folder();

// A TOML document as flat keys: "arithmetic.f32" -> its values.
//   errors  invalid_argument with line and column
Result<std::map<std::string, std::vector<std::string>>> flat_toml(std::string_view text,
                                                                  const std::string& name);

class Config {
 public:
  Config();  // built-in values

  // Puts a TOML document on top. `name` is for messages and origins; `folder` is where relative
  // plugin folders start. All or nothing.
  //   errors  invalid_argument with line and column; an unknown key names the nearest one
  Status add_toml(std::string_view text, const std::string& name, const std::string& folder);
  //   errors  not_found if there is no such file, else as above
  Status add_file(const std::string& path);
  // One setting on top, as a flag gives it: a TOML list or quoted text, else a bare text, in which
  // commas separate the elements of a list. Relative plugin folders start at the current one.
  Status set(const std::string& key, const std::string& value, const std::string& origin);
  Status set_list(const std::string& key, std::vector<std::string> values,
                  const std::string& origin);

  // The system, user and project files that exist, in that order. The project file is ferrule.toml
  // in `start` or the nearest folder above.
  Status add_standard_files(const std::string& start);

  const std::string& text(std::string_view key) const;
  const std::vector<std::string>& list(std::string_view key) const;
  int64_t integer(std::string_view key) const;
  bool boolean(std::string_view key) const;
  const std::string& origin(std::string_view key) const;
  // What the config says to each plugin: id -> key -> value.
  std::map<std::string, std::map<std::string, std::string>> plugin_settings() const;

  const std::map<std::string, Setting, std::less<>>& settings() const { return settings_; }

 private:
  static bool is_path(std::string_view key);
  Status check(const std::string& key, const Setting& setting) const;
  Status set_toml(const std::string& key, const std::string& value, const std::string& origin);

  std::map<std::string, Setting, std::less<>> settings_;
};

}  // namespace ferrule
