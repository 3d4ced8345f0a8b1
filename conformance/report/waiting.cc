#include "conformance/report/waiting.h"

#include <algorithm>

#include "core/base/text.h"

namespace ferrule::conformance {

std::string Waiting::text(Time now, std::chrono::seconds patience) const {
  const auto oldest = std::min_element(running_.begin(), running_.end(),
                                       [](auto& a, auto& b) { return a.second < b.second; });
  const bool none = oldest == running_.end();
  const auto lasts =
      std::chrono::duration_cast<std::chrono::seconds>(now - (none ? last_ : oldest->second));
  if (lasts < patience) return "";
  return cat("waiting ", int64_t(lasts.count()), " s for ",
             none ? "the plugin to load, list its cases or close" : oldest->first,
             running_.size() > 1 ? cat(" (and ", running_.size() - 1, " more)") : "");
}

}  // namespace ferrule::conformance
