// The command line: what is wrong with it, said in one sentence of "want X, got Y".
#include "tests/conformance/program.h"

namespace ferrule::conformance::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

struct Wrong {
  const char* arguments;  // behind the plugin
  const char* sentence;
};
class Usage : public testing::TestWithParam<Wrong> {};

TEST_P(Usage, IsOneSentence) {
  const Said said = run("ferrule-conformance", cat(kTemplate, " ", GetParam().arguments));
  EXPECT_EQ(said.code, 2) << said.text;
  EXPECT_EQ(said.text, cat("ferrule-conformance: ", GetParam().sentence, "\n"));
}
INSTANTIATE_TEST_SUITE_P(
    Runs, Usage,
    testing::Values(
        Wrong{"--case-timeout nan", "--case-timeout: want 0.1 to 3600 seconds, got nan"},
        Wrong{"--case-timeout 1e300", "--case-timeout: want 0.1 to 3600 seconds, got 1e300"},
        Wrong{"--case-timeout -1", "--case-timeout: want 0.1 to 3600 seconds, got -1"},
        Wrong{"--case-timeout 2s", "--case-timeout: want 0.1 to 3600 seconds, got 2s"},
        Wrong{"--level 6", "--level: want 0 to 5, got 6"},
        Wrong{"--level=two", "--level: want 0 to 5, got two"},
        Wrong{"--jobs 0", "--jobs: want 1 to 1024, got 0"},
        Wrong{"--seed -1", "--seed: want 0 to 9223372036854775807, got -1"},
        Wrong{"--device -1", "--device: want 0 to 65535, got -1"},
        Wrong{"--memory-limit 1", "--memory-limit: want 0 for none, or 16 to 1048576 MiB, got 1"},
        Wrong{"--memory-limit inf",
              "--memory-limit: want 0 for none, or 16 to 1048576 MiB, got inf"},
        Wrong{"--depth smoky",
              "--depth: want one of smoke, standard, deep, got smoky; did you mean smoke"},
        Wrong{"--profile fully",
              "--profile: want one of pointwise-minimal, inference-core, full, "
              "got fully; did you mean full"},
        Wrong{"--case ''", "--case: want GLOB, got an empty text"},
        Wrong{"--family ''", "--family: want IDS, got an empty text"},
        Wrong{"--report ''", "--report: want FOLDER, got an empty text"},
        Wrong{"--waivers=", "--waivers: want FILE, got an empty text"},
        Wrong{"--family F,,G", "--family: want ids or names such as F,G, got an empty one in F,,G"},
        Wrong{"--family F,9", "--family: want ids or names such as F,G, got 9"},
        Wrong{"--level 1 --level 2", "--level: want it once, got it twice"},
        Wrong{"--level", "--level: want N, got nothing"},
        Wrong{"--report /proc/nowhere",
              "--report: want a folder to write in, got /proc/nowhere: No such file or directory"},
        Wrong{"--report /dev/null",
              "--report: want a folder to write in, got /dev/null: Not a directory"},
        Wrong{"--case 'F/adds/*' --level 0",
              "selection: want cases up to L0 at depth standard that fit F/adds/*, got none"},
        Wrong{"--case F/relu/f32/row/dat --depth smoke",
              "selection: want cases up to L5 at depth smoke that fit F/relu/f32/row/dat, got "
              "none; did you mean F/relu/f32/row/data"},
        Wrong{"more", "arguments: want nothing more, got more"}));

TEST(Usage, UnknownFlagsAndCommandsNameTheNearest) {
  const Said flag = run("ferrule-conformance", cat(kTemplate, " --famly F"));
  EXPECT_EQ(flag.code, 2);
  EXPECT_THAT(flag.text, AllOf(HasSubstr("want one of --profile"), HasSubstr("got --famly"),
                               HasSubstr("did you mean --family")));
  const Said command = run("ferrule-conformance", cat("lst ", kTemplate));
  EXPECT_EQ(command.code, 2);
  EXPECT_THAT(command.text,
              HasSubstr("command: want one of list, explain, replay, verify, must-pass, got lst; "
                        "did you mean list"));
}

