// The lines that children write and that report.jsonl holds: one JSON object each, one key of which
// says what it is.
//
//   {"facts": {..}}  {"family": "F"}  {"case": "F/.."}  {"begin": "F/.."}  {"end": "F/..", ..}
//   {"problem": ".."}  {"note": ".."}  {"judgement": {..}}  {"done": ".."}
#pragma once

#include "conformance/report/record.h"

namespace ferrule::conformance {

// What a child is to do.
struct Job {
  std::string plugin, depth, data_folder;
  bool list = false;  // say the facts and the cases; else run `cases`
  bool load = true;   // false: the plugin brings a process down; `load_text` says how
  std::string load_text;
  std::string families;  // ids; those to list
  int64_t device = -1;   // -1: the first that is present
  int64_t seed = 1, memory_limit_mib = 0;
  std::vector<std::string> cases;
};

// Without the end of line. `kind` is one of those that hold a text.
std::string line_of(const char* kind, const std::string& text);
std::string line_of(const Record& record);
std::string line_of(const Facts& facts);
std::string line_of(const Judgement& judgement);
std::string line_of(const Job& job);

struct Line {
  std::string kind;  // "facts", "case", ..
  std::string text;
  Record record;
  Facts facts;
  Judgement judgement;
  Job job;
};
//   errors  invalid_argument for anything else
Result<Line> parse_line(std::string_view text);

// A whole report.jsonl; the records are put into the order of the list.
//   errors  invalid_argument with the line; what is missing or doubled is verify's business
struct Read {
  Report report;
  std::vector<std::string> ends;  // names of end lines, as they came
  std::string head;               // every line before the last, whose "done" has their hash
  std::string hash;               // what it says
};
Result<Read> parse_report(std::string_view text);
// The lines again, but for begin lines.
std::string to_json_lines(const Report& report);

}  // namespace ferrule::conformance
