// What a run says on the terminal: a line of progress, each failure with its way to replay it, the
// end.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <span>
#include <thread>

#include "conformance/report/record.h"
#include "conformance/report/waiting.h"

namespace ferrule::conformance {

// Failures of one family that read the same but for their numbers are printed so often, and
// counted.
constexpr size_t kMostAlike = 3;

//   thread  any
class Console {
 public:
  // terminal: progress is one line that is written over, with what the run waits for; else one line
  // for each family that ended, and what the run waits for on stderr from time to time.
  Console(std::span<const Family> families, bool terminal);
  ~Console();

  //   replay_tail  of the lines that replay a failure
  void start(const Facts& facts, const std::vector<std::string>& cases, std::string replay_tail);
  void begin(const std::string& name);
  void end(const Record& record);
  // A case that ended well before, and not the second time.
  void spoilt(const Record& record);
  void finish(const Report& report);

 private:
  void clear();
  void show(const std::string& text);
  void watch();
  void print_failure(const Record& record);
  void print_more(char family);
  struct Tally {
    size_t n = 0, ended = 0, bad = 0, judged = 0, not_claimed = 0;
    double seconds = 0;
    std::map<std::string, size_t> alike;  // failures by what they say
  };
  std::span<const Family> families_;
  bool terminal_, shown_ = false;
  std::string replay_tail_;
  std::mutex mutex_;
  std::map<char, Tally> tallies_;
  size_t n_ = 0, ended_ = 0, bad_ = 0;
  Waiting waiting_;
  bool over_ = false;
  std::condition_variable ends_;
  std::thread watcher_;
};

// What a failure says, without its numbers: "fail  element [#,#]: want #, got #".
std::string likeness(const Record& record);

// "ferrule-conformance replay 'F/add' PLUGIN --seed 1 ..."
//   tail  replay_tail() of the facts, or the same with the plugin's path
std::string replay_line(const std::string& name, const std::string& tail);
std::string replay_tail(const Facts& facts);

}  // namespace ferrule::conformance
