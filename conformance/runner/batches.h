// Cases by batches in child processes. Whatever a case does to its process is its own verdict; the
// rest goes on.
#pragma once

#include <map>

#include "conformance/runner/process.h"

namespace ferrule::conformance {

struct Watch {
  std::function<void(const std::string& name)> begin;
  std::function<void(const Record& record)> end;  // once for each case, with its final verdict
};

// Runs lists of cases. What goes wrong is run again alone; if it then passes, the cases before it
// are cut down to the fewest that bring it down, and these are named in the record.
//   thread  one list at a time; one object for each thread
class Batches {
 public:
  Batches(Job job, Limits limits, Watch watch);

  void run(const std::vector<std::string>& cases);
  // Of whole processes: a plugin that dies when it is closed.
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  struct Trial {
    std::vector<Record> records;  // of the cases that ended, and the one that ended the process
    std::string problem;          // after the last case
  };
  // watched: begins, and ends that are not bad, are passed on as they come.
  Trial attempt(std::vector<std::string> cases, bool watched) const;
  void settle(Record bad, const std::vector<std::string>& before);
  Record confirm(Record record, const std::vector<std::string>& before);
  std::vector<std::string> fewest(const Record& record,
                                  const std::vector<std::string>& before) const;

  Job job_;
  Limits limits_;
  Watch watch_;
  std::vector<std::string> problems_;
  std::map<char, int> hangs_, confirmed_;  // by family
};

}  // namespace ferrule::conformance
