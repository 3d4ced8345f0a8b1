#include "tools/options/printable.h"

#include <cstdint>
#include <cstdio>

namespace ferrule::cli {

std::string printable(std::string_view text, bool keep_lines) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = [&](size_t at) { return at < text.size() ? uint8_t(text[at]) : uint8_t(0); };
    const uint8_t c = byte(i), before = i ? byte(i - 1) : uint8_t(0);
    const bool kept = keep_lines && (c == '\n' || c == '\t');
    // U+0080 to U+009F are control characters as well.
    const bool high = (c == 0xC2 && byte(i + 1) < 0xA0) || (before == 0xC2 && c < 0xA0);
    const bool stray = c >= 0x80 && c < 0xC0 && before < 0x80;
    const bool cut = c >= 0xC0 && byte(i + 1) < 0x80;
    if (kept || (c >= 0x20 && c != 0x7F && (c < 0x80 || (!high && !stray && !cut)))) {
      out += char(c);
      continue;
    }
    char escape[8];
    std::snprintf(escape, sizeof escape, "\\x%02x", c);
    out += escape;
  }
  return out;
}

}  // namespace ferrule::cli
