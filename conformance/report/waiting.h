// What a run waits for: cases that began and have not ended, the longest first.
#pragma once

#include <chrono>
#include <map>
#include <string>

namespace ferrule::conformance {

class Waiting {
 public:
  using Time = std::chrono::steady_clock::time_point;
  explicit Waiting(Time start) : last_(start) {}

  void begin(const std::string& name, Time now) { running_[name] = last_ = now; }
  void end(const std::string& name, Time now) { running_.erase(name), last_ = now; }

  // "waiting 12 s for F/add/f32/hang (and 1 more)"; where no case runs, for the plugin itself.
  // Empty while nothing has lasted for `patience`.
  std::string text(Time now, std::chrono::seconds patience) const;

 private:
  std::map<std::string, Time> running_;
  Time last_;  // when something last happened
};

}  // namespace ferrule::conformance
