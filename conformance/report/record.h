// What a run leaves behind: facts, the list of cases, a record for each, and the judgement.
//
// report.jsonl holds all of it in the order in which it happened; every other report is worked out
// from it alone, so `verify` can make them again and compare.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "conformance/suite/case.h"

namespace ferrule::conformance {

// One case, ended.
struct Record {
  std::string name;
  Verdict verdict = Verdict::internal_error;
  std::string text;    // of everything but a clean pass: what was wanted and what came
  std::string output;  // end of what the process printed, where it died
  std::string after;   // cases that have to run before it in the same process, or empty
  uint64_t judged = 0;
  double worst = 0;
  double seconds = 0;
};

// An op or kind that the device claims, alone or as a member of an open kind.
struct Claimed {
  std::string op;
  std::string form;                // "op", "closed" or "open"
  std::vector<std::string> types;  // of any operand
};

// What the verdicts are bound to.
struct Facts {
  std::string suite_version, suite_hash;
  std::vector<std::string> suite_parts;  // "conformance/judge HASH": what suite_hash is the hash of
  std::string plugin_file, plugin_hash, plugin_id, plugin_version;
  std::string load_stage,
      load_text;  // the loader's verdict; "" and "activate" for a plugin that loads
  std::string device, architecture, driver, device_text;  // device_text: why it cannot be judged
  int64_t device_number = -1;                             // -1: there is none
  std::string claims_hash, must_pass_hash;
  std::vector<Claimed> claims;
  std::vector<std::string> void_claims;  // rows that the core could not use, and why
  std::string profile;                   // asked for; empty: all are tried
  std::string families, only;            // the selection, empty for a whole run
  std::string waiver_file;               // of the caller's own
  int64_t level = 5, seed = 1;
  std::string depth, command, host, date;
};

// What becomes of the records and problems: pure arithmetic, see judge_run().
struct Judgement {
  bool fine = false;                  // exit code 0
  std::string badge;                  // "inference-core L3", or empty
  int64_t level = -1;                 // up to which every family is clean; -1 none
  std::vector<std::string> profiles;  // whose must-claim lists are kept
  std::vector<std::string> reasons;   // why there is no badge, or why it is not a higher one
  std::vector<int64_t> counts;        // by verdict
};

struct Report {
  Facts facts;
  std::vector<std::string> listed;  // names of the cases that were to run
  std::vector<Record> records;      // in the order of `listed`
  std::vector<std::string>
      problems;                    // of the run as a whole: a family that cannot list, a bad waiver
  std::vector<std::string> notes;  // worth reading, without consequence: a waiver that expired
  Judgement judgement;
};

// "F/add/f32/bias_row" > "add"
std::string subject_of(std::string_view case_name);
// The first part that names an element type, or empty.
std::string type_of(std::string_view case_name);

// A record's `worst` for people: "0.250", or that nothing but the exact would have done.
std::string worst_text(double worst);

// True for what a badge at `level` allows.
bool allowed(Verdict verdict, int64_t family_level);

}  // namespace ferrule::conformance
