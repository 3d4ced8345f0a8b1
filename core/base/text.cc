#include "core/base/text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace ferrule {

std::string number_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value);
  return std::string(buffer, end.ptr);
}

std::string join(std::span<const std::string> parts, std::string_view between) {
  std::string out;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i) out += between;
    out += parts[i];
  }
  return out;
}

std::optional<int64_t> parse_int(std::string_view text) {
  int64_t value = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end.ec != std::errc() || end.ptr != text.data() + text.size()) return {};
  return value;
}

std::optional<double> parse_double(std::string_view text) {
  double value = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end.ec != std::errc() || end.ptr != text.data() + text.size()) return {};
  return value;
}

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> parts;
  for (size_t from = 0;;) {
    const size_t to = text.find(at, from);
    parts.emplace_back(text.substr(from, to - from));
    if (to == std::string_view::npos) return parts;
    from = to + 1;
  }
}

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

namespace {

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substituted = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string nearest(std::string_view word, std::span<const std::string> candidates) {
  size_t best = SIZE_MAX;
  std::string found;
  for (const std::string& candidate : candidates) {
    const auto apart = std::mismatch(word.begin(), word.end(), candidate.begin(), candidate.end());
    const size_t dot = word.substr(0, size_t(apart.first - word.begin())).rfind('.');
    const size_t own = word.size() - (dot == std::string_view::npos ? 0 : dot + 1);
    const size_t limit = std::max({size_t(1), own / 3, std::min<size_t>(2, word.size() / 3)});
    const size_t distance = edit_distance(word, candidate);
    if (distance <= limit && distance < best) best = distance, found = candidate;
  }
  return found;
}

std::string hex_text(uint64_t number) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(number));
  return text;
}

std::string near_text(std::string_view word, std::span<const std::string> candidates) {
  const std::string near = nearest(word, candidates);
  return near.empty() ? near : cat("; did you mean ", near);
}

namespace {

// Length of the well-formed UTF-8 sequence at the start of `text`, or 0.
size_t utf8_length(std::string_view text) {
  const auto byte = [&](size_t i) { return uint8_t(text[i]); };
  const uint8_t lead = byte(0);
  const size_t n = lead < 0x80       ? 1
                   : lead >> 5 == 6  ? 2
                   : lead >> 4 == 14 ? 3
                   : lead >> 3 == 30 ? 4
                                     : 0;
  if (n == 0 || n > text.size()) return 0;
  uint32_t point = n == 1 ? lead : lead & (0x7f >> n);
  for (size_t i = 1; i < n; ++i) {
    if (byte(i) >> 6 != 2) return 0;
    point = point << 6 | (byte(i) & 0x3f);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = point >= 0xd800 && point < 0xe000;
  return point < kLeast[n] || point > 0x10ffff || surrogate ? 0 : n;
}

}  // namespace

std::string json_quote(std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out = "\"";
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    const size_t n = utf8_length(text.substr(i));
    if (c == '"' || c == '\\') {
      out += '\\', out += c;
    } else if (uint8_t(c) < 0x20 || c == 0x7f) {
      out += "\\u00", out += kHex[uint8_t(c) >> 4], out += kHex[c & 15];
    } else if (n == 0) {
      out += "\xef\xbf\xbd";
    } else {
      out += text.substr(i, n);
    }
    i += n ? n : 1;
  }
  return out + "\"";
}

}  // namespace ferrule
