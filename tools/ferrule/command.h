// What a command of the ferrule tool is: a name, rows of options, a function. One file each, and a
// row in main.cc.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/session/session.h"
#include "tools/ferrule/print.h"

namespace ferrule::cli {

struct OptionRow {
  const char* name;   // "--input", or "MODEL" for a positional argument
  const char* value;  // "NAME=FILE"; null: a switch
  const char* doc;
  bool many = false;
  bool required = false;
};

// Parsed arguments of one call.
class Arguments {
 public:
  using Given = std::vector<std::pair<std::string, std::string>>;
  const Given& given() const { return given_; }  // in the order of the command line
  void add(std::string name, std::string value) {
    given_.emplace_back(std::move(name), std::move(value));
  }
  bool has(const std::string& name) const;
  std::string text(const std::string& name, const std::string& fallback = {}) const;
  std::vector<std::string> list(const std::string& name) const;
  //   errors  invalid_argument naming the option
  Result<int64_t> integer(const std::string& name, int64_t fallback,
                          int64_t least = INT64_MIN) const;
  // A tolerance: finite, 0 or more.
  Result<double> tolerance(const std::string& name, double fallback) const;

 private:
  Given given_;
};

struct Command {
  const char* name;
  const char* doc;
  std::vector<OptionRow> options;
  Result<int> (*run)(const Arguments&);  // the exit code
};

struct Parsed {
  const Command* command = nullptr;  // null: print the text
  Arguments arguments;
  std::string text;  // help or the version
};
// Options that every command has, before it or behind it: --config, --target, --threads, --plugins,
// --set, --json.
//   errors  invalid_argument with what was wanted
Result<Parsed> parse(std::span<char* const> words, std::span<const Command* const> commands);

// ---- what commands share ----

// The config with its layers; flags in the order in which they stand.
Result<Config> make_config(const Arguments& arguments);
// Plugins loaded: from the config's folders, then those beside this program.
//   errors  a --set of a plugin that was not found is invalid_argument
Result<std::shared_ptr<Runtime>> open_runtime(const Arguments& arguments, bool check_plans = false);

// "NAME=FILE" in two.
Result<std::pair<std::string, std::string>> name_and_value(const std::string& text,
                                                           const char* option);

// A line on a terminal that is written over; nothing elsewhere.
class Progress {
 public:
  void show(const std::string& text);
  ~Progress();

 private:
  bool shown_ = false;
};

}  // namespace ferrule::cli
