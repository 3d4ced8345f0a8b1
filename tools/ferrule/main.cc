// The ferrule tool: one row a command.
#include <algorithm>
#include <exception>
#include <new>

#include "tools/ferrule/command.h"

namespace ferrule::cli {

extern const Command plugins_command, devices_command, run_command, verify_command, explain_command,
    bench_command, calibrate_command, ops_command, config_command;

namespace {

constexpr OptionRow kCommon[] = {
    {"--config", "FILE", "a TOML file on top of the others", true},
    {"--target", "DEVICE", "a device that may be used, once for each; as targets.order", true},
    {"--threads", "N", "compute threads; as threads.count"},
    {"--plugins", "FOLDER", "a folder with plugins, searched first", true},
    {"--set", "KEY=VALUE", "any key of the config; the last flag for a key holds", true},
    {"--json", nullptr, "one JSON document on stdout, an error too"},
};

Result<int> run(std::span<char* const> words) {
  const Grammar grammar = {
      "ferrule",
      "runs models on whatever backends lie in the plugins folders",
      "ferrule COMMAND --help lists its options; --version says which ferrule this is.\n"
      "Exit codes: 0 fine, 1 ran but the result is bad, 2 bad usage or input, 3 no device.\n",
      "ferrule 0.1.0, plugin ABI 1.0\n",
      {&plugins_command, &devices_command, &run_command, &verify_command, &explain_command,
       &bench_command, &calibrate_command, &ops_command, &config_command},
      kCommon};
  FRL_LET(const Parsed parsed, parse(words, grammar));
  if (parsed.command) return static_cast<const Command*>(parsed.command)->run(parsed.arguments);
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
