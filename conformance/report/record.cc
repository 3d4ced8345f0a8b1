#include "conformance/report/record.h"

#include "conformance/report/markup.h"
#include "core/base/text.h"

namespace ferrule::conformance {

std::string subject_of(std::string_view case_name) {
  const auto parts = split(case_name, '/');
  return parts.size() > 1 ? parts[1] : std::string();
}

std::string type_of(std::string_view case_name) {
  const auto parts = split(case_name, '/');
  for (size_t i = 1; i < parts.size(); ++i)
    if (parse_type(parts[i]) != Type::none) return parts[i];
  return {};
}

std::string worst_text(double worst) {
  return worst < kNoShare ? fixed(worst, 3) : "beyond an exact bound";
}

bool allowed(Verdict verdict, int64_t family_level) {
  switch (verdict) {
    case Verdict::pass:
    case Verdict::waived:
    case Verdict::not_claimed:
      return true;
    case Verdict::quality_warning:
      return family_level < 5;
    default:
      return false;
  }
}

}  // namespace ferrule::conformance
