#include "core/session/names.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "core/base/text.h"

namespace ferrule {
namespace {

struct Named {
  std::string key, name;
};

// Held against `there`, which `want` describes.
Status check_names(const Config& config, const std::vector<Named>& named, const char* want,
                   const std::vector<std::string>& there,
                   const std::function<void(const std::string&)>& warn) {
  std::set<std::string> said;
  for (const auto& [key, name] : named) {
    if (std::find(there.begin(), there.end(), name) != there.end()) continue;
    Status status = unknown_name(
        config, key, cat(want, " (", there.empty() ? "there is none" : join(there), ")"), name,
        there);
    if (config.settings().find(key)->second.is_flag()) return status;
    if (said.insert(name).second) warn(status.message());
  }
  return {};
}

}  // namespace

Status unknown_name(const Config& config, const std::string& key, const std::string& want,
                    const std::string& name, std::span<const std::string> near, Code code) {
  return Status(code, cat(key, ": want ", want, ", got ", name, near_text(name, near)))
      .within(config.origin(key));
}

Status check_plugin_names(const Config& config, std::span<const Verdict> found,
                          const std::function<void(const std::string&)>& warn) {
  std::vector<std::string> ids, all;
  for (const Verdict& verdict : found) {
    if (!verdict.id.empty() && !std::ranges::count(ids, verdict.id)) ids.push_back(verdict.id);
    const std::filesystem::path path = verdict.path;
    // A folder that was refused has none.
    if (path.has_extension()) all.push_back(path.filename().string());
  }
  all.insert(all.end(), ids.begin(), ids.end());
  std::vector<Named> settings, denied;
  for (const auto& [id, options] : config.plugin_settings())
    for (const auto& [option, value] : options)
      settings.push_back({cat("plugin.", id, ".", option), id});
  for (const std::string& name : config.list("plugins.deny"))
    denied.push_back({"plugins.deny", name});
  FRL_TRY(check_names(config, settings, "the id of a plugin that was found", ids, warn));
  return check_names(config, denied, "the id or file name of a plugin that was found", all, warn);
}

}  // namespace ferrule
