// Config: layers, origins, messages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/config/config.h"

namespace ferrule {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Config, LaterLayersWinAndSayWhereTheyAre) {
  Config config;
  EXPECT_EQ(config.settings().at("gate.mode").origin, "built-in");
  ASSERT_TRUE(
      config.add_toml("[gate]\nmode = \"always\"\nexpected_runs = 7\n", "a.toml", "/a").ok());
  ASSERT_TRUE(config.add_toml("gate.mode = \"never\"\n", "b.toml", "/b").ok());
  ASSERT_TRUE(config.set("threads.count", "3", "flag --threads").ok());
  EXPECT_EQ(config.text("gate.mode"), "never");
  EXPECT_EQ(config.settings().at("gate.mode").origin, "b.toml:1");
  EXPECT_EQ(config.integer("gate.expected_runs"), 7);
  EXPECT_EQ(config.settings().at("gate.expected_runs").origin, "a.toml:3");
  EXPECT_EQ(config.settings().at("threads.count").origin, "flag --threads");
}

TEST(Config, AByteOrderMarkIsNoText) {
  Config config;
  ASSERT_TRUE(config.add_toml("\xEF\xBB\xBF[threads]\ncount = 2\n", "a.toml", "/a").ok());
  EXPECT_EQ(config.integer("threads.count"), 2);
}

TEST(Config, ListsAndRelativeFolders) {
  Config config;
  ASSERT_TRUE(
      config
          .add_toml(
              "[plugins]\nfolders = [\"here\", \"/there\"]\n[targets]\norder = [\"a\", \"b\"]\n",
              "x.toml", "/base")
          .ok());
  EXPECT_THAT(config.list("plugins.folders"), ElementsAre("/base/here", "/there"));
  EXPECT_THAT(config.list("targets.order"), ElementsAre("a", "b"));
  ASSERT_TRUE(config.set("targets.order", "c, d", "flag").ok());
  EXPECT_THAT(config.list("targets.order"), ElementsAre("c", "d"));
}

TEST(Config, FlagsReadTomlValues) {
  Config config;
  ASSERT_TRUE(config.set("plugins.deny", "[\"a,b\", 'c']", "flag").ok());
  EXPECT_THAT(config.list("plugins.deny"), ElementsAre("a,b", "c"));
  ASSERT_TRUE(config.set("plugins.deny", "[]", "flag").ok());
  EXPECT_THAT(config.list("plugins.deny"), ElementsAre());
  ASSERT_TRUE(config.set("plugin.\"org.x\".isa", "\"avx2\"", "flag").ok());
  EXPECT_EQ(config.plugin_settings().at("org.x").at("isa"), "avx2");
  for (const char* bad : {"[", "[a]", "\"a", "[1]\nx = 2", "[[1]]", "\"a\" b"})
    EXPECT_FALSE(config.set("plugins.deny", bad, "flag").ok()) << bad;
  EXPECT_THAT(config.list("plugins.deny"), ElementsAre());
  EXPECT_THAT(config.set("gate.mode", "[\"never\", \"always\"]", "flag").message(),
              HasSubstr("want a text in quotes, got [\"never\", \"always\"]"));
  EXPECT_THAT(config.set("plugin.x", "1", "flag").message(), HasSubstr("want plugin.ID.KEY"));
}

TEST(Config, PluginSettingsKeepDottedIds) {
  Config config;
  ASSERT_TRUE(
      config.add_toml("[plugin.\"org.ferrule.cpu\"]\ngemm = \"own\"\ntile = 12\n", "x.toml", "/")
          .ok());
  const auto settings = config.plugin_settings();
  EXPECT_EQ(settings.at("org.ferrule.cpu").at("gemm"), "own");
  EXPECT_EQ(settings.at("org.ferrule.cpu").at("tile"), "12");
}

struct Bad {
  const char* toml;
  const char* why;
};

class BadConfig : public testing::TestWithParam<Bad> {};

