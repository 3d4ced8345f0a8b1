// A command line as rows say it, and the help that is the same rows: of both programs.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/status.h"

namespace ferrule::cli {

struct OptionRow {
  const char* name;   // "--input", or "MODEL" for a positional argument
  const char* value;  // "NAME=FILE"; null: a switch
  const char* doc;
  bool many = false;
  bool required = false;
};

// A number of an option: both ends are allowed.
template <class T>
struct Range {
  T least, most;
  const char* unit = "";  // " seconds"
};

// Parsed arguments of one call.
class Arguments {
 public:
  using Given = std::vector<std::pair<std::string, std::string>>;
  const Given& given() const { return given_; }  // in the order of the command line
  void add(std::string name, std::string value) {
    given_.emplace_back(std::move(name), std::move(value));
  }
  Arguments without(const std::string& name) const;
  bool has(const std::string& name) const;
  std::string text(const std::string& name, const std::string& fallback = {}) const;
  std::vector<std::string> list(const std::string& name) const;
  //   errors  invalid_argument naming the option, for each of these
  Result<int64_t> integer(const std::string& name, int64_t fallback,
                          int64_t least = INT64_MIN) const;
  Result<int64_t> integer(const std::string& name, int64_t fallback, Range<int64_t> range) const;
  Result<double> number(const std::string& name, double fallback, Range<double> range) const;
  Result<std::string> one_of(const std::string& name, const std::string& fallback,
                             std::span<const std::string> names) const;
  // A tolerance: finite, 0 or more.
  Result<double> tolerance(const std::string& name, double fallback) const;

 private:
  Given given_;
};

struct CommandRow {
  const char* name;
  const char* doc;
  std::vector<OptionRow> options;
};

struct Grammar {
  const char* program;  // "ferrule"
  const char* doc;      // what it does
  const char* foot;     // of the help: exit codes
  const char* version;
  std::vector<const CommandRow*> commands;
  std::span<const OptionRow> common;  // of every command, before it or behind it
  const CommandRow* bare = nullptr;   // what is meant where the first word names no command
};

struct Parsed {
  const CommandRow* command = nullptr;  // null: print the text
  Arguments arguments;
  std::string text;  // help or the version
};
//   errors  invalid_argument with what was wanted; an empty text is no value
Result<Parsed> parse(std::span<char* const> words, const Grammar& grammar);

}  // namespace ferrule::cli
