#include "core/place/lock.h"

#include <filesystem>
#include <set>

#include "core/base/bytes.h"
#include "core/base/text.h"

namespace ferrule {
namespace {

constexpr std::string_view kFirstLine = "ferrule placement 1";
constexpr size_t kMostShown = 80;

// Words of a line; a quoted text is one word and keeps its quotes. One word of "\"": a quote that
// does not end.
std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  for (size_t i = 0; i < line.size() && line[i] != '#';) {
    const size_t start = i;
    if (line[i] == '"') {
      for (++i; i < line.size() && line[i] != '"'; ++i) i += line[i] == '\\';
      if (++i > line.size()) return {"\""};
    } else {
      i = std::min(line.find_first_of(" \t\r#\"", i), line.size());
    }
    if (i > start) words.emplace_back(line.substr(start, i - start));
    while (i < line.size() && std::string_view(" \t\r").find(line[i]) != std::string_view::npos)
      ++i;
  }
  return words;
}

std::string device_key(const std::string& quoted_id) { return cat("device ", quoted_id); }

// Whether words i and on have the kinds of `form`: q quoted, n a number, w anything else.
bool has_form(std::span<const std::string> words, std::string_view form) {
  if (words.size() != form.size()) return false;
  for (size_t i = 0; i < form.size(); ++i) {
    const char kind = words[i][0] == '"' ? 'q' : parse_int(words[i]).value_or(-1) >= 0 ? 'n' : 'w';
    if (kind != form[i]) return false;
  }
  return true;
}

}  // namespace

bool PlacementLock::insert(std::string key, std::string value) {
  if (!number_.emplace(key, lines_.size()).second) return false;
  lines_.push_back({std::move(key), std::move(value)});
  return true;
}

Status PlacementLock::read_line(std::string_view text) {
  const auto wrong = [&](std::string_view want, const std::string& near = {}) {
    const auto shown = text.substr(0, kMostShown);
    return Status(Code::invalid_argument, cat("want ", want, ", got ", shown,
                                              shown.size() < text.size() ? "..." : "", near));
  };
  const std::vector<std::string> words = words_of(text);
  if (words.empty()) return {};
  const std::span key(words.begin(), std::find(words.begin(), words.end(), "="));
  const std::span value = std::span(words).subspan(std::min(key.size() + 1, words.size()));
  const bool device = key.size() > 0 && key[0] == "device",
             node = key.size() > 0 && key[0] == "node";
  if (!(device && has_form(key, "wq") && !value.empty()) &&
      !(node && has_form(key, "wwnq") && has_form(value, "q")))
    return wrong("device \"ID\" = IDENTITY or node OP NUMBER \"NAMES\" = \"ID\"");
  if (node && !find(device_key(value[0])))
    return wrong("a device that has a line above", near_text(value[0], device_ids()));
  if (!insert(join(key, " "), join(value, " "))) return wrong("each device and node once");
  return {};
}

Result<PlacementLock> PlacementLock::parse(std::string_view text, std::string name) {
  PlacementLock lock;
  lock.name_ = std::move(name);
  size_t number = 0;
  for (size_t start = 0; start < text.size() || number == 0;) {
    const size_t end = std::min(text.find('\n', start), text.size());
    const std::string_view line = trim(text.substr(start, end - start));
    start = end + 1;
    Status status;
    if (++number > 1)
      status = lock.read_line(line);
    else if (line != kFirstLine)
      status = Status(Code::invalid_argument, cat("want ", kFirstLine, " on the first line, got ",
                                                  line.substr(0, kMostShown)));
    if (!status.ok()) return std::move(status).within(cat(lock.name_, ":", number));
  }
  return lock;
}

Result<PlacementLock> PlacementLock::read(const std::string& path) {
  FRL_LET(const MappedFile file, MappedFile::open(path));
  const auto* chars = reinterpret_cast<const char*>(file.bytes().data());
  return parse({chars, file.bytes().size()}, path);
}

