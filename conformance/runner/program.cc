#include "conformance/runner/program.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "conformance/runner/child.h"
#include "conformance/runner/listing.h"
#include "conformance/runner/profiles.h"
#include "conformance/runner/waivers.h"
#include "core/base/text.h"
#include "tools/options/options.h"
#include "tools/options/printable.h"

namespace ferrule::conformance {
namespace fs = std::filesystem;

int complain(const std::string& message) {
  std::fprintf(stderr, "ferrule-conformance: %s\n", cli::printable(message, false).c_str());
  return kBadUsage;
}

std::string data_folder() {
  std::error_code code;
  const fs::path self = fs::read_symlink("/proc/self/exe", code).parent_path();
  return (self.parent_path() / "share" / "ferrule" / "conformance").string();
}

Job job_of(std::span<const Family> families, const Options& options) {
  Job job;
  std::error_code code;
  job.plugin = fs::absolute(options.plugin, code).lexically_normal().string();
  job.depth = options.depth, job.seed = options.seed, job.device = options.device;
  job.memory_limit_mib = options.limits.memory_limit_mib;
  job.data_folder = data_folder();
  for (const Family& family : families) job.families += family.id;
  return job;
}

Result<std::string> family_ids(std::span<const Family> families, const std::string& text) {
  std::string out;
  for (const std::string& word : split(text, ',')) {
    const auto found = std::find_if(families.begin(), families.end(), [&](const Family& f) {
      return word == f.name || word == std::string(1, f.id);
    });
    if (found == families.end())
      return Status(Code::invalid_argument,
                    cat("--family: want ids or names such as F,G, got ",
                        word.empty() ? cat("an empty one in ", text) : word));
    if (out.find(found->id) == std::string::npos) out += found->id;
  }
  return out;
}

std::string nothing_selected(const Options& o, const std::vector<std::string>& listed) {
  return cat("selection: want cases up to L", o.level, " at depth ", o.depth,
             o.families.empty() ? "" : " of families ", o.families,
             o.case_glob.empty() ? "" : " that fit ", o.case_glob, ", got none",
             near_text(o.case_glob, listed));
}

int list_command(std::span<const Family> families, const Options& options) {
  Job job = job_of(families, options);
  if (!options.families.empty()) {
    auto ids = family_ids(families, options.families);
    if (!ids.ok()) return complain(ids.status().message());
    job.families = *ids;
  }
  const Listing listing = list_cases(families, job, options.limits);
  size_t n = 0;
  for (const std::string& name : listing.cases) {
    if (!options.case_glob.empty() && !glob_matches(options.case_glob, name)) continue;
    std::printf("%s\n", cli::printable(name, false).c_str()), ++n;
  }
  for (const std::string& problem : listing.problems) complain(problem);
  const Facts& facts = listing.facts;
  if (!facts.load_text.empty())
    complain(cat("plugin: it does not load: ", facts.load_stage, ": ", facts.load_text));
  if (!listing.problems.empty() || !facts.load_text.empty()) return kJudgedBad;
  if (!facts.device_text.empty()) return complain(cat("device: ", facts.device_text)), kNoDevice;
  return n ? kFine : complain(nothing_selected(options, listing.cases));
}

int must_pass_command(std::span<const Family> families, const Options& options) {
  const auto data = read_profiles(data_folder());
  if (!data.ok()) return complain(data.status().message());
  if (Status s = data->check(options.profile); !s.ok()) return complain(s.message());
  std::fputs(must_pass_list(*data, options.profile, families).c_str(), stdout);
  return kFine;
}

// What cannot be a library is no plugin to judge: there is no report about it.
Status check_plugin_file(const std::string& path) {
  std::error_code code;
  const fs::file_status facts = fs::status(path, code);
  const auto wrong = [&](const std::string& got) {
    return Status(Code::invalid_argument,
                  cat("plugin ", path, ": want a shared library, got ", got));
  };
  if (!fs::exists(facts)) return wrong("no such file");
  if (!fs::is_regular_file(facts)) return wrong(fs::is_directory(facts) ? "a folder" : "no file");
  char magic[4] = {};
  std::ifstream(path, std::ios::binary).read(magic, sizeof magic);
  if (std::memcmp(magic,
                  "\x7F"
                  "ELF",
                  4) != 0)
    return wrong("a file of another kind");
  return {};
}

int run_command(std::span<const Family> families, std::span<char* const> words) {
  const auto parsed = parse_options(words);
  if (!parsed.ok()) return complain(parsed.status().message());
  const Options& options = parsed->options;
  if (!parsed->text.empty()) return std::fputs(parsed->text.c_str(), stdout), kFine;
  if (!options.plugin.empty())
    if (Status s = check_plugin_file(options.plugin); !s.ok()) return complain(s.message());
  std::string line = "ferrule-conformance";
  for (const char* word : words) line += cat(" ", word);
  switch (options.command) {
    case Command::list:
      return list_command(families, options);
    case Command::explain:
      return explain_command(families, options);
    case Command::replay:
      return replay_command(families, options);
    case Command::must_pass:
      return must_pass_command(families, options);
    case Command::verify:
      return verify_command(families, options);
    default:
      return run_suite(families, options, line);
  }
}

int run_program(std::span<const Family> families, int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], kChildFlag) == 0) return run_as_child(families);
  int code = kBadUsage;
  try {
    code = run_command(families, {argv + (argc > 0), argv + argc});
  } catch (const std::exception& error) {
    return complain(error.what());
  }
  // What was not written was not said.
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return code;
  const int cause = errno;
  return complain(cat("stdout: cannot be written: ", std::strerror(cause)));
}

}  // namespace ferrule::conformance
