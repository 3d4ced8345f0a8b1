// Profiles: what a plugin has to claim for a badge, and the floors that no run may fall under.
#pragma once

#include <span>

#include "conformance/report/record.h"

namespace ferrule::conformance {

// "Claims `op`, each of `types` on some operand."
struct Must {
  std::string op;
  std::vector<std::string> types;
};

struct Profile {
  std::string name, doc;
  std::vector<Must> must;  // sorted by op
  // The must-claim row of an op, or null.
  const Must* find(const std::string& op) const;
};

// A generator that lists too little is a fault of the suite, and must not look like a pass.
struct Floor {
  char family = 'A';
  int64_t smoke = 0, standard = 0;  // judged cases in all
  int64_t each = 0;                 // judged cases for each claimed op of one of `forms`
  std::vector<std::string> forms;   // "op", "closed", "open"
};

struct Profiles {
  std::vector<Profile> profiles;  // from the least to the most
  std::vector<Floor> floors;
  const Profile* find(const std::string& name) const;
  //   errors  invalid_argument with the names, where `name` is neither one of them nor empty
  Status check(const std::string& name) const;
};

//   errors  not_found, invalid_argument with the place
Result<Profiles> read_profiles(const std::string& data_folder);

// One sentence for each thing of the must-claim list that the claims lack.
std::vector<std::string> missing_claims(const Profile& profile, const Facts& facts);

// One sentence for each floor that the records fall under, of families up to facts.level.
std::vector<std::string> under_floors(const Profiles& data, const Report& report,
                                      std::span<const Family> families);

// What the badge of `name` (empty: of any) stands for, one line a thing, sorted: claims, families,
// floors. Its SHA-256 binds a report to it.
std::string must_pass_list(const Profiles& data, const std::string& name,
                           std::span<const Family> families);

}  // namespace ferrule::conformance
