// The command line as rows say it, and the help that is the same rows.
#include <algorithm>

#include "core/base/text.h"
#include "tools/ferrule/command.h"

namespace ferrule::cli {
namespace {

constexpr OptionRow kCommon[] = {
    {"--config", "FILE", "a TOML file on top of the others", true},
    {"--target", "DEVICE", "a device that may be used, once for each; as targets.order", true},
    {"--threads", "N", "compute threads; as threads.count"},
    {"--plugins", "FOLDER", "a folder with plugins, searched first", true},
    {"--set", "KEY=VALUE", "any key of the config; the last flag for a key holds", true},
    {"--json", nullptr, "one JSON document on stdout, an error too"},
};
constexpr const char* kVersion = "ferrule 0.1.0, plugin ABI 1.0\n";

Status wrong(std::string text) { return Status(Code::invalid_argument, std::move(text)); }

std::string near_text(const std::string& word, const std::vector<std::string>& names) {
  const std::string near = nearest(word, names);
  return near.empty() ? "" : cat("; did you mean ", near);
}

std::vector<OptionRow> rows_of(const Command* command) {
  std::vector<OptionRow> rows;
  if (command) rows = command->options;
  rows.insert(rows.end(), std::begin(kCommon), std::end(kCommon));
  return rows;
}

std::string line(const std::string& left, const char* doc) {
  return cat("  ", left, std::string(left.size() < 28 ? 28 - left.size() : 1, ' '), doc, "\n");
}

std::string help(const Command* command, std::span<const Command* const> commands) {
  if (!command) {
    std::string out =
        "ferrule COMMAND ...: runs models on whatever backends lie in the plugins folders\n\n";
    for (const Command* c : commands) out += line(c->name, c->doc);
    return out +
           "\nferrule COMMAND --help lists its options; --version says which ferrule this is.\n"
           "Exit codes: 0 fine, 1 ran but the result is bad, 2 bad usage or input, 3 no device.\n";
  }
  std::string out = cat("ferrule ", command->name);
  for (const OptionRow& row : command->options)
    if (row.name[0] != '-') out += cat(" ", row.name, row.many ? "..." : "");
  out += cat(": ", command->doc, "\n\n");
  for (const OptionRow& row : rows_of(command))
    out +=
        line(row.name[0] == '-' && row.value ? cat(row.name, " ", row.value) : row.name,
             row.many && row.name[0] == '-' ? cat(row.doc, "; may be repeated").c_str() : row.doc);
  return out;
}

class Reading {
 public:
  Reading(std::span<char* const> words, std::span<const Command* const> commands)
      : words_(words.begin(), words.end()), commands_(commands) {}

  Result<Parsed> run() {
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
  Status command(const std::string& word) {
    std::vector<std::string> names;
    for (const Command* c : commands_) {
      if (c->name == word) out_.command = c;
      names.emplace_back(c->name);
    }
    if (out_.command) return {};
    return wrong(cat("command: want one of ", join(names), ", got ", word, near_text(word, names)));
  }

  Status option(const std::string& word) {
    if (word == "--help" || word == "-h")
      return out_.text = help(out_.command, commands_), Status();
    if (word == "--version") return out_.text = kVersion, Status();
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const auto rows = rows_of(out_.command);
    std::vector<std::string> names;
    for (const OptionRow& row : rows) {
      if (row.name == name) return take(row, equals == std::string::npos ? nullptr : &word[equals]);
      if (row.name[0] == '-') names.emplace_back(row.name);
    }
    return wrong(cat(out_.command ? out_.command->name : "before the command", ": want one of ",
                     join(names), ", got ", name, near_text(name, names)));
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
    if (text.empty()) return wrong(cat(row.name, ": want ", row.value, ", got an empty text"));
    return out_.arguments.add(row.name, std::move(text)), Status();
  }

  Status positional() {
    size_t next = 0;
    for (const OptionRow& row : out_.command->options) {
      if (row.name[0] == '-') continue;
      if (row.required && next == places_.size())
        return wrong(cat(out_.command->name, ": want ", row.name, " (", row.doc, "), got nothing"));
      for (bool more = true; more && next < places_.size(); more = row.many)
        FRL_TRY(value(row, places_[next++]));
    }
    if (next == places_.size()) return {};
    return wrong(cat(out_.command->name, ": want ", next ? "nothing more" : "options alone",
                     ", got ", places_[next]));
  }

  std::vector<std::string> words_, places_;
  std::span<const Command* const> commands_;
  size_t at_ = 0;
  Parsed out_;
};

}  // namespace

Result<Parsed> parse(std::span<char* const> words, std::span<const Command* const> commands) {
  return Reading(words, commands).run();
}

}  // namespace ferrule::cli
