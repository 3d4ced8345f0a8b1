// The only file of the suite that knows toml++.
#define TOML_EXCEPTIONS 0
#include "conformance/runner/rows.h"

#include <toml++/toml.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "core/base/bytes.h"
#include "core/base/text.h"
#include "core/config/document.h"

namespace ferrule::conformance {
namespace {

Result<std::string> scalar(const toml::node& node, const std::string& place) {
  if (const auto* value = node.as_string()) return value->get();
  if (const auto* value = node.as_integer()) return std::to_string(value->get());
  if (const auto* value = node.as_boolean()) return std::string(value->get() ? "true" : "false");
  if (const auto* value = node.as_date()) {
    std::ostringstream text;
    text << value->get();
    return text.str();
  }
  return Status(Code::invalid_argument,
                cat(place, ": want a text, an integer, a date, true or false"));
}

Result<DataRow> read_row(std::string kind, const toml::table& table, const std::string& name) {
  DataRow row;
  row.kind = std::move(kind), row.place = cat(name, ":", int64_t(table.source().begin.line));
  for (const auto& [k, node] : table) {
    const std::string key(k.str());
    std::vector<std::string>& values = row.values[key];
    const auto take = [&, &key = key](const toml::node& element) -> Status {
      FRL_LET(std::string value, scalar(element, row.place));
      values.push_back(std::move(value));
      if (!element.is_string() && !element.is_date()) row.bare.insert(key);
      return {};
    };
    if (const auto* array = node.as_array())
      for (const toml::node& element : *array) FRL_TRY(take(element));
    else
      FRL_TRY(take(node));
  }
  return row;
}

}  // namespace

const std::vector<std::string>& DataRow::list(const std::string& key) const {
  static const std::vector<std::string> kNone;
  const auto found = values.find(key);
  return found == values.end() ? kNone : found->second;
}

std::string DataRow::text(const std::string& key) const {
  const auto& found = list(key);
  return found.empty() ? std::string() : found.front();
}

Result<int64_t> DataRow::integer(const std::string& key, int64_t fallback) const {
  if (!has(key)) return fallback;
  if (const auto value = parse_int(text(key))) return *value;
  return Status(Code::invalid_argument,
                cat(place, ": ", key, ": want an integer, got ", text(key)));
}

Status DataRow::only(std::initializer_list<const char*> keys) const {
  for (const auto& [key, value] : values)
    if (std::find(keys.begin(), keys.end(), key) == keys.end())
      return Status(Code::invalid_argument, cat(place, ": ", kind, " has no key ", key));
  return {};
}

Status DataRow::only_texts() const {
  if (bare.empty()) return {};
  const std::string& key = *bare.begin();
  return Status(Code::invalid_argument,
                cat(place, ": ", key, ": want a text in quotes, got ", join(list(key))));
}

Result<std::vector<DataRow>> read_rows_of(const std::string& path) {
  FRL_LET(const MappedFile file, MappedFile::open(path));
  const Bytes bytes = file.bytes();
  const std::string name = std::filesystem::path(path).filename().string();
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (Status status = check_document(text); !status.ok())
    return Status(status.code(), cat(name, ":", status.message()));
  const toml::parse_result parsed = toml::parse(text, name);
  if (!parsed)
    return Status(Code::invalid_argument,
                  cat(name, ":", int64_t(parsed.error().source().begin.line), ": ",
                      parsed.error().description()));
  std::vector<DataRow> out;
  for (const auto& [kind, node] : parsed.table()) {
    const auto* array = node.as_array();
    if (!array)
      return Status(Code::invalid_argument,
                    cat(name, ": ", kind.str(), ": want [[", kind.str(), "]] tables"));
    for (const toml::node& element : *array) {
      const auto* table = element.as_table();
      if (!table)
        return Status(Code::invalid_argument,
                      cat(name, ": ", kind.str(), ": want [[", kind.str(), "]] tables"));
      FRL_LET(DataRow row, read_row(std::string(kind.str()), *table, name));
      out.push_back(std::move(row));
    }
  }
  return out;
}

}  // namespace ferrule::conformance
