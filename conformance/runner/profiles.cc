#include "conformance/runner/profiles.h"

#include <algorithm>
#include <map>

#include "conformance/runner/rows.h"
#include "core/base/text.h"
#include "tools/options/options.h"

namespace ferrule::conformance {
namespace {

constexpr size_t kShown = 8;
constexpr const char* kFile = "/profiles/profiles.toml";

void add(Profile& profile, const std::string& op, const std::vector<std::string>& types) {
  auto found = std::find_if(profile.must.begin(), profile.must.end(),
                            [&](const Must& m) { return m.op == op; });
  if (found == profile.must.end()) found = profile.must.insert(found, {op, {}});
  for (const std::string& type : types)
    if (std::find(found->types.begin(), found->types.end(), type) == found->types.end())
      found->types.push_back(type);
}

// Every row of the op table but `except`; control ops are steps of a plan when nobody claims them.
void add_every_op(Profile& profile, const std::vector<std::string>& except) {
  for (const OpRow& op : op_rows())
    if (op.form != Form::control &&
        std::find(except.begin(), except.end(), op.name) == except.end())
      add(profile, op.name, {});
}

Status add_profile(const DataRow& row, Profiles& out) {
  FRL_TRY(row.only({"name", "doc", "every", "except", "includes"}));
  Profile profile{row.text("name"), row.text("doc"), {}};
  if (row.text("every") == "true") add_every_op(profile, row.list("except"));
  out.profiles.push_back(std::move(profile));
  return {};
}

// After all claims: of the profiles above, which are whole by then.
Status add_included(const DataRow& row, Profiles& out) {
  const auto at = std::find_if(out.profiles.begin(), out.profiles.end(),
                               [&](const Profile& p) { return p.name == row.text("name"); });
  for (const std::string& name : row.list("includes")) {
    const auto other =
        std::find_if(out.profiles.begin(), at, [&](const Profile& p) { return p.name == name; });
    if (other == at)
      return Status(Code::invalid_argument,
                    cat(row.place, ": includes: want a profile above, got ", name));
    for (const Must& must : other->must) add(*at, must.op, must.types);
  }
  return {};
}

Status add_claim(const DataRow& row, Profiles& out) {
  FRL_TRY(row.only({"profile", "ops", "types"}));
  for (const std::string& op : row.list("ops"))
    if (!find_op(op))
      return Status(Code::invalid_argument, cat(row.place, ": ops: there is no op ", op));
  for (const std::string& type : row.list("types"))
    if (parse_type(type) == Type::none)
      return Status(Code::invalid_argument, cat(row.place, ": types: there is no type ", type));
  for (Profile& profile : out.profiles) {
    if (profile.name != row.text("profile")) continue;
    for (const std::string& op : row.list("ops")) add(profile, op, row.list("types"));
    return {};
  }
  return Status(Code::invalid_argument,
                cat(row.place, ": profile: there is no profile ", row.text("profile")));
}

Status add_floor(const DataRow& row, Profiles& out) {
  FRL_TRY(row.only({"family", "smoke", "standard", "each", "forms"}));
  if (row.text("family").size() != 1)
    return Status(Code::invalid_argument,
                  cat(row.place, ": family: want one letter, got ", row.text("family")));
  Floor floor;
  floor.family = row.text("family")[0], floor.forms = row.list("forms");
  FRL_LET(floor.smoke, row.integer("smoke", 0));
  FRL_LET(floor.standard, row.integer("standard", floor.smoke));
  FRL_LET(floor.each, row.integer("each", 0));
  out.floors.push_back(std::move(floor));
  return {};
}

Status add_kind(const std::vector<DataRow>& rows, const char* kind,
                Status (*take)(const DataRow&, Profiles&), Profiles& out) {
  for (const DataRow& row : rows)
    if (row.kind == kind) FRL_TRY(take(row, out));
  return {};
}

bool judged(const Record& record) {
  return record.judged > 0 || record.verdict == Verdict::waived || record.verdict == Verdict::fail;
}

}  // namespace

const Must* Profile::find(const std::string& op) const {
  const auto found =
      std::find_if(must.begin(), must.end(), [&](const Must& m) { return m.op == op; });
  return found == must.end() ? nullptr : &*found;
}

const Profile* Profiles::find(const std::string& name) const {
  for (const Profile& profile : profiles)
    if (profile.name == name) return &profile;
  return nullptr;
}

Status Profiles::check(const std::string& name) const {
  if (name.empty() || find(name)) return {};
  std::vector<std::string> names;
  for (const Profile& profile : profiles) names.push_back(profile.name);
  return Status(Code::invalid_argument, cat("--profile: want one of ", join(names), ", got ", name,
                                            near_text(name, names)));
}

Result<Profiles> read_profiles(const std::string& data_folder) {
  FRL_LET(const auto rows, read_rows_of(data_folder + kFile));
  Profiles out;
  FRL_TRY(add_kind(rows, "profile", add_profile, out));
  FRL_TRY(add_kind(rows, "claim", add_claim, out));
  FRL_TRY(add_kind(rows, "profile", add_included, out));
  FRL_TRY(add_kind(rows, "floor", add_floor, out));
  for (Profile& profile : out.profiles)
    std::sort(profile.must.begin(), profile.must.end(),
              [](const Must& a, const Must& b) { return a.op < b.op; });
  return out;
}

std::vector<std::string> missing_claims(const Profile& profile, const Facts& facts) {
  std::vector<std::string> out, absent;
  for (const Must& must : profile.must) {
    const auto found = std::find_if(facts.claims.begin(), facts.claims.end(),
                                    [&](const Claimed& c) { return c.op == must.op; });
    if (found == facts.claims.end()) {
      absent.push_back(must.op);
      continue;
    }
    for (const std::string& type : must.types)
      if (std::find(found->types.begin(), found->types.end(), type) == found->types.end())
        out.push_back(cat(profile.name, ": want a claim of ", must.op, " on ", type));
  }
  if (absent.empty()) return out;
  // Of a profile that nobody asked for a few are enough.
  const size_t shown = facts.profile.empty() ? std::min(kShown, absent.size()) : absent.size();
  const std::string rest =
      shown < absent.size() ? cat(" and ", absent.size() - shown, " more") : std::string();
  absent.resize(shown);
  out.insert(out.begin(), cat(profile.name, ": want claims of ", join(absent), rest));
  return out;
}

std::vector<std::string> under_floors(const Profiles& data, const Report& report,
                                      std::span<const Family> families) {
  std::map<char, int64_t> in_family;
  std::map<std::pair<char, std::string>, int64_t> in_subject;
  for (const Record& record : report.records) {
    if (!judged(record)) continue;
    ++in_family[record.name[0]];
    ++in_subject[{record.name[0], subject_of(record.name)}];
  }
  std::vector<std::string> out;
  for (const Floor& floor : data.floors) {
    const auto family = std::find_if(families.begin(), families.end(),
                                     [&](const Family& f) { return f.id == floor.family; });
    if (family == families.end() || family->level > report.facts.level) continue;
    const int64_t least = report.facts.depth == "smoke" ? floor.smoke : floor.standard;
    const std::string id(1, floor.family);
    if (in_family[floor.family] < least)
      out.push_back(cat("floor: family ", id, ": want at least ", least, " judged cases, got ",
                        in_family[floor.family]));
    std::vector<std::string> few;
    for (const Claimed& claim : report.facts.claims) {
      if (floor.each == 0 ||
          std::find(floor.forms.begin(), floor.forms.end(), claim.form) == floor.forms.end())
        continue;
      if (in_subject[{floor.family, claim.op}] < floor.each) few.push_back(claim.op);
    }
    if (!few.empty())
      out.push_back(cat("floor: family ", id, ": want at least ", floor.each,
                        " judged cases each of ", join(few)));
  }
  return out;
}

std::string must_pass_list(const Profiles& data, const std::string& name,
                           std::span<const Family> families) {
  std::vector<std::string> lines;
  for (const Profile& profile : data.profiles)
    for (const Must& must : profile.must)
      if (name.empty() || profile.name == name)
        lines.push_back(cat(profile.name, " claims ", must.op, must.types.empty() ? "" : " ",
                            join(must.types, " ")));
  for (const Family& family : families)
    lines.push_back(
        cat("family ", std::string(1, family.id), " ", family.name, " L", family.level));
  for (const Floor& floor : data.floors)
    lines.push_back(cat("floor ", std::string(1, floor.family), " ", floor.smoke, " ",
                        floor.standard, " each ", floor.each, floor.forms.empty() ? "" : " ",
                        join(floor.forms, " ")));
  std::sort(lines.begin(), lines.end());
  return join(lines, "\n") + "\n";
}

}  // namespace ferrule::conformance
