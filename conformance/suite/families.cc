#include "conformance/suite/families.h"

#include <array>

namespace ferrule::conformance {
namespace {

constexpr Family kFamilies[] = {
#define FAMILY(id, name, level, needs_device, doc) {id, #name, level, doc, needs_device, list_##name},
#include "conformance/suite/families.def"
#undef FAMILY
};

constexpr std::array kVerdictNames = {"pass",    "fail",        "not_claimed",    "quality_warning", "resource_error", "timeout",
                                      "crash",   "device_lost", "internal_error", "waived",          "xfail",          "xpass"};

}  // namespace

std::span<const Family> families() { return kFamilies; }

const char* verdict_name(Verdict verdict) { return kVerdictNames[size_t(verdict)]; }

Verdict parse_verdict(std::string_view name) {
  for (size_t i = 0; i < kVerdictNames.size(); ++i)
    if (name == kVerdictNames[i]) return Verdict(i);
  return Verdict::internal_error;
}

}  // namespace ferrule::conformance
