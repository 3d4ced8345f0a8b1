#include "conformance/runner/judgement.h"

#include <algorithm>

#include "core/base/text.h"

namespace ferrule::conformance {
namespace {

constexpr int64_t kLevels = 6;

const Family* family_of(std::string_view name, std::span<const Family> families) {
  for (const Family& family : families)
    if (!name.empty() && family.id == name[0]) return &family;
  return nullptr;
}

int64_t level_of(const Record& record, std::span<const Family> families) {
  const Family* family = family_of(record.name, families);
  return family ? family->level : 0;
}

bool is_whole(const Facts& facts) { return facts.families.empty() && facts.only.empty(); }

// "3 of 120 cases fail: F/add/f32/rows, ..."
std::string some_names(const std::vector<std::string>& names) {
  std::vector<std::string> shown(names.begin(),
                                 names.begin() + long(std::min<size_t>(3, names.size())));
  return cat(join(shown), names.size() > shown.size() ? ", ..." : "");
}

// The highest level up to which no case is bad; reasons for each level that is not clean.
int64_t clean_level(const Report& report, std::span<const Family> families,
                    std::vector<std::string>& reasons) {
  int64_t clean = report.facts.level;
  for (int64_t level = kLevels - 1; level >= 0; --level) {
    std::vector<std::string> bad;
    for (const Record& record : report.records)
      if (level_of(record, families) == level && is_bad(record, families))
        bad.push_back(record.name);
    if (bad.empty()) continue;
    clean = std::min(clean, level - 1);
    reasons.insert(reasons.begin(),
                   cat("L", level, ": ", bad.size(), bad.size() == 1 ? " case" : " cases",
                       " not allowed for a badge: ", some_names(bad)));
  }
  return clean;
}

// Must-claim ops that the claims have, but a case found not to be there.
std::vector<std::string> denied_claims(const Profile& profile, const Report& report) {
  std::vector<std::string> out;
  for (const Record& record : report.records) {
    if (record.verdict != Verdict::not_claimed) continue;
    const Must* must = profile.find(subject_of(record.name));
    const std::string type = type_of(record.name);
    if (!must || (type.empty() ? true
                               : std::find(must->types.begin(), must->types.end(), type) ==
                                     must->types.end()))
      continue;
    out.push_back(record.name);
  }
  if (out.empty()) return out;
  return {cat(profile.name, ": ", out.size(),
              " cases of what it must claim are not claimed: ", some_names(out))};
}

}  // namespace

bool is_bad(const Record& record, std::span<const Family> families) {
  return !allowed(record.verdict, level_of(record, families));
}

Judgement judge_run(const Report& report, const Profiles& data, std::span<const Family> families) {
  const Facts& facts = report.facts;
  Judgement out;
  out.counts.assign(size_t(Verdict::xpass) + 1, 0);
  for (const Record& record : report.records) ++out.counts[size_t(record.verdict)];
  out.reasons = report.problems;
  if (!facts.load_text.empty())
    out.reasons.push_back(
        cat("plugin: it does not load: ", facts.load_stage, ": ", facts.load_text));
  if (!facts.device_text.empty()) out.reasons.push_back(cat("device: ", facts.device_text));
  if (is_whole(facts))
    for (std::string& floor : under_floors(data, report, families))
      out.reasons.push_back(std::move(floor));
  const bool sound = out.reasons.empty();

  out.level = clean_level(report, families, out.reasons);
  for (const Profile& profile : data.profiles) {
    if (!facts.profile.empty() && profile.name != facts.profile) continue;
    auto missing = missing_claims(profile, facts);
    for (std::string& denied : denied_claims(profile, report)) missing.push_back(std::move(denied));
    if (missing.empty()) out.profiles.push_back(profile.name);
    std::move(missing.begin(), missing.end(), std::back_inserter(out.reasons));
  }
  const bool excused_only =
      std::all_of(report.records.begin(), report.records.end(), [&](const Record& record) {
        return record.verdict == Verdict::xfail || !is_bad(record, families);
      });
  if (!is_whole(facts)) {
    out.reasons.push_back("a part of the suite was run, so there is no badge");
    out.fine = sound && excused_only;
    return out;
  }
  out.fine = sound && excused_only && !out.profiles.empty();
  if (facts.depth == "smoke") out.reasons.push_back("depth is smoke, so there is no badge");
  if (!facts.waiver_file.empty())
    out.reasons.push_back("waivers of the caller's own were given, so there is no badge");
  if (sound && out.level >= 0 && !out.profiles.empty() && facts.depth != "smoke" &&
      facts.waiver_file.empty())
    out.badge = cat(out.profiles.back(), " L", out.level);
  return out;
}

}  // namespace ferrule::conformance