std::string PlacementLock::text() const {
  std::string out = cat(kFirstLine, "\n");
  for (const Line& line : lines_) out += cat(line.key, " = ", line.value, "\n");
  return out;
}

Status PlacementLock::write(const std::string& path) const { return replace_file(path, text()); }

const std::string* PlacementLock::find(const std::string& key) const {
  const auto found = number_.find(key);
  return found == number_.end() ? nullptr : &lines_[found->second].value;
}

std::vector<std::string> PlacementLock::device_ids() const {
  std::vector<std::string> out;
  for (const Line& line : lines_)
    if (line.key.starts_with(device_key(""))) out.push_back(line.key.substr(device_key("").size()));
  return out;
}

std::vector<std::string> PlacementLock::changed_devices(const PlacementLock& now) const {
  std::vector<std::string> out;
  for (const Line& line : lines_)
    if (const std::string* other = now.find(line.key);
        other && line.key.starts_with(device_key("")) && *other != line.value)
      out.push_back(cat(line.key, " as ", *other, ", got ", line.value));
  return out;
}

std::vector<std::string> PlacementLock::nodes_but(std::span<const std::string> known) const {
  const std::set<std::string_view> names(known.begin(), known.end());
  std::vector<std::string> out;
  for (const Line& line : lines_)
    if (line.key.starts_with("node ") && !names.contains(line.key)) out.push_back(line.key);
  return out;
}

bool PlacementLock::add(const Placement& placement, std::span<const Target> targets,
                        const std::string& scope) {
  const size_t before = lines_.size();
  for (const Target& target : targets)
    insert(device_key(json_quote(target.id)),
           cat(json_quote(target.row->architecture), " fingerprint ", target.row->fingerprint,
               " claims ", target.row->claims_hash()));
  const std::vector<std::string> keys = lock_keys(placement.nodes, scope);
  for (size_t i = 0; i < keys.size(); ++i)
    if (!keys[i].empty())
      insert(keys[i], json_quote(targets[size_t(placement.nodes[i].device)].id));
  return lines_.size() > before;
}

Result<std::shared_ptr<LockFile>> LockFile::open(const std::string& path, bool renew) {
  auto file = std::make_shared<LockFile>();
  std::error_code code;
  PlacementLock lock;
  const bool follow = !renew && std::filesystem::exists(path, code);
  if (follow) {
    FRL_LET(lock, PlacementLock::read(path));
  }
  lock.set_complete(follow);
  file->path_ = path;
  file->lock_ = std::make_shared<const PlacementLock>(std::move(lock));
  return file;
}

std::shared_ptr<const PlacementLock> LockFile::lock() const {
  std::lock_guard guard(mutex_);
  return lock_;
}

Status LockFile::keep(const std::function<bool(PlacementLock&)>& add) {
  std::lock_guard guard(mutex_);
  PlacementLock next = *lock_;
  if (next.complete() || !add(next)) return {};
  FRL_TRY(next.write(path_));
  lock_ = std::make_shared<const PlacementLock>(std::move(next));
  return {};
}

std::vector<std::string> lock_keys(std::span<const PlacedNode> nodes, const std::string& scope) {
  std::vector<std::string> keys(nodes.size());
  std::map<std::string, uint32_t> seen;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].view || nodes[i].options.empty()) continue;
    const std::string names = json_quote(cat(scope, nodes[i].nodes));
    keys[i] = cat("node ", nodes[i].op, " ", seen[nodes[i].op + names]++, " ", names);
  }
  return keys;
}

std::vector<std::string> lock_differences(const PlacementLock& before, const PlacementLock& after) {
  std::vector<std::string> out;
  for (const auto& [key, value] : before.lines_) {
    const std::string* now = after.find(key);
    if (!now || *now != value) out.push_back(cat(key, ": ", value, " -> ", now ? *now : "gone"));
  }
  for (const auto& [key, value] : after.lines_)
    if (!before.find(key)) out.push_back(cat(key, ": new -> ", value));
  return out;
}

}  // namespace ferrule
