// Libraries that would take the process with them: the program tries each in a child first.
#include <sys/wait.h>

#include <cstdio>

#include "nlohmann/json.hpp"
#include "tests/zoo/cage.h"

namespace ferrule::zoo {
namespace {

using testing::HasSubstr;

struct Row {
  const char* member;
  const char* text;
};

class ZooProbe : public testing::TestWithParam<Row> {};

// What the program prints; its exit code must be this.
std::string output_of(const std::string& command, int exit_code = 0) {
  std::string out;
  FILE* pipe = ::popen(command.c_str(), "r");
  if (!pipe) return out;
  char buffer[4096];
  while (const size_t n = std::fread(buffer, 1, sizeof buffer, pipe)) out.append(buffer, n);
  EXPECT_EQ(WEXITSTATUS(::pclose(pipe)), exit_code) << command << "\n" << out;
  return out;
}

nlohmann::json plugins(const Cage& cage, const char* probe_ms) {
  const std::string command = std::string(FRL_BUILD_DIR "/bin/ferrule plugins --json --plugins ") +
                              cage.folder().string() +
                              " --set plugins.probe=on --set plugins.probe_ms=" + probe_ms;
  return nlohmann::json::parse(output_of(command), nullptr, false);
}

TEST_P(ZooProbe, HasItsOwnVerdict) {
  const Row& row = GetParam();
  const Cage cage;
  cage.put(row.member);
  // Only the hang needs the time to run out.
  const auto verdicts = plugins(cage, std::string(row.member) == "hang" ? "500" : "60000");
  ASSERT_TRUE(verdicts.is_array());
  bool bad = false, cpu = false;
  for (const auto& verdict : verdicts) {
    const fs::path file = fs::path(verdict["path"].get<std::string>()).filename();
    if (file == "cpu.so")
      cpu |= verdict["loaded"].get<bool>();  // the program's own folder has one, too
    if (file != "bad.so") continue;
    bad = true;
    EXPECT_FALSE(verdict["loaded"].get<bool>());
    EXPECT_EQ(verdict["stage"], "probe");
    EXPECT_EQ(verdict["code"], "incompatible");
    EXPECT_THAT(verdict["text"].get<std::string>(), testing::StartsWith(row.text));
  }
  EXPECT_TRUE(bad);
  // 500 ms may be too short for cpu on a busy machine, so its verdict is asked for elsewhere.
  EXPECT_TRUE(cpu || std::string(row.member) == "hang");
}

constexpr Row kRows[] = {
    {"trap", "it crashed: Illegal instruction"},
    {"segv", "it crashed: Segmentation fault"},
    {"hang", "it hung; no answer within 500 ms"},
    {"exit", "it ended early with exit code 0 and no answer"},
    {"entry_abort", "it crashed: Aborted"},
    {"entry_exit", "it ended early with exit code 0 and no answer"},
    {"devices_abort", "it crashed: Aborted"},
    {"null_slot", "check: slot compile: want a function, got NULL"},
    {"absent", "load: libzoo_absent.so: cannot open"},
};
INSTANTIATE_TEST_SUITE_P(All, ZooProbe, testing::ValuesIn(kRows),
                         [](const auto& info) { return std::string(info.param.member); });

TEST(ZooProbeOthers, HangingOneLeavesTheOtherAlone) {
  const Cage cage;
  cage.put("hang");
  cage.put("good", "good.so");
  int loaded = 0;
  for (const auto& verdict : plugins(cage, "3000")) loaded += verdict["loaded"].get<bool>();
  EXPECT_EQ(loaded, 2) << "good and cpu";
}

TEST(ZooProbeOthers, WithoutAProbeTheProgramSaysWhyItEnds) {
  const Cage cage;
  cage.put("exit");
  const std::string command =
      FRL_BUILD_DIR "/bin/ferrule plugins --plugins " + cage.folder().string() + " 2>&1";
  EXPECT_THAT(output_of(command, 2), HasSubstr("a plugin ended this program while it was loaded"));
}

}  // namespace
}  // namespace ferrule::zoo
