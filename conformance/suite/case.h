// What the suite is made of: cases, what they find, and the families that list them.
//
// A case is listed and run in a child process; only its name, and what it found, cross to the
// parent. Names are stable: the same plugin, level, depth and seed give the same names, and a name
// alone is enough to run its case again.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/driver/loader.h"

namespace ferrule::conformance {

constexpr const char* kSuiteVersion = "0.1.0";

enum class Verdict : uint8_t {
  pass, fail, not_claimed, quality_warning, resource_error, timeout, crash, device_lost,
  internal_error, waived, xfail, xpass
};
const char* verdict_name(Verdict verdict);  // "quality_warning"
Verdict parse_verdict(std::string_view name);  // internal_error if there is none

// `worst` of what had to be exact, a class or a value, and is not.
constexpr double kNoShare = 1e30;

// What one case found.
struct Outcome {
  Verdict verdict = Verdict::pass;
  std::string text;     // a sentence: what was wanted and what came; of a number: the worst element,
                        // its index, inputs, both values and the bound
  uint64_t judged = 0;  // elements, calls or bytes that were compared. A pass that judged nothing is
                        // made an internal_error by the runner
  double worst = 0;     // numerics: the largest error over its bound; above 1 fails
};

inline Outcome pass(uint64_t judged, double worst = 0) { return {Verdict::pass, {}, judged, worst}; }
inline Outcome fail(std::string text) { return {Verdict::fail, std::move(text), 1, 0}; }

enum class Depth : uint8_t { smoke, standard, deep };

// What is judged, and how thoroughly.
struct Target {
  std::string path;              // of the library, absolute
  std::shared_ptr<Driver> driver;  // null where the plugin does not load (families A, B)
  ferrule::Verdict load;         // the loader's verdict
  size_t device = 0;             // number of the device that is judged
  Depth depth = Depth::standard;
  uint64_t seed = 1;
  std::string data_folder;       // conformance/data, or where it was installed
  // Names that will be run: a family may leave out others, and lists faster then. Null: all.
  std::shared_ptr<const std::set<std::string>> only;

  const DeviceRow& row() const { return driver->devices()[device]; }
  // Whether a case is wanted, or any whose name starts so.
  bool wants(const std::string& start) const {
    if (!only) return true;
    const auto at = only->lower_bound(start);
    return at != only->end() && at->compare(0, start.size(), start) == 0;
  }
};

struct Case {
  std::string name;  // "F/add/f32/bias_row": family, subject, then what varies
  std::function<Outcome(const Target&)> run;
  // Optional: what `explain` shows of it, such as the region's text form.
  std::function<std::string(const Target&)> text = {};
};

struct Family {
  char id;            // 'A'
  const char* name;   // "abi"
  int level;          // of L0 .. L5 that it belongs to
  const char* doc;
  bool needs_device;  // not listed if the plugin does not load or the device is absent
  void (*list)(const Target& target, std::vector<Case>& cases);
};

// Rows of families.def, in order of id.
std::span<const Family> families();

}  // namespace ferrule::conformance
