// The only file that knows CLI11.
#include <CLI/CLI.hpp>

#include "core/base/text.h"
#include "tools/ferrule/command.h"

namespace ferrule::cli {
namespace {

constexpr OptionRow kCommon[] = {
    {"--config", "FILE", "a TOML file on top of the others", true},
    {"--target", "DEVICE", "a device that may be used; as targets.order", true},
    {"--threads", "N", "compute threads; as threads.count"},
    {"--plugins", "FOLDER", "a folder with plugins, searched first", true},
    {"--set", "KEY=VALUE", "any key of the config", true},
    {"--json", nullptr, "machine-readable output"},
};

void add(CLI::App& app, const OptionRow& row,
         std::map<std::string, std::vector<std::string>>& values) {
  if (!row.value) {
    app.add_flag_callback(
        row.name, [&values, name = std::string(row.name)] { values[name]; }, row.doc);
    return;
  }
  CLI::Option* option = app.add_option_function<std::vector<std::string>>(
      row.name,
      [&values, name = std::string(row.name)](const std::vector<std::string>& given) {
        values[name] = given;
      },
      row.doc);
  option->type_name(row.value);
  // Many: each use of an option takes one value; a positional takes all.
  if (row.many && row.name[0] == '-')
    option->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->allow_extra_args(false);
  if (!row.many) option->expected(1);
  if (row.required) option->required();
}

}  // namespace

std::span<const OptionRow> common_options() { return kCommon; }

Parsed parse(int argc, char** argv, std::span<const Command* const> commands) {
  CLI::App app{"Runs models on whatever backends lie in the plugins folders."};
  app.require_subcommand(1);
  app.set_version_flag("--version", "ferrule 0.1.0, plugin ABI 1.0");
  std::map<std::string, std::vector<std::string>> values;
  for (const Command* command : commands) {
    CLI::App* sub = app.add_subcommand(command->name, command->doc);
    for (const OptionRow& row : command->options) add(*sub, row, values);
    for (const OptionRow& row : kCommon) add(*sub, row, values);
  }
  Parsed out;
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    out.exit_code = app.exit(error) == 0 ? kFine : kBadUsage;
    return out;
  }
  for (const Command* command : commands)
    if (app.got_subcommand(command->name)) out.command = command;
  out.arguments.values_ = std::move(values);
  return out;
}

}  // namespace ferrule::cli
