// The ferrule tool: one row a command.
#include <algorithm>
#include <exception>
#include <new>

#include "tools/ferrule/command.h"

namespace ferrule::cli {

extern const Command plugins_command, devices_command, run_command, verify_command, explain_command,
    bench_command, ops_command, config_command;

namespace {

Result<int> run(std::span<char* const> words) {
  const Command* const kCommands[] = {&plugins_command, &devices_command, &run_command,
                                      &verify_command,  &explain_command, &bench_command,
                                      &ops_command,     &config_command};
  FRL_LET(const Parsed parsed, parse(words, kCommands));
  if (parsed.command) return parsed.command->run(parsed.arguments);
  print(parsed.text);
  return kFine;
}

}  // namespace
}  // namespace ferrule::cli

int main(int argc, char** argv) {
  using namespace ferrule;
  cli::hold_descriptors();
  const std::span<char* const> words(argv + (argc > 0), argv + argc);
  const bool json =
      std::find(words.begin(), words.end(), std::string_view("--json")) != words.end();
  Result<int> code = Status(Code::internal, "tool: not run");
  try {
    code = cli::run(words);
  } catch (const std::bad_alloc&) {
    code = Status(Code::no_memory, "memory: want more than this machine gives");
  } catch (const std::exception& error) {
    code = Status(Code::internal, std::string("tool: ") + error.what());
  }
  return cli::finish(code.ok() ? *code : cli::fail(code.status(), json));
}
