#include "core/place/lock.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/base/text.h"

namespace ferrule {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFirstLine = "ferrule placement 1";
constexpr uintmax_t kMostFileBytes = 64 << 20;
constexpr size_t kHexDigits = 16;
constexpr size_t kMostDevices = 64, kMostShown = 80;

std::string hex(uint64_t number) {
  std::string out(kHexDigits, '0');
  for (size_t i = kHexDigits; number; number >>= 4) out[--i] = "0123456789abcdef"[number & 15];
  return out;
}

bool is_hex(std::string_view word) {
  return word.size() == kHexDigits &&
         word.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Words of a line; a quoted text is one word and keeps its quotes. Empty: a quote does not end, or
// something follows it at once.
std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  for (size_t i = 0; i < line.size();) {
    const size_t start = i;
    if (line[i] == ' ' || line[i] == '\t' || line[i] == '\r') {
      ++i;
      continue;
    }
    if (line[i] == '#') break;
    if (line[i] == '"') {
      for (++i; i < line.size() && line[i] != '"'; ++i) i += line[i] == '\\';
      if (i++ >= line.size()) return {};
      if (i < line.size() && std::string_view(" \t\r#").find(line[i]) == std::string_view::npos)
        return {};
    } else {
      i = std::min(line.find_first_of(" \t\r#\"", i), line.size());
    }
    words.emplace_back(line.substr(start, i - start));
  }
  return words;
}

bool quoted(const std::string& word) { return word.size() >= 2 && word[0] == '"'; }

std::string shown(std::string_view word) {
  return word.size() <= kMostShown ? std::string(word) : cat(word.substr(0, kMostShown), "...");
}

Status wrong(std::string text) { return Status(Code::invalid_argument, std::move(text)); }

std::string identity(const DeviceRow& row) {
  return cat(json_quote(row.architecture), " fingerprint ", hex(row.fingerprint), " claims ",
             hex(row.claims_hash()));
}

Status system_error(const std::string& path, const char* what) {
  return Status(Code::not_found, cat(path, ": ", what, ": ", std::strerror(errno)));
}

}  // namespace

Status PlacementLock::line(std::string_view text) {
  const auto words = words_of(text);
  if (words.empty()) {
    const std::string_view rest = trim(text);
    if (rest.empty() || rest[0] == '#') return {};
    return wrong("want quoted texts that end and stand alone, got others");
  }
  if (words[0] == "device") return device_line(words);
  if (words[0] == "node") return node_line(words);
  return wrong(cat("want device or node, got ", shown(words[0])));
}

Status PlacementLock::device_line(std::span<const std::string> words) {
  if (words.size() != 7 || !quoted(words[1]) || !quoted(words[2]) || words[3] != "fingerprint" ||
      !is_hex(words[4]) || words[5] != "claims" || !is_hex(words[6]))
    return wrong(
        "want device \"ID\" \"ARCHITECTURE\" fingerprint HEX claims HEX with 16 digits each, got "
        "something else");
  for (const LockedDevice& device : devices_)
    if (device.id == words[1])
      return wrong(cat("want each device once, got ", shown(words[1]), " again"));
  if (devices_.size() == kMostDevices) return wrong(cat("want at most ", kMostDevices, " devices"));
  devices_.push_back({words[1], join(words.subspan(2), " ")});
  return {};
}

Status PlacementLock::node_line(std::span<const std::string> words) {
  const auto number = words.size() == 5 ? parse_int(words[3]) : std::nullopt;
  if (!number || *number < 0 || !quoted(words[1]) || quoted(words[2]) || !quoted(words[4]))
    return wrong("want node \"DEVICE\" OP NUMBER \"NAMES\", got something else");
  bool known = false;
  for (const LockedDevice& device : devices_) known |= device.id == words[1];
  if (!known) return wrong(cat("want a device that has a line above, got ", shown(words[1])));
  const std::string key = cat(words[2], " ", *number, " ", words[4]);
  if (!number_.emplace(key, nodes_.size()).second)
    return wrong(cat("want each node once, got ", shown(key), " again"));
  nodes_.emplace_back(key, words[1]);
  return {};
}

Result<PlacementLock> PlacementLock::parse(std::string_view text, std::string name) {
  PlacementLock lock;
  lock.name_ = std::move(name);
  size_t number = 0;
  for (size_t start = 0; start < text.size() || number == 0;) {
    const size_t end = std::min(text.find('\n', start), text.size());
    const std::string_view line = text.substr(start, end - start);
    start = end + 1;
    Status status;
    if (++number == 1) {
      if (trim(line) != kFirstLine)
        status = wrong(cat("want ", kFirstLine, " on the first line, got ", shown(line)));
    } else {
      status = lock.line(line);
    }
    if (!status.ok()) return std::move(status).within(cat(lock.name_, ":", number));
  }
  return lock;
}

