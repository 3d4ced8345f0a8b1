// Text of a stranger's on a terminal.
#pragma once

#include <string>
#include <string_view>

namespace ferrule::cli {

// Control characters and broken UTF-8 as \xNN.
std::string printable(std::string_view text, bool keep_lines);

}  // namespace ferrule::cli
