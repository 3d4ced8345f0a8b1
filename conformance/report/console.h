// What a run says on the terminal: a line of progress, each failure with its way to replay it, the
// end.
#pragma once

#include <map>
#include <mutex>
#include <span>

#include "conformance/report/record.h"

namespace ferrule::conformance {

//   thread  any
class Console {
 public:
  // terminal: progress is one line that is written over; else one line for each family that ended.
  Console(std::span<const Family> families, bool terminal, std::string replay_tail);

  void start(const Facts& facts, const std::vector<std::string>& cases);
  void begin(const std::string& name);
  void end(const Record& record);
  // A case that ended well before, and not the second time.
  void spoilt(const Record& record);
  void finish(const Report& report);

 private:
  void clear();
  void print_failure(const Record& record);
  struct Tally {
    size_t n = 0, ended = 0, bad = 0, judged = 0, not_claimed = 0;
    double seconds = 0;
  };
  std::span<const Family> families_;
  bool terminal_, shown_ = false;
  std::string replay_tail_;
  std::mutex mutex_;
  std::map<char, Tally> tallies_;
  size_t n_ = 0, ended_ = 0, bad_ = 0;
};

// "ferrule-conformance replay 'F/add' PLUGIN --seed 1 ..."
//   tail  replay_tail() of the facts, or the same with the plugin's path
std::string replay_line(const std::string& name, const std::string& tail);
std::string replay_tail(const Facts& facts);

}  // namespace ferrule::conformance
