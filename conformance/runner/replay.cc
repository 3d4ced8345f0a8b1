// explain and replay: one case, in this process, with all that it has to say.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "conformance/runner/child.h"
#include "conformance/runner/program.h"
#include "core/base/text.h"

namespace ferrule::conformance {
namespace {

const Family* family_of(std::span<const Family> families, const std::string& name) {
  for (const Family& family : families)
    if (name.size() > 1 && name[0] == family.id && name[1] == '/') return &family;
  return nullptr;
}

void print_family(const Family& family, const std::string& name) {
  std::printf("%s\n  family   %c %s (L%d): %s\n", name.c_str(), family.id, family.name,
              family.level, family.doc);
  const auto parts = split(name, '/');
  for (size_t i = 1; i < parts.size(); ++i) {
    const OpRow* op = find_op(parts[i]);
    const char* what = i == 1 ? "subject" : parse_type(parts[i]) != Type::none ? "type" : "variant";
    std::printf("  %-8s %s%s%s\n", what, parts[i].c_str(), op && i == 1 ? ": " : "",
                op && i == 1 ? op->doc : "");
  }
}

struct Found {
  Target target;
  std::unique_ptr<Case> a_case;
};

Found find_case(std::span<const Family> families, const Family& family, const Options& options) {
  Found out{open_target(job_of(families, options)), nullptr};
  out.target.only = std::make_shared<const std::set<std::string>>(std::set{options.subject});
  if (!is_listed(family, out.target)) return out;
  std::vector<Case> cases;
  family.list(out.target, cases);
  const auto found = std::find_if(cases.begin(), cases.end(),
                                  [&](const Case& c) { return c.name == options.subject; });
  if (found != cases.end()) out.a_case = std::make_unique<Case>(std::move(*found));
  return out;
}

void print_text(const Found& found) {
  if (found.a_case && found.a_case->text)
    std::printf("%s\n", found.a_case->text(found.target).c_str());
}

int absent(const Found& found, const Options& options) {
  if (!found.target.load.status.ok())
    std::fprintf(stderr, "%s: %s\n", stage_name(found.target.load.stage),
                 found.target.load.status.message().c_str());
  return complain(
      cat("case: this plugin has no case ", options.subject, " at this depth; try list"));
}

}  // namespace

int explain_command(std::span<const Family> families, const Options& options) {
  const Family* family = family_of(families, options.subject);
  if (!family) return complain(cat("case: want a name such as F/add/f32, got ", options.subject));
  print_family(*family, options.subject);
  if (options.plugin.empty()) return kFine;
  const Found found = find_case(families, *family, options);
  if (!found.a_case) return absent(found, options);
  print_text(found);
  return kFine;
}

int replay_command(std::span<const Family> families, const Options& options) {
  const Family* family = family_of(families, options.subject);
  if (!family) return complain(cat("case: want a name such as F/add/f32, got ", options.subject));
  print_family(*family, options.subject);
  std::fflush(stdout);
  const Found found = find_case(families, *family, options);
  if (!found.a_case) return absent(found, options);
  print_text(found);
  std::fflush(stdout);
  const Record record = run_case(*found.a_case, found.target);
  std::printf("  verdict  %s%s%s\n  judged   %llu\n", verdict_name(record.verdict),
              record.text.empty() ? "" : ": ", record.text.c_str(),
              static_cast<unsigned long long>(record.judged));
  if (record.worst > 0)
    std::printf("  worst    %s of its bound\n", number_text(record.worst).c_str());
  return allowed(record.verdict, family->level) ? kFine : kJudgedBad;
}

}  // namespace ferrule::conformance
