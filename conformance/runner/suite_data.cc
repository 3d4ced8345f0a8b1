#include "conformance/runner/suite_data.h"

#include <algorithm>
#include <filesystem>

#include "conformance/report/sha256.h"
#include "core/base/text.h"

namespace ferrule::conformance {
namespace {

struct Part {
  const char *folder, *hash;
};
constexpr Part kSources[] = {
#define SUITE_PART(folder, hash) {folder, hash},
#include "suite_parts.inc"
#undef SUITE_PART
};

std::string list_of(std::span<const Family> families) {
  std::string out;
  for (const Family& f : families)
    out += cat(f.id, " ", f.name, " L", f.level, f.needs_device ? " device " : " ", f.doc, "\n");
  return out;
}

// Files that are read, by their names in the folder, sorted.
std::vector<std::string> data_files(const std::string& folder) {
  namespace fs = std::filesystem;
  std::vector<std::string> out;
  std::error_code code;
  for (const auto& entry : fs::recursive_directory_iterator(
           folder, fs::directory_options::follow_directory_symlink, code))
    if (entry.is_regular_file() && entry.path().extension() != ".md")
      out.push_back(entry.path().string().substr(folder.size()));
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

std::string hash_of(const std::vector<std::string>& parts) { return sha256(join(parts, "\n")); }

Result<SuiteData> read_suite_data(const std::string& folder, std::span<const Family> families) {
  SuiteData out;
  FRL_LET(out.profiles, read_profiles(folder));
  FRL_LET(out.waivers, read_waiver_folder(folder + "/waivers"));
  out.parts = {cat("version ", kSuiteVersion), cat("families ", sha256(list_of(families)))};
  for (const Part& part : kSources) out.parts.push_back(cat(part.folder, " ", part.hash));
  for (const std::string& file : data_files(folder))
    out.parts.push_back(cat("data", file, " ", sha256_of_file(folder + file)));
  return out;
}

}  // namespace ferrule::conformance
