#include "conformance/report/markup.h"

#include <charconv>
#include <cstdint>

namespace ferrule::conformance {
namespace {

// Length of the UTF-8 sequence at the start of `text`; 0 if it is none that XML may hold.
size_t sequence(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? uint8_t(text[i]) : uint8_t(0); };
  const uint8_t first = byte(0);
  if (first < 0x80) return first >= 0x20 || first == '\t' || first == '\n' || first == '\r';
  const size_t n = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4) return 0;
  uint32_t code = first & (0xFF >> (n + 1));
  for (size_t i = 1; i < n; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3F);
  }
  const bool shortest = code >= (n == 2 ? 0x80u : n == 3 ? 0x800u : 0x10000u);
  return shortest && code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF) && code != 0xFFFE &&
                 code != 0xFFFF
             ? n
             : 0;
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t n = sequence(text.substr(at));
    const char c = text[at];
    if (n == 0)
      out += "\xEF\xBF\xBD";
    else if (n > 1)
      out += text.substr(at, n);
    else if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else if (c == '\'')
      out += "&#39;";
    else
      out += c;
    at += n ? n : 1;
  }
  return out;
}

std::string fixed(double value, int places) {
  char text[400];
  const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::fixed, places);
  return std::string(text, end.ptr);
}

}  // namespace ferrule::conformance
