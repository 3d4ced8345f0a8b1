#include "conformance/runner/options.h"

#include "core/base/text.h"
#include "tools/options/options.h"

namespace ferrule::conformance {
namespace {

using cli::CommandRow;
using cli::OptionRow;

constexpr OptionRow kPlugin = {"PLUGIN", "FILE", "the library", false, true};
constexpr OptionRow kCase = {"CASE", "NAME", "its name", false, true};
constexpr OptionRow kDevice = {"--device", "N", "number of the device (the first that is present)"};
constexpr OptionRow kSeed = {"--seed", "N", "of all inputs (1)"};
constexpr OptionRow kDepth = {"--depth", "DEPTH", "smoke, standard or deep (standard)"};
constexpr OptionRow kFamily = {"--family", "IDS", "only these, by id: F,G"};
constexpr OptionRow kGlob = {"--case", "GLOB", "only cases with such a name: 'F/add/*'"};
constexpr OptionRow kTimeout = {"--case-timeout", "SECONDS", "for one case (60)"};
constexpr OptionRow kMemory = {"--memory-limit", "MIB", "of one process; 0: none (8192)"};

struct Row : CommandRow {
  Command command;
};
const Row kRun = {{"",
                   "",
                   {kPlugin,
                    {"--profile", "NAME", "whose must-claim list counts (all are tried)"},
                    {"--level", "N", "highest level, 0 to 5 (5)"},
                    kFamily,
                    kGlob,
                    {"--jobs", "N", "processes side by side (half the processors)"},
                    {"--report", "FOLDER", "where the reports go"},
                    {"--waivers", "FILE", "excused failures of your own; there is no badge then"},
                    kDevice,
                    kSeed,
                    kDepth,
                    kTimeout,
                    kMemory}},
                  Command::run};
const Row kCommands[] = {
    {{"list",
      "names of the cases that a plugin would be judged by",
      {kPlugin, kFamily, kGlob, kDevice, kSeed, kDepth, kTimeout, kMemory}},
     Command::list},
    {{"explain",
      "what a case does",
      {kCase, {"PLUGIN", "FILE", "the library"}, kDevice, kSeed, kDepth}},
     Command::explain},
    {{"replay",
      "run one case in this process, with all that it has to say",
      {kCase, kPlugin, kDevice, kSeed, kDepth}},
     Command::replay},
    {{"verify",
      "check a report: exits with 0 if it is genuine and its badge earned, 1 if it is genuine and "
      "none was, 2 if it is not genuine",
      {{"REPORT", "PATH", "the folder of a report, or its report.jsonl", false, true},
       {"--plugin", "FILE", "the library that it should be about"}}},
     Command::verify},
    {{"must-pass",
      "what the badge of a profile stands for: what reports are bound to",
      {{"--profile", "NAME", "one profile (all)"}}},
     Command::must_pass}};

constexpr int64_t kLeastMemory_mib = 16;  // the suite alone takes about as much

Result<int64_t> memory_limit(const cli::Arguments& arguments, int64_t fallback) {
  const char* name = "--memory-limit";
  if (arguments.text(name) == "0") return 0;
  const auto value = arguments.integer(name, fallback, {kLeastMemory_mib, 1 << 20, " MiB"});
  if (value.ok()) return value;
  return Status(Code::invalid_argument, cat(name, ": want 0 for none, or ", kLeastMemory_mib,
                                            " to ", 1 << 20, " MiB, got ", arguments.text(name)));
}

Result<Options> options_of(Command command, const cli::Arguments& arguments) {
  Options o;
  o.command = command;
  o.plugin = arguments.text(command == Command::verify ? "--plugin" : "PLUGIN");
  o.subject = arguments.text(command == Command::verify ? "REPORT" : "CASE");
  o.profile = arguments.text("--profile"), o.families = arguments.text("--family");
  o.case_glob = arguments.text("--case"), o.report = arguments.text("--report");
  o.waivers = arguments.text("--waivers");
  const std::string depths[] = {"smoke", "standard", "deep"};
  FRL_LET(o.depth, arguments.one_of("--depth", o.depth, depths));
  FRL_LET(o.level, arguments.integer("--level", o.level, {0, 5}));
  FRL_LET(o.device, arguments.integer("--device", o.device, {0, 65535}));
  FRL_LET(o.seed, arguments.integer("--seed", o.seed, {0, INT64_MAX}));
  FRL_LET(o.jobs, arguments.integer("--jobs", o.jobs, {1, 1024}));
  FRL_LET(o.limits.case_timeout_s,
          arguments.number("--case-timeout", o.limits.case_timeout_s, {0.1, 3600, " seconds"}));
  FRL_LET(o.limits.memory_limit_mib, memory_limit(arguments, o.limits.memory_limit_mib));
  return o;
}

}  // namespace

Result<Parsed> parse_options(std::span<char* const> words) {
  const std::string version = cat("ferrule-conformance ", kSuiteVersion, ", plugin ABI 1.0\n");
  cli::Grammar grammar = {"ferrule-conformance",
                          "judges a backend plugin by its own claims",
                          "ferrule-conformance COMMAND --help lists its options.\n"
                          "Exit codes: 0 fine, 1 judged and failed, 2 bad usage, 3 no device.\n",
                          version.c_str(),
                          {},
                          {},
                          &kRun};
  for (const Row& row : kCommands) grammar.commands.push_back(&row);
  FRL_LET(const cli::Parsed parsed, cli::parse(words, grammar));
  if (!parsed.command) return Parsed{{}, parsed.text};
  FRL_LET(Options options,
          options_of(static_cast<const Row*>(parsed.command)->command, parsed.arguments));
  return Parsed{std::move(options), {}};
}

}  // namespace ferrule::conformance
