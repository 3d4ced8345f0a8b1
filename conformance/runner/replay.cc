// explain and replay: one case, in this process, with all that it has to say.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "conformance/runner/child.h"
#include "conformance/runner/program.h"
#include "core/base/text.h"
#include "tools/options/printable.h"

namespace ferrule::conformance {
namespace {

constexpr size_t kMostNearest = 3;  // names of other cases where one is unknown

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
  std::vector<Case> cases = cases_of(family, out.target);
  const auto found = std::find_if(cases.begin(), cases.end(),
                                  [&](const Case& c) { return c.name == options.subject; });
  if (found != cases.end()) out.a_case = std::make_unique<Case>(std::move(*found));
  return out;
}

// How much two names have in common from their beginnings on.
size_t common_start(const std::string& a, const std::string& b) {
  return size_t(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

// "; nearest: F/add/f32/rows/data, ...": up to three.
std::string nearest_cases(const Family& family, Target target, const std::string& name) {
  target.only = nullptr;
  std::vector<std::string> names;
  for (Case& one : cases_of(family, target)) names.push_back(std::move(one.name));
  std::vector<std::string> out;
  if (const std::string near = nearest(name, names); !near.empty()) out.push_back(near);
  std::stable_sort(names.begin(), names.end(), [&](const std::string& a, const std::string& b) {
    return common_start(a, name) > common_start(b, name);
  });
  for (size_t i = 0; i < names.size() && out.size() < kMostNearest; ++i)
    if (std::find(out.begin(), out.end(), names[i]) == out.end()) out.push_back(names[i]);
  return out.empty() ? "; its family has none here" : cat("; nearest: ", join(out));
}

int absent(const Family& family, const Found& found, const Options& options) {
  const Facts facts = facts_of(found.target);
  if (!facts.load_text.empty())
    return complain(cat("plugin: ", facts.load_stage, ": ", facts.load_text));
  if (!facts.device_text.empty()) return complain(cat("device: ", facts.device_text)), kNoDevice;
  return complain(cat("case: want one of this plugin at depth ", options.depth, ", got ",
                      options.subject, nearest_cases(family, found.target, options.subject)));
}

// What `explain` says; with a plugin also what the case runs.
void print_case(const Family& family, const Options& options, const Found& found) {
  print_family(family, options.subject);
  if (found.a_case && found.a_case->text)
    std::fputs(cli::printable(found.a_case->text(found.target), true).c_str(), stdout);
  // It may bring the process down.
  std::fflush(stdout);
}

int no_family(std::span<const Family> families, const std::string& got) {
  std::vector<std::string> ids;
  for (const Family& family : families) ids.emplace_back(1, family.id);
  return complain(
      cat("case: want FAMILY/SUBJECT/... of the families ", join(ids, ""), ", got ", got));
}

}  // namespace

int explain_command(std::span<const Family> families, const Options& options) {
  const Family* family = family_of(families, options.subject);
  if (!family) return no_family(families, options.subject);
  Found found;
  if (!options.plugin.empty()) {
    found = find_case(families, *family, options);
    if (!found.a_case) return absent(*family, found, options);
  }
  print_case(*family, options, found);
  return kFine;
}

int replay_command(std::span<const Family> families, const Options& options) {
  const Family* family = family_of(families, options.subject);
  if (!family) return no_family(families, options.subject);
  const Found found = find_case(families, *family, options);
  if (!found.a_case) return absent(*family, found, options);
  print_case(*family, options, found);
  const Record record = run_case(*found.a_case, found.target);
  std::printf("  verdict  %s%s%s\n  judged   %llu\n", verdict_name(record.verdict),
              record.text.empty() ? "" : ": ", cli::printable(record.text, true).c_str(),
              static_cast<unsigned long long>(record.judged));
  if (record.worst > 0)
    std::printf("  worst    %s%s\n", worst_text(record.worst).c_str(),
                record.worst < kNoShare ? " of its bound" : "");
  return allowed(record.verdict, family->level) ? kFine : kJudgedBad;
}

}  // namespace ferrule::conformance