TEST(Usage, HelpIsTheRows) {
  const Said whole = run("ferrule-conformance", "--help");
  EXPECT_EQ(whole.code, 0);
  EXPECT_THAT(whole.text, AllOf(HasSubstr("PLUGIN"), HasSubstr("must-pass"),
                                HasSubstr("--memory-limit MIB"), HasSubstr("Exit codes: 0 fine")));
  const Said list = run("ferrule-conformance", "list --help");
  EXPECT_EQ(list.code, 0);
  EXPECT_THAT(list.text, AllOf(HasSubstr("--case GLOB"), Not(HasSubstr("--report"))));
  EXPECT_THAT(run("ferrule-conformance", "--version").text, HasSubstr("plugin ABI 1.0"));
}

TEST(Usage, EveryCommandWantsItsPluginToBeAFile) {
  for (const char* arguments :
       {"/no/such.so", "list /no/such.so", "explain F/relu/f32 /no/such.so",
        "replay F/relu/f32 /no/such.so", "verify /tmp --plugin /no/such.so"}) {
    const Said said = run("ferrule-conformance", arguments);
    EXPECT_EQ(said.code, 2) << arguments;
    EXPECT_EQ(said.text,
              "ferrule-conformance: plugin /no/such.so: want a shared library, got no such file\n");
  }
}

TEST(Usage, ADeviceThatIsNotThereNamesThoseThatAre) {
  for (const char* command : {"list", "explain F/relu/f32/x", "replay F/relu/f32/x"}) {
    const Said said = run("ferrule-conformance", cat(command, " ", kTemplate, " --device 99"));
    EXPECT_EQ(said.code, 3) << command;
    EXPECT_THAT(said.text, HasSubstr("device: want one of 0 (template), got 99")) << command;
  }
}

TEST(Usage, AnUnknownCaseIsOneLineWithTheNearestNames) {
  for (const char* command : {"explain", "replay"}) {
    const Said said = run("ferrule-conformance", cat(command, " F/relu/f32 ", kTemplate));
    EXPECT_EQ(said.code, 2) << said.text;
    EXPECT_THAT(said.text,
                AllOf(StartsWith("ferrule-conformance: case: want one of this plugin at depth "
                                 "standard, got F/relu/f32; nearest: F/relu/"),
                      testing::EndsWith("\n")));
    EXPECT_EQ(std::count(said.text.begin(), said.text.end(), '\n'), 1);
  }
  EXPECT_THAT(run("ferrule-conformance", cat("explain 9/x ", kTemplate)).text,
              HasSubstr("case: want FAMILY/SUBJECT/... of the families ABCDEFGHIJKLMNOPQRST"));
}

// A family that is broken for one op only shows in a smoke run too.
TEST(Smoke, HasEachSubjectOfEachFamily) {
  const auto subjects = [](const char* depth) {
    std::set<std::string> out;
    const Said said =
        run("ferrule-conformance", cat("list " FRL_BUILD_DIR "/plugins/cpu.so --depth ", depth));
    EXPECT_EQ(said.code, 0) << said.text;
    for (const std::string& name : split(said.text, '\n'))
      if (!name.empty()) out.insert(cat(name.substr(0, 2), subject_of(name)));
    return out;
  };
  const auto smoke = subjects("smoke");
  EXPECT_THAT(smoke, testing::Contains("Q/bit_and"));
  EXPECT_EQ(smoke, subjects("standard"));
}

TEST(Usage, MustPassIsOfOneProfile) {
  const Said one = run("ferrule-conformance", "must-pass --profile pointwise-minimal");
  EXPECT_EQ(one.code, 0);
  EXPECT_THAT(one.text, AllOf(HasSubstr("pointwise-minimal claims relu"), Not(HasSubstr("full"))));
  EXPECT_THAT(run("ferrule-conformance", "must-pass").text, HasSubstr("full claims relu"));
}

}  // namespace
}  // namespace ferrule::conformance::test