Result<PlacementLock> PlacementLock::read(const std::string& path) {
  std::error_code code;
  const auto size = fs::file_size(path, code);
  if (code) return Status(Code::not_found, cat(path, ": ", code.message()));
  if (size > kMostFileBytes)
    return Status(Code::out_of_limits,
                  cat(path, ": want at most ", kMostFileBytes, " bytes, got ", size));
  std::ifstream file(path, std::ios::binary);
  std::string text(size, '\0');
  file.read(text.data(), std::streamsize(size));
  if (!file.is_open() || file.bad()) return system_error(path, "cannot be read");
  text.resize(size_t(file.gcount()));
  return parse(text, path);
}

std::string PlacementLock::text() const {
  std::string out = cat(kFirstLine, "\n");
  for (const LockedDevice& d : devices_) out += cat("device ", d.id, " ", d.identity, "\n");
  for (const auto& [key, device] : nodes_) out += cat("node ", device, " ", key, "\n");
  return out;
}

Status PlacementLock::write(const std::string& path) const {
  const std::string beside = path + ".new";
  std::ofstream file(beside, std::ios::binary | std::ios::trunc);
  file << text();
  file.close();
  if (!file) return system_error(beside, "cannot be written");
  if (std::rename(beside.c_str(), path.c_str()) == 0) return {};
  Status status = system_error(path, "cannot be written");
  std::remove(beside.c_str());
  return status;
}

const std::string* PlacementLock::find(const std::string& key) const {
  const auto found = number_.find(key);
  return found == number_.end() ? nullptr : &nodes_[found->second].second;
}

bool PlacementLock::add(const Placement& placement, std::span<const Target> targets,
                        const std::string& scope) {
  const std::vector<std::string> keys = lock_keys(placement.nodes, scope);
  const size_t before = nodes_.size();
  for (const Target& target : targets) {
    const std::string id = json_quote(target.id);
    bool known = false;
    for (const LockedDevice& device : devices_) known |= device.id == id;
    if (!known) devices_.push_back({id, identity(*target.row)});
  }
  for (size_t i = 0; i < keys.size(); ++i) {
    if (keys[i].empty() || !number_.emplace(keys[i], nodes_.size()).second) continue;
    nodes_.emplace_back(keys[i], json_quote(targets[size_t(placement.nodes[i].device)].id));
  }
  return nodes_.size() > before;
}

std::vector<std::string> lock_keys(std::span<const PlacedNode> nodes, const std::string& scope) {
  std::vector<std::string> keys(nodes.size());
  std::map<std::string, uint32_t> seen;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].view || nodes[i].options.empty()) continue;
    const std::string names = json_quote(cat(scope, nodes[i].nodes));
    keys[i] = cat(nodes[i].op, " ", seen[cat(nodes[i].op, " ", names)]++, " ", names);
  }
  return keys;
}

std::vector<std::string> lock_differences(const PlacementLock& before, const PlacementLock& after) {
  std::vector<std::string> out;
  const auto find = [](const PlacementLock& lock, const std::string& id) -> const LockedDevice* {
    for (const LockedDevice& device : lock.devices_)
      if (device.id == id) return &device;
    return nullptr;
  };
  for (const LockedDevice& device : before.devices_) {
    const LockedDevice* other = find(after, device.id);
    if (!other)
      out.push_back(cat("device gone   ", device.id, " ", device.identity));
    else if (other->identity != device.identity)
      out.push_back(
          cat("device other  ", device.id, " ", device.identity, " -> ", other->identity));
  }
  for (const LockedDevice& device : after.devices_)
    if (!find(before, device.id))
      out.push_back(cat("device new    ", device.id, " ", device.identity));
  for (const auto& [key, device] : before.nodes_) {
    const std::string* other = after.find(key);
    if (!other)
      out.push_back(cat("node gone     ", key, ": ", device));
    else if (*other != device)
      out.push_back(cat("node moved    ", key, ": ", device, " -> ", *other));
  }
  for (const auto& [key, device] : after.nodes_)
    if (!before.find(key)) out.push_back(cat("node new      ", key, ": ", device));
  return out;
}

}  // namespace ferrule
