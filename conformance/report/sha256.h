// SHA-256, so that anybody can check the hashes of a report with the tools of the system.
#pragma once

#include <string>
#include <string_view>

namespace ferrule::conformance {

// 64 lower-case hex digits; empty if the system's OpenSSL does not give the algorithm.
std::string sha256(std::string_view bytes);

// Of a file's bytes; empty if it cannot be read.
std::string sha256_of_file(const std::string& path);

}  // namespace ferrule::conformance
