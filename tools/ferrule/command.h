// What a command of the ferrule tool is: a name, rows of options, a function. One file each, and a
// row in main.cc.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/session/session.h"

namespace ferrule::cli {

// Exit codes.
constexpr int kFine = 0, kBadResult = 1, kBadUsage = 2, kNoDevice = 3;

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
  bool has(const std::string& name) const { return values_.count(name) != 0; }
  std::string text(const std::string& name, const std::string& fallback = {}) const;
  const std::vector<std::string>& list(const std::string& name) const;
  //   errors  invalid_argument naming the option
  Result<int64_t> integer(const std::string& name, int64_t fallback) const;
  Result<double> number(const std::string& name, double fallback) const;

  std::map<std::string, std::vector<std::string>> values_;
};

struct Command {
  const char* name;
  const char* doc;
  std::vector<OptionRow> options;
  int (*run)(const Arguments&);
};

// Options that every command has: --config, --target, --threads, --plugins, --set, --json.
std::span<const OptionRow> common_options();

struct Parsed {
  const Command* command = nullptr;
  Arguments arguments;
  int exit_code = kFine;  // when command is null: help was printed, or the usage was wrong
};
Parsed parse(int argc, char** argv, std::span<const Command* const> commands);

// ---- what commands share ----

// The config with its layers, flags last.
Result<Config> make_config(const Arguments& arguments);
// Plugins loaded: from the config's folders, then the folder beside this program.
Result<std::shared_ptr<Runtime>> open_runtime(const Arguments& arguments, bool check_plans = false);
// Prints "ferrule: MESSAGE" and gives the exit code that belongs to the code.
int fail(const Status& status);

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
