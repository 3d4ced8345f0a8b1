#include "conformance/runner/suite_data.h"

#include <algorithm>
#include <filesystem>

#include "conformance/report/sha256.h"
#include "core/base/text.h"

namespace ferrule::conformance {

Result<SuiteData> read_suite_data(const std::string& folder) {
  SuiteData out;
  FRL_LET(out.profiles, read_profiles(folder));
  FRL_LET(out.waivers, read_waiver_folder(folder + "/waivers"));
  namespace fs = std::filesystem;
  std::vector<std::string> files;
  std::error_code code;
  for (const auto& entry : fs::recursive_directory_iterator(
           folder, fs::directory_options::follow_directory_symlink, code))
    if (entry.is_regular_file()) files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  std::string all = sha256_of_file("/proc/self/exe");
  for (const std::string& file : files)
    all += cat("\n", file.substr(folder.size()), " ", sha256_of_file(file));
  out.hash = sha256(all);
  return out;
}

}  // namespace ferrule::conformance
