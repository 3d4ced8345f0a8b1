#include "tools/options/options.h"

#include <algorithm>
#include <cmath>

#include "core/base/text.h"

namespace ferrule::cli {
namespace {

Status wrong(std::string text) { return Status(Code::invalid_argument, std::move(text)); }

std::string line(const std::string& left, const char* doc) {
  return cat("  ", left, std::string(left.size() < 28 ? 28 - left.size() : 1, ' '), doc, "\n");
}

class Reading {
 public:
  Reading(std::span<char* const> words, const Grammar& grammar)
      : words_(words.begin(), words.end()), grammar_(grammar) {}

  Result<Parsed> run() {
    // "help COMMAND" is "COMMAND --help".
    if (!words_.empty() && words_[0] == "help")
      words_.erase(words_.begin()), words_.push_back("--help");
    if (grammar_.bare && (words_.empty() || !find_command(words_[0]))) out_.command = grammar_.bare;
    bool options = true;
    for (at_ = 0; at_ < words_.size() && out_.text.empty(); ++at_) {
      const std::string& word = words_[at_];
      if (options && word == "--")
        options = false;
      else if (options && word.size() > 1 && word[0] == '-')
        FRL_TRY(option(word));
      else if (!out_.command)
        FRL_TRY(command(word));
      else
        places_.push_back(word);
    }
    if (!out_.text.empty()) return Parsed{nullptr, {}, out_.text};
    if (!out_.command) return command("nothing");
    FRL_TRY(positional());
    return std::move(out_);
  }

 private:
  const CommandRow* find_command(const std::string& word) const {
    for (const CommandRow* c : grammar_.commands)
      if (c->name == word) return c;
    return nullptr;
  }

  bool is_bare() const { return out_.command == grammar_.bare; }

  std::string label() const {
    return !out_.command ? "before the command" : is_bare() ? "arguments" : out_.command->name;
  }

  Status command(const std::string& word) {
    out_.command = find_command(word);
    if (out_.command) return {};
    std::vector<std::string> names;
    for (const CommandRow* c : grammar_.commands) names.emplace_back(c->name);
    return wrong(cat("command: want one of ", join(names), ", got ", word, near_text(word, names)));
  }

  std::vector<OptionRow> rows() const {
    std::vector<OptionRow> rows;
    if (out_.command) rows = out_.command->options;
    rows.insert(rows.end(), grammar_.common.begin(), grammar_.common.end());
    return rows;
  }

  std::string help() const {
    const bool whole = !out_.command || is_bare();
    std::string out = cat(grammar_.program, whole ? "" : " ", whole ? "" : out_.command->name);
    if (out_.command)
      for (const OptionRow& row : out_.command->options)
        if (row.name[0] != '-') out += cat(" ", row.name, row.many ? "..." : "");
    if (!out_.command) out += " COMMAND ...";
    out += cat(": ", whole ? grammar_.doc : out_.command->doc, "\n\n");
    if (whole)
      for (const CommandRow* c : grammar_.commands) out += line(c->name, c->doc);
    if (whole && out_.command) out += "\n";
    if (out_.command)
      for (const OptionRow& row : rows())
        out += line(
            row.name[0] == '-' && row.value ? cat(row.name, " ", row.value) : row.name,
            row.many && row.name[0] == '-' ? cat(row.doc, "; may be repeated").c_str() : row.doc);
    return whole ? cat(out, "\n", grammar_.foot) : out;
  }

  Status option(const std::string& word) {
    if (word == "--help" || word == "-h") return out_.text = help(), Status();
    if (word == "--version") return out_.text = grammar_.version, Status();
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const auto all = rows();
    std::vector<std::string> names;
    for (const OptionRow& row : all) {
      if (row.name == name) return take(row, equals == std::string::npos ? nullptr : &word[equals]);
      if (row.name[0] == '-') names.emplace_back(row.name);
    }
    if (names.empty()) return wrong(cat(label(), ": want no options, got ", name));
    return wrong(
        cat(label(), ": want one of ", join(names), ", got ", name, near_text(name, names)));
  }

