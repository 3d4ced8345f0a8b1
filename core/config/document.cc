#include "core/config/document.h"

#include "core/base/text.h"

namespace ferrule {
namespace {

// Bytes of the UTF-8 sequence at the front of `rest`; 0 if it is none (overlong, surrogate, cut).
size_t sequence_bytes(std::string_view rest) {
  const auto byte = [&](size_t i) { return i < rest.size() ? uint8_t(rest[i]) : uint8_t(0); };
  const auto follows = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead < 0xE0) return follows(1) ? 2 : 0;
  if (lead >= 0xE0 && lead < 0xF0) {
    const bool in_range = (lead != 0xE0 || byte(1) >= 0xA0) && (lead != 0xED || byte(1) < 0xA0);
    return follows(1) && follows(2) && in_range ? 3 : 0;
  }
  if (lead >= 0xF0 && lead < 0xF5) {
    const bool in_range = (lead != 0xF0 || byte(1) >= 0x90) && (lead != 0xF4 || byte(1) < 0x90);
    return follows(1) && follows(2) && follows(3) && in_range ? 4 : 0;
  }
  return 0;
}

bool is_name(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' ||
         c == '-';
}
bool is_quote(char c) { return c == '"' || c == '\''; }

class Scan {
 public:
  explicit Scan(std::string_view text) : text_(text) {}

  Status run() {
    FRL_TRY(check_characters());
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') {
        skip_line();
      } else if (is_quote(c)) {
        FRL_TRY(skip_string(c));
      } else {
        if (uint8_t(c) >= 0x80) return fault("want ASCII outside strings and comments");
        if (c == '.') FRL_TRY(check_dot());
        if (c == '[' && begins_line()) FRL_TRY(check_header());
        ++at_;
      }
    }
    return {};
  }

 private:
  Status fault(const std::string& what) const {
    int64_t line = 1, column = 1;
    for (size_t i = 0; i < at_; ++i) text_[i] == '\n' ? (++line, column = 1) : ++column;
    return Status(Code::invalid_argument, cat(line, ":", column, ": ", what));
  }

  Status check_characters() {
    for (at_ = 0; at_ < text_.size();) {
      const size_t n = sequence_bytes(text_.substr(at_));
      if (n == 0) return fault("want UTF-8");
      const char c = text_[at_];
      const bool line_end =
          c == '\n' || (c == '\r' && at_ + 1 < text_.size() && text_[at_ + 1] == '\n');
      if (n == 1 && c != '\t' && !line_end && (uint8_t(c) < 0x20 || c == 0x7F))
        return fault(cat("want no control characters, got ", int64_t(c)));
      at_ += n;
    }
    at_ = 0;
    return {};
  }

  void skip_line() {
    while (at_ < text_.size() && text_[at_] != '\n') ++at_;
  }

  Status skip_string(char quote) {
    const std::string three(3, quote);
    const bool lines = text_.substr(at_).starts_with(three);
    const size_t begin = at_;
    for (at_ += lines ? 3 : 1; at_ < text_.size(); ++at_) {
      if (quote == '"' && text_[at_] == '\\') {
        ++at_;
      } else if (!lines && text_[at_] == '\n') {
        break;
      } else if (text_[at_] == quote && (!lines || text_.substr(at_).starts_with(three))) {
        at_ += lines ? 3 : 1;
        return {};
      }
    }
    at_ = begin;
    return fault("want an end of this string");
  }

  Status check_dot() const {
    size_t before = at_;
    const size_t after = skip_blanks(at_ + 1);
    while (before > 0 && (text_[before - 1] == ' ' || text_[before - 1] == '\t')) --before;
    const bool left = before > 0 && (is_name(text_[before - 1]) || is_quote(text_[before - 1]));
    const bool right = after < text_.size() && (is_name(text_[after]) || is_quote(text_[after]));
    return left && right ? Status() : fault("want a name on both sides of a dot");
  }

  size_t skip_blanks(size_t at) const {
    while (at < text_.size() && (text_[at] == ' ' || text_[at] == '\t')) ++at;
    return at;
  }
  bool begins_line() const {
    size_t first = at_;
    while (first > 0 && text_[first - 1] != '\n') --first;
    return skip_blanks(first) == at_;
  }
  // [name] and [[name]]; so a nested array may not begin a line unless a plain value is in it.
  Status check_header() const {
    size_t next = skip_blanks(at_ + 1);
    if (next < text_.size() && text_[next] == '[') next = skip_blanks(next + 1);
    const bool named = next < text_.size() && (is_name(text_[next]) || is_quote(text_[next]));
    return named ? Status() : fault("want a table's name after [");
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

Status check_document(std::string_view text) { return Scan(text).run(); }

}  // namespace ferrule
