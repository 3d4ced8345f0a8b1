// Frozen plugins and hosts against those of today. conformance/skew/README.md says how one is
// frozen.
#include "tests/conformance/program.h"

namespace ferrule::conformance::test {
namespace {

// Built from the freezes, and released binaries that were kept.
std::vector<std::string> frozen(const std::string& prefix) {
  std::vector<std::string> out;
  std::error_code code;
  for (const char* folder : {FRL_BUILD_DIR "/skew", FRL_TEST_DATA "/../conformance/skew/binaries"})
    for (const auto& entry : fs::directory_iterator(folder, code))
      if (entry.path().filename().string().rfind(prefix, 0) == 0)
        out.push_back(entry.path().string());
  return out;
}

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Said host_runs(const std::string& host, const std::string& plugin) {
  return run("../" + fs::relative(host, FRL_BUILD_DIR).string(), plugin);
}

TEST(Skew, ThereAreFreezes) {
  EXPECT_FALSE(frozen("plugin_").empty());
  EXPECT_FALSE(frozen("host_").empty());
}

TEST(Skew, FrozenPluginsPassTodaysSuite) {
  for (const std::string& plugin : frozen("plugin_")) {
    const Said said = run("ferrule-conformance",
                          cat(plugin, " --profile pointwise-minimal --level 1 --depth smoke"));
    EXPECT_EQ(said.code, 0) << plugin << "\n" << said.text;
  }
}

TEST(Skew, FrozenHostsRunTodaysPlugins) {
  for (const std::string& host : frozen("host_"))
    for (const char* plugin : {"/examples/template.so", "/plugins/cpu.so"}) {
      const Said said = host_runs(host, cat(FRL_BUILD_DIR, plugin));
      EXPECT_EQ(said.code, 0) << host << " " << plugin << ": " << said.text;
    }
}

TEST(Skew, FrozenHostsRunFrozenPlugins) {
  for (const std::string& host : frozen("host_"))
    for (const std::string& plugin : frozen("plugin_")) {
      const Said said = host_runs(host, plugin);
      EXPECT_EQ(said.code, 0) << host << " " << plugin << ": " << said.text;
    }
}

// Until 1.0 a golden change is a new freeze in the same commit.
TEST(Skew, TodaysFreezeHasTodaysLayout) {
  for (const char* file : {"/plugin-api/golden/layout_test.c", "/plugin-api/golden/abi.xml"})
    EXPECT_EQ(text_of(std::string(FRL_SKEW_TODAY) + file),
              text_of(std::string(FRL_TEST_DATA "/..") + file))
        << "freeze anew with conformance/skew/freeze";
}

}  // namespace
}  // namespace ferrule::conformance::test
