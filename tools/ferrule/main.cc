// The ferrule tool: one row a command.
#include "tools/ferrule/command.h"

namespace ferrule::cli {

extern const Command plugins_command, devices_command, run_command, verify_command, explain_command,
    bench_command, ops_command, config_command;

}  // namespace ferrule::cli

int main(int argc, char** argv) {
  using namespace ferrule::cli;
  const Command* const kCommands[] = {&plugins_command, &devices_command, &run_command,
                                      &verify_command,  &explain_command, &bench_command,
                                      &ops_command,     &config_command};
  const Parsed parsed = parse(argc, argv, kCommands);
  return parsed.command ? parsed.command->run(parsed.arguments) : parsed.exit_code;
}
