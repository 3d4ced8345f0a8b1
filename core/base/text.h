// Text from parts, numbers from text, and the nearest of several names.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace ferrule {

// Shortest text that reads back as the same number; independent of the locale.
std::string number_text(double value);

namespace text_detail {
inline void put(std::string& out, std::string_view part) { out += part; }
inline void put(std::string& out, const char* part) { out += part; }
inline void put(std::string& out, const std::string& part) { out += part; }
inline void put(std::string& out, char part) { out += part; }
inline void put(std::string& out, bool part) { out += part ? "true" : "false"; }
template <class T>
requires std::is_integral_v<T>
void put(std::string& out, T part) { out += std::to_string(part); }
template <class T>
requires std::is_floating_point_v<T>
void put(std::string& out, T part) { out += number_text(double(part)); }
}  // namespace text_detail

// cat("want ", 3, ", got ", name)
template <class... Parts>
std::string cat(const Parts&... parts) {
  std::string out;
  (text_detail::put(out, parts), ...);
  return out;
}

// "a, b, c"
std::string join(std::span<const std::string> parts, std::string_view between = ", ");

// The whole of `text` as a number, or nothing.
std::optional<int64_t> parse_int(std::string_view text);
std::optional<double> parse_double(std::string_view text);

std::vector<std::string> split(std::string_view text, char at);
std::string_view trim(std::string_view text);

// The candidate with the least edit distance to `word`, if that is at most a third of what the two
// do not share in front of a dot (and one edit, or two of six characters); empty otherwise.
std::string nearest(std::string_view word, std::span<const std::string> candidates);
// "; did you mean NAME", or nothing where none is near.
std::string near_text(std::string_view word, std::span<const std::string> candidates);

// Sixteen hexadecimal digits.
std::string hex_text(uint64_t number);

// Quotes, backslashes and control characters escaped as JSON wants; invalid UTF-8 becomes U+FFFD.
std::string json_quote(std::string_view text);

}  // namespace ferrule
