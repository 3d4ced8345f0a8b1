// Waivers: failures that somebody answers for until a date.
#pragma once

#include "conformance/report/record.h"

namespace ferrule::conformance {

struct Waiver {
  std::string place;                        // "file.toml:3"
  std::string plugin;                       // id
  std::string device;                       // glob over whole device names: "mine", "cuda:*"
  std::vector<std::string> cases;           // globs
  std::string reason, owner, url, expires;  // expires: "2027-01-31", the last day on which it holds
  bool own = false;  // of the caller's file: excuses, but there is no badge then
};

//   errors  not_found, invalid_argument with the place: all fields are wanted
Result<std::vector<Waiver>> read_waivers(const std::string& path, bool own);
// Of every .toml file of a folder, by name.
Result<std::vector<Waiver>> read_waiver_folder(const std::string& folder);

// Those that are about this plugin and device and hold on `facts.date`; for the others of the
// caller's own, and for those that expired, a sentence each in `notes`.
std::vector<Waiver> waivers_for(const std::vector<Waiver>& all, const Facts& facts,
                                std::vector<std::string>& notes);
const Waiver* find_waiver(const std::vector<Waiver>& waivers, const std::string& case_name);

// The record as excused: bad > waived (xfail by the caller's own), pass > xpass.
Record excuse(Record record, const std::vector<Waiver>& waivers);

// Patterns that match none of these cases: "w.toml:1: F/add/*".
std::vector<std::string> idle_patterns(const std::vector<Waiver>& waivers,
                                       const std::vector<std::string>& listed);
// A sentence for each pattern that matches no case of the whole suite, or more than a twentieth.
std::vector<std::string> bad_patterns(const std::vector<Waiver>& waivers,
                                      const std::vector<std::string>& suite);

// '*' and '?' as a shell has them; '*' crosses '/'.
bool glob_matches(const std::string& glob, const std::string& name);

}  // namespace ferrule::conformance
