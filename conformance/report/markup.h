// Text as HTML and XML want it.
#pragma once

#include <string>
#include <string_view>

namespace ferrule::conformance {

// & < > " ' as entities; bytes that XML 1.0 forbids, and invalid UTF-8, as U+FFFD.
std::string escaped(std::string_view text);

// "1.23"; the same in every locale.
std::string fixed(double value, int places);

}  // namespace ferrule::conformance
