// The only file of the suite that knows CLI11.
#include "conformance/runner/options.h"

#include <CLI/CLI.hpp>

namespace ferrule::conformance {
namespace {

void add_target(CLI::App& app, Options& o) {
  app.add_option("--device", o.device, "number of the plugin's device (the first that is present)")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--seed", o.seed, "of all inputs")->check(CLI::NonNegativeNumber);
  app.add_option("--depth", o.depth, "how thorough")
      ->check(CLI::IsMember({"smoke", "standard", "deep"}));
}

void add_limits(CLI::App& app, Options& o) {
  app.add_option("--case-timeout", o.limits.case_timeout_s, "seconds for one case")
      ->check(CLI::PositiveNumber)
      ->type_name("S");
  app.add_option("--memory-limit", o.limits.memory_limit_mib, "of one process; 0: none")
      ->check(CLI::NonNegativeNumber)
      ->type_name("MIB");
}

void add_run(CLI::App& app, Options& o) {
  app.add_option("PLUGIN", o.plugin, "the library to judge");
  app.add_option("--profile", o.profile, "whose must-claim list counts (all are tried)")
      ->type_name("NAME");
  app.add_option("--level", o.level, "highest level, 0 to 5")->check(CLI::Range(0, 5));
  app.add_option("--family", o.families, "only these, by id: F,G")->type_name("IDS");
  app.add_option("--case", o.case_glob, "only cases with such a name: 'F/add/*'")
      ->type_name("GLOB");
  app.add_option("--jobs", o.jobs, "processes side by side (half the processors)")
      ->check(CLI::PositiveNumber);
  app.add_option("--report", o.report, "folder for the reports")->type_name("DIR");
  app.add_option("--waivers", o.waivers, "excused failures of your own; there is no badge then")
      ->type_name("FILE");
  add_target(app, o);
  add_limits(app, o);
}

}  // namespace

Parsed parse_options(int argc, char** argv) {
  Parsed out;
  Options& o = out.options;
  CLI::App app{
      "Judges a backend plugin. Exit code: 0 fine, 1 judged and failed, 2 bad usage, 3 no device."};
  app.set_version_flag("--version", "ferrule-conformance 0.1.0, plugin ABI 1.0");
  add_run(app, o);
  CLI::App* list =
      app.add_subcommand("list", "Names of the cases that a plugin would be judged by");
  CLI::App* explain = app.add_subcommand("explain", "What a case does");
  CLI::App* replay =
      app.add_subcommand("replay", "Runs one case in this process, with all that it has to say");
  CLI::App* verify =
      app.add_subcommand("verify", "Checks a report: hashes, completeness, counts, badge");
  CLI::App* must_pass = app.add_subcommand(
      "must-pass", "What the badge of a profile stands for: what reports are bound to");
  must_pass->add_option("--profile", o.profile, "one profile (all)")->type_name("NAME");
  for (CLI::App* sub : {list, explain, replay}) {
    if (sub != list) sub->add_option("CASE", o.subject, "its name")->required();
    CLI::Option* plugin = sub->add_option("PLUGIN", o.plugin, "the library");
    if (sub != explain) plugin->required();
    add_target(*sub, o);
  }
  list->add_option("--family", o.families, "only these, by id: F,G")->type_name("IDS");
  list->add_option("--case", o.case_glob, "only cases with such a name")->type_name("GLOB");
  add_limits(*list, o);
  verify->add_option("REPORT", o.subject, "the folder of a report, or its report.jsonl")
      ->required();
  verify->add_option("--plugin", o.plugin, "the library that it should be about");
  try {
    app.parse(argc, argv);
    const std::pair<CLI::App*, Command> subs[] = {{list, Command::list},
                                                  {explain, Command::explain},
                                                  {replay, Command::replay},
                                                  {verify, Command::verify},
                                                  {must_pass, Command::must_pass}};
    for (const auto& [sub, command] : subs)
      if (sub->parsed()) o.command = command;
    if (o.command == Command::run && o.plugin.empty()) throw CLI::RequiredError("PLUGIN");
  } catch (const CLI::ParseError& error) {
    out.exit_code = app.exit(error) == 0 ? kFine : kBadUsage;
  }
  return out;
}

}  // namespace ferrule::conformance
