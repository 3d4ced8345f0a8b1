// What a command of the ferrule tool is: a name, rows of options, a function. One file each, and a
// row in main.cc.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/session/session.h"
#include "tools/ferrule/print.h"
#include "tools/options/options.h"

namespace ferrule::cli {

struct Command : CommandRow {
  Result<int> (*run)(const Arguments&);  // the exit code
};

// ---- what commands share ----

// Of bench: settings of the other side, which stand behind its own.
constexpr const char* kAgainst = "--against";

// The config with its layers; flags in the order in which they stand.
Result<Config> make_config(const Arguments& arguments);
// Plugins loaded: from the config's folders, then those beside this program.
//   unheard  whose lines of the log the command says itself
Result<std::shared_ptr<Runtime>> open_runtime(const Arguments& arguments, bool check_plans = false,
                                              std::string_view unheard = {});

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