TEST_P(BadConfig, SaysWhatIsWrongAndChangesNothing) {
  Config config;
  const Status status = config.add_toml(GetParam().toml, "f.toml", "/");
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.message(), HasSubstr(GetParam().why));
  EXPECT_EQ(config.integer("threads.count"), 0);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, BadConfig,
    testing::Values(Bad{"[threads]\ncount = 1\n[gate]\nmodes = 1\n",
                        "f.toml:4: key gate.modes: want a known key; did you mean gate.mode"},
                    Bad{"[threads]\ncount = -1\n",
                        "key threads.count: want an integer of 0 or more, got \"-1\""},
                    Bad{"[threads]\ncount = \"4\"\n",
                        "f.toml:2: key threads.count: want a value without quotes, got \"4\""},
                    Bad{"[targets]\norder = [\"cpu\", 1]\n",
                        "want a list of texts in quotes, got [\"cpu\", 1]"},
                    Bad{"targets.order = \"cpu\"\n",
                        "f.toml:1: key targets.order: want a list of texts in quotes, got \"cpu\""},
                    Bad{"[placement]\nlock = 3\n", "want a text in quotes, got 3"},
                    Bad{"fusion.enabled = \"true\"\n", "want a value without quotes, got \"true\""},
                    Bad{"[threads]\n[thread]\n",
                        "f.toml:2: table thread: want a known table; did you mean threads"},
                    Bad{"\"threads.count\" = 1\n",
                        "want dots outside quotes, got \"threads.count\""},
                    Bad{"[threads]\ncount = \"x\"\n", "want an integer of 0 or more"},
                    Bad{"[threads]\ncount = [1, 2]\n", "want one value"},
                    Bad{"[gate]\nmode = \"sometimes\"\n",
                        "want plugin, calibrated, always, never, got \"sometimes\""},
                    Bad{"[fusion]\nenabled = \"yes\"\n", "want true or false"},
                    Bad{"[threads\ncount = 1\n", "f.toml:1:"},
                    Bad{"[targets]\norder = [\"cpu\", \"\"]\n",
                        "f.toml:2: key targets.order: want no empty text in the list"},
                    Bad{"[plugin.\"org.x\"]\n\"\" = 1\n", "want plugin.ID.KEY"},
                    Bad{"[a.]\n", "f.toml:1:3: want a name on both sides of a dot"},
                    Bad{"[gate]\nm\xC3\xB6"
                        "de = 1\n",
                        "f.toml:2:2: want ASCII outside strings and comments"},
                    Bad{"a = 1\n [[]\n", "f.toml:2:2: want a table's name after ["},
                    Bad{"# \xED\xA0\x80\n", "f.toml:1:3: want UTF-8"},
                    Bad{"a = \"b\n", "f.toml:1:5: want an end of this string"},
                    Bad{"a = 1 # \x01\n", "f.toml:1:9: want no control characters, got 1"},
                    Bad{"a = 1979-05-27\n", "want a text, number, true or false"},
                    Bad{"[threads]\ncount = 1\nxyz = 1\n", "want a known key"}));

TEST(Config, ProjectFileIsFoundAbove) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("ferrule_config_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder / "a" / "b");
  std::ofstream(folder / "ferrule.toml") << "threads.count = 5\n";
  ::setenv("XDG_CONFIG_HOME", folder.c_str(), 1);
  std::filesystem::create_directories(folder / "ferrule");
  std::ofstream(folder / "ferrule" / "ferrule.toml")
      << "threads.count = 4\ngate.expected_runs = 9\n";
  Config config;
  ASSERT_TRUE(config.add_standard_files((folder / "a" / "b").string()).ok());
  EXPECT_EQ(config.integer("threads.count"), 5) << "the project's file is above the user's";
  EXPECT_EQ(config.integer("gate.expected_runs"), 9);
  std::filesystem::remove_all(folder);
}

TEST(Config, MissingFileIsAnError) {
  Config config;
  EXPECT_EQ(config.add_file("/nowhere/x.toml").code(), Code::not_found);
}

}  // namespace
}  // namespace ferrule
