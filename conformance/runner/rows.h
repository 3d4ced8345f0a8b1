// Data of the suite: TOML files that are nothing but rows, [[kind]] tables of texts and lists.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/base/status.h"

namespace ferrule::conformance {

struct DataRow {
  std::string kind;   // the table's name
  std::string place;  // "profiles.toml:3", for messages
  std::map<std::string, std::vector<std::string>> values;
  std::set<std::string> bare;  // keys of integers, true and false

  bool has(const std::string& key) const { return values.count(key) != 0; }
  const std::vector<std::string>& list(const std::string& key) const;
  std::string text(const std::string& key) const;  // empty if there is none
  //   errors  invalid_argument with the place, naming the key
  Result<int64_t> integer(const std::string& key, int64_t fallback) const;
  // No key but these.
  Status only(std::initializer_list<const char*> keys) const;
  // Every value is written as a text in quotes, or as a date.
  Status only_texts() const;
};

//   errors  not_found, invalid_argument with the line
Result<std::vector<DataRow>> read_rows_of(const std::string& path);

}  // namespace ferrule::conformance
