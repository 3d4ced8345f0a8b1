// The only file that knows toml++.
#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include <filesystem>

#include "core/base/text.h"
#include "core/config/config.h"
#include "core/config/document.h"

namespace ferrule {
namespace {

constexpr int kMostNested = 16;

struct Flattened {
  std::string key;
  Setting setting;
};

std::string place(const std::string& name, const toml::node& node) {
  return cat(name, ":", int64_t(node.source().begin.line));
}

Result<std::string> scalar(const toml::node& node, const std::string& key) {
  if (const auto* value = node.as_string()) return value->get();
  if (const auto* value = node.as_integer()) return std::to_string(value->get());
  if (const auto* value = node.as_boolean()) return std::string(value->get() ? "true" : "false");
  if (const auto* value = node.as_floating_point()) return number_text(value->get());
  return Status(Code::invalid_argument, cat("key ", key, ": want a text, number, true or false"));
}

Status flatten(const toml::table& table, const std::string& prefix, const std::string& name,
               int depth, std::vector<Flattened>& out) {
  if (depth > kMostNested)
    return Status(Code::invalid_argument,
                  cat(name, ": want at most ", kMostNested, " nested tables"));
  for (const auto& [k, node] : table) {
    const std::string key = prefix.empty() ? std::string(k.str()) : cat(prefix, ".", k.str());
    if (const auto* inner = node.as_table()) {
      FRL_TRY(flatten(*inner, key, name, depth + 1, out));
      continue;
    }
    Flattened flat{key, {{}, place(name, node)}};
    if (const auto* array = node.as_array()) {
      for (const toml::node& element : *array) {
        auto value = scalar(element, key);
        if (!value.ok()) return std::move(value).within(place(name, element)).status();
        flat.setting.values.push_back(std::move(*value));
      }
    } else {
      auto value = scalar(node, key);
      if (!value.ok()) return std::move(value).within(place(name, node)).status();
      flat.setting.values.push_back(std::move(*value));
    }
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
  for (Flattened& flat : found) {
    if (is_path(flat.key))
      for (std::string& path : flat.setting.values)
        if (!path.empty())
          path = (std::filesystem::path(folder) / path).lexically_normal().string();
    if (Status s = check(flat.key, flat.setting); !s.ok())
      return std::move(s).within(flat.setting.origin);
  }
  for (Flattened& flat : found) settings_[flat.key] = std::move(flat.setting);
  return {};
}

Result<std::map<std::string, std::vector<std::string>>> flat_toml(std::string_view text,
                                                                  const std::string& name) {
  FRL_LET(std::vector<Flattened> found, read(text, name));
  std::map<std::string, std::vector<std::string>> out;
  for (Flattened& flat : found) out[flat.key] = std::move(flat.setting.values);
  return out;
}

Result<std::vector<std::string>> Config::toml_values(const std::string& key,
                                                     const std::string& value) {
  const std::string text = "value = " + value, what = cat("key ", key);
  const auto wrong = [&] {
    return Status(Code::invalid_argument,
                  cat(what, ": want a TOML list or a quoted text, got ", value));
  };
  if (!check_document(text).ok()) return wrong();
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed || parsed.table().size() != 1) return wrong();
  std::vector<Flattened> found;
  FRL_TRY(flatten(parsed.table(), "", what, 0, found));
  return found.size() == 1 ? Result(std::move(found[0].setting.values)) : wrong();
}

}  // namespace ferrule
