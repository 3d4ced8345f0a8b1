// What a configuration document must be before a TOML parser may see it.
#pragma once

#include <string_view>

#include "core/base/status.h"

namespace ferrule {

// Encoding and the plainest syntax: UTF-8 without control characters; ASCII alone outside strings
// and comments; strings that end; a dot between two names (or digits); a table's name after [.
// toml++ 3.3 asserts or has undefined behaviour for documents that break these, where it should
// report.
//   errors  invalid_argument "line:column: want ..., got ..."
Status check_document(std::string_view text);

}  // namespace ferrule
