// The only file that knows toml++.
#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "core/base/text.h"
#include "core/config/config.h"
#include "core/config/document.h"

namespace ferrule {
namespace {

constexpr int kMostNested = 16;

struct Flattened {
  std::string key;
  Setting setting;
  std::vector<std::string> written;  // by value: a text has its quotes
  bool is_list = false, is_table = false;
};

// The core reads texts, so that a number in quotes would pass.
Status check_form(const Flattened& flat) {
  const KeyRow* row = find_key(flat.key);
  // An option of a plugin has one value, whose kind the plugin alone knows.
  const bool list = row && row->kind == KeyKind::list,
             bare = row && (row->kind == KeyKind::integer || row->kind == KeyKind::boolean);
  if (list == flat.is_list &&
      std::all_of(flat.written.begin(), flat.written.end(),
                  [&](const std::string& w) { return !row || w.starts_with('"') != bare; }))
    return {};
  const std::string got = join(flat.written);
  return Status(Code::invalid_argument, cat("key ", flat.key, ": want ",
                                            !row   ? "one value"
                                            : list ? "a list of texts in quotes"
                                            : bare ? "a value without quotes"
                                                   : "a text in quotes",
                                            ", got ", flat.is_list ? cat("[", got, "]") : got));
}

// A table without keys has no effect, so that one with a wrong name would pass.
Status check_table(const std::string& name) {
  std::vector<std::string> tables = {"plugin"};
  for (const KeyRow& row : config_keys()) tables.push_back(split(row.name, '.')[0]);
  if (name.starts_with("plugin.") || std::ranges::count(tables, name)) return {};
  return Status(Code::invalid_argument,
                cat("table ", name, ": want a known table", near_text(name, tables)));
}

std::string place(const std::string& name, const toml::node& node) {
  return cat(name, ":", int64_t(node.source().begin.line));
}

Result<std::string> scalar(const toml::node& node, const std::string& key) {
  if (const auto* value = node.as_string()) return value->get();
  if (const auto* value = node.as_integer()) return std::to_string(value->get());
  if (const auto* value = node.as_boolean()) return std::string(value->get() ? "true" : "false");
  if (const auto* value = node.as_floating_point())  // 1e3 is no integer
    return number_text(value->get()) + (parse_int(number_text(value->get())) ? ".0" : "");
  return Status(Code::invalid_argument, cat("key ", key, ": want a text, number, true or false"));
}

Status flatten(const toml::table& table, const std::string& prefix, const std::string& name,
               int depth, std::vector<Flattened>& out) {
  if (depth > kMostNested)
    return Status(Code::invalid_argument,
                  cat(name, ": want at most ", kMostNested, " nested tables"));
  for (const auto& [k, node] : table) {
    const std::string key = prefix.empty() ? std::string(k.str()) : cat(prefix, ".", k.str());
    if (prefix != "plugin" && k.str().find('.') != std::string_view::npos)
      return Status(Code::invalid_argument,
                    cat("key ", key, ": want dots outside quotes, got ", json_quote(k.str())))
          .within(place(name, node));
    Flattened flat{key, {{}, place(name, node)}, {}};
    const auto* inner = node.as_table();
    if (inner && !inner->empty()) {
      FRL_TRY(flatten(*inner, key, name, depth + 1, out));
      continue;
    }
    const auto take = [&](const toml::node& element) -> Status {
      auto value = scalar(element, key);
      if (!value.ok()) return std::move(value).within(place(name, element)).status();
      flat.written.push_back(element.is_string() ? json_quote(*value) : *value);
      flat.setting.values.push_back(std::move(*value));
      return {};
    };
    const auto* array = node.as_array();
    flat.is_table = inner, flat.is_list = array;
    if (array)
      for (const toml::node& element : *array) FRL_TRY(take(element));
    else if (!inner)
      FRL_TRY(take(node));
    out.push_back(std::move(flat));
  }
  return {};
}

Result<std::vector<Flattened>> read(std::string_view text, const std::string& name) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // a byte order mark
  if (Status s = check_document(text); !s.ok())
    return Status(s.code(), cat(name, ":", s.message()));
  const toml::parse_result parsed = toml::parse(text, std::string_view(name));
  if (!parsed) {
    const auto& error = parsed.error();
    return Status(Code::invalid_argument,
                  cat(name, ":", int64_t(error.source().begin.line), ":",
                      int64_t(error.source().begin.column), ": ", error.description()));
  }
  std::vector<Flattened> found;
  FRL_TRY(flatten(parsed.table(), "", name, 0, found));
  return found;
}

}  // namespace

Status Config::add_toml(std::string_view text, const std::string& name, const std::string& folder) {
  FRL_LET(std::vector<Flattened> found, read(text, name));
  std::set<std::string> keys;  // a plugin's id may be written in two ways
  for (Flattened& flat : found) {
    Status status = flat.is_table ? check_table(flat.key) : check(flat.key, flat.setting);
    if (status.ok() && !flat.is_table) status = check_form(flat);
    const bool again = !flat.is_table && !keys.insert(flat.key).second;
    if (again) status = Status(Code::invalid_argument, cat("key ", flat.key, ": want it once"));
    if (!status.ok()) return std::move(status).within(flat.setting.origin);
    if (is_path(flat.key))
      for (std::string& path : flat.setting.values)
        if (!path.empty())
          path = (std::filesystem::path(folder) / path).lexically_normal().string();
  }
  for (Flattened& flat : found)
    if (!flat.is_table) settings_[flat.key] = std::move(flat.setting);
  return {};
}

Result<std::map<std::string, std::vector<std::string>>> flat_toml(std::string_view text,
                                                                  const std::string& name) {
  FRL_LET(std::vector<Flattened> found, read(text, name));
  std::map<std::string, std::vector<std::string>> out;
  for (Flattened& flat : found)
    if (!flat.is_table) out[flat.key] = std::move(flat.setting.values);
  return out;
}

Status Config::set_toml(const std::string& key, const std::string& value,
                        const std::string& origin) {
  auto found = read("value = " + value, "");
  if (!found.ok() || found->size() != 1 || (*found)[0].key != "value" || (*found)[0].is_table)
    return Status(Code::invalid_argument,
                  cat("key ", key, ": want a TOML list or a quoted text, got ", value));
  Flattened& flat = (*found)[0];
  flat.key = key;
  FRL_TRY(check_form(flat));
  return set_list(key, std::move(flat.setting.values), origin);
}

}  // namespace ferrule