  Status take(const OptionRow& row, const char* inside) {
    if (!row.value) {
      if (inside) return wrong(cat(row.name, ": want no value, got ", inside + 1));
      return out_.arguments.add(row.name, ""), Status();
    }
    if (!row.many && out_.arguments.has(row.name))
      return wrong(cat(row.name, ": want it once, got it twice"));
    if (!inside && ++at_ == words_.size())
      return wrong(cat(row.name, ": want ", row.value, ", got nothing"));
    return value(row, inside ? inside + 1 : words_[at_]);
  }

  Status value(const OptionRow& row, std::string text) {
    if (text.empty())
      return wrong(
          cat(row.name, ": want ", row.value ? row.value : row.doc, ", got an empty text"));
    return out_.arguments.add(row.name, std::move(text)), Status();
  }

  Status positional() {
    // A command that was misspelt reads as the first argument of the bare form.
    if (is_bare() && places_.size() > 1) {
      std::vector<std::string> names;
      for (const CommandRow* c : grammar_.commands) names.emplace_back(c->name);
      if (!nearest(places_[0], names).empty()) return command(places_[0]);
    }
    size_t next = 0;
    for (const OptionRow& row : out_.command->options) {
      if (row.name[0] == '-') continue;
      if (row.required && next == places_.size())
        return wrong(cat(label(), ": want ", row.name, " (", row.doc, "), got nothing"));
      for (bool more = true; more && next < places_.size(); more = row.many)
        FRL_TRY(value(row, places_[next++]));
    }
    if (next == places_.size()) return {};
    return wrong(
        cat(label(), ": want ", next ? "nothing more" : "options alone", ", got ", places_[next]));
  }

  std::vector<std::string> words_, places_;
  const Grammar& grammar_;
  size_t at_ = 0;
  Parsed out_;
};

}  // namespace

Arguments Arguments::without(const std::string& name) const {
  Arguments out = *this;
  std::erase_if(out.given_, [&](const auto& g) { return g.first == name; });
  return out;
}

bool Arguments::has(const std::string& name) const {
  return std::any_of(given_.begin(), given_.end(), [&](const auto& g) { return g.first == name; });
}

std::string Arguments::text(const std::string& name, const std::string& fallback) const {
  const auto all = list(name);
  return all.empty() ? fallback : all.back();
}

std::vector<std::string> Arguments::list(const std::string& name) const {
  std::vector<std::string> out;
  for (const auto& [given, value] : given_)
    if (given == name) out.push_back(value);
  return out;
}

Result<int64_t> Arguments::integer(const std::string& name, int64_t fallback, int64_t least) const {
  if (!has(name)) return fallback;
  const auto value = parse_int(text(name));
  if (value && *value >= least) return *value;
  const std::string want =
      least == INT64_MIN ? "an integer of 64 bits" : cat("an integer of ", least, " or more");
  return wrong(cat(name, ": want ", want, ", got ", text(name)));
}

Result<int64_t> Arguments::integer(const std::string& name, int64_t fallback,
                                   Range<int64_t> range) const {
  if (!has(name)) return fallback;
  const auto value = parse_int(text(name));
  if (value && *value >= range.least && *value <= range.most) return *value;
  return wrong(
      cat(name, ": want ", range.least, " to ", range.most, range.unit, ", got ", text(name)));
}

Result<double> Arguments::number(const std::string& name, double fallback,
                                 Range<double> range) const {
  if (!has(name)) return fallback;
  // No comparison with NaN holds.
  if (const auto value = parse_double(text(name));
      value && *value >= range.least && *value <= range.most)
    return *value;
  return wrong(
      cat(name, ": want ", range.least, " to ", range.most, range.unit, ", got ", text(name)));
}

Result<std::string> Arguments::one_of(const std::string& name, const std::string& fallback,
                                      std::span<const std::string> names) const {
  const std::string word = text(name, fallback);
  if (!has(name) || std::find(names.begin(), names.end(), word) != names.end()) return word;
  return wrong(cat(name, ": want one of ", join(names), ", got ", word, near_text(word, names)));
}

Result<double> Arguments::tolerance(const std::string& name, double fallback) const {
  if (!has(name)) return fallback;
  if (const auto value = parse_double(text(name)); value && std::isfinite(*value) && *value >= 0)
    return *value;
  return wrong(cat(name, ": want a finite number of 0 or more, got ", text(name)));
}

Result<Parsed> parse(std::span<char* const> words, const Grammar& grammar) {
  return Reading(words, grammar).run();
}

}  // namespace ferrule::cli
