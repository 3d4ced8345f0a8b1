// Placement locks as a user meets them: written once, followed afterwards, compared on request.
#include "tests/cli/onnx.h"
#include "tests/cli/program.h"

namespace ferrule {
namespace {

using testing::HasSubstr;

class LockFlags : public testing::Test {
 public:
  LockFlags() { scratch_.file("two.onnx", onnx_file::model({"2"}, {{"Relu", "a"}, {"Neg", "b"}})); }
  Ran run(const std::string& arguments) const {
    return run_program(scratch_, arguments + " --target cpu --random-inputs 1");
  }
  void replace(const std::string& from, const std::string& to) const {
    std::string text = scratch_.text("p.lock");
    ASSERT_NE(text.find(from), std::string::npos) << text;
    scratch_.file("p.lock", text.replace(text.find(from), from.size(), to));
  }
  Scratch scratch_;
};

TEST_F(LockFlags, WriteFollowAndRenew) {
  ASSERT_EQ(run("run two.onnx --lock p.lock").exit_code, 0);
  const std::string text = scratch_.text("p.lock");
  EXPECT_THAT(text, HasSubstr("ferrule placement 1\ndevice \"cpu\" = "));
  EXPECT_THAT(text, HasSubstr("node relu 0 \""));
  EXPECT_EQ(run("run two.onnx --lock p.lock").exit_code, 0);
  EXPECT_EQ(scratch_.text("p.lock"), text);

  replace("node relu 0 \"", "node relu 0 \"not ");
  const Ran lost = run("explain two.onnx --lock p.lock");
  EXPECT_EQ(lost.exit_code, 2);
  EXPECT_THAT(lost.err, HasSubstr("p.lock for every node, got 1 without one"));
  EXPECT_THAT(lost.err, HasSubstr("relu 0"));
  EXPECT_THAT(lost.err, HasSubstr(": no line; did you mean node relu 0 \"not "));
  EXPECT_EQ(run("explain two.onnx --lock p.lock --lock-write").exit_code, 0);
  EXPECT_EQ(scratch_.text("p.lock"), text);
}

TEST_F(LockFlags, CompareSaysWhatDiffers) {
  ASSERT_EQ(run("run two.onnx --lock p.lock").exit_code, 0);
  const Ran same = run("explain two.onnx --lock-diff p.lock");
  EXPECT_EQ(same.exit_code, 0) << same.err;
  EXPECT_EQ(same.out, "");
  replace("node relu 0 \"", "node relu 0 \"not ");
  const std::string edited = scratch_.text("p.lock");
  const Ran other = run("explain two.onnx --lock-diff p.lock --set placement.lock=p.lock");
  EXPECT_EQ(other.exit_code, 1) << other.err;
  EXPECT_THAT(other.out, HasSubstr("-> gone\n"));
  EXPECT_THAT(other.out, HasSubstr(": new -> \"cpu\"\n"));
  EXPECT_THAT(run("explain two.onnx --lock-diff p.lock --json").out,
              HasSubstr("{\"differences\": [\n \"node relu 0 "));
  EXPECT_EQ(scratch_.text("p.lock"), edited);  // comparing writes nothing
}

TEST_F(LockFlags, MistakesAreSentences) {
  EXPECT_THAT(run("run two.onnx --lock-write").err, HasSubstr("want a file in placement.lock"));
  EXPECT_THAT(run("explain two.onnx --lock-diff none.lock").err,
              HasSubstr("none.lock: No such file"));
  scratch_.file("bad.lock", "hello");
  const Ran bad = run("run two.onnx --lock bad.lock");
  EXPECT_EQ(bad.exit_code, 2);
  EXPECT_THAT(bad.err,
              HasSubstr("bad.lock:1: want ferrule placement 1 on the first line, got hello"));
  EXPECT_THAT(run("run two.onnx --lock no/folder/p.lock").err,
              HasSubstr("cannot be written: No such"));
  EXPECT_EQ(run("run two.onnx --lock .").exit_code, 2);
}

TEST_F(LockFlags, NamesThatNothingHasAreNamed) {
  ASSERT_EQ(run("run two.onnx --lock p.lock").exit_code, 0);
  const std::string text = scratch_.text("p.lock");
  scratch_.file("p.lock", text + "node neg 0 \"c (Neg)\" = \"cpu\"\n");
  const Ran strange = run("run two.onnx --lock p.lock");
  EXPECT_EQ(strange.exit_code, 0);
  EXPECT_THAT(strange.err,
              HasSubstr("p.lock: want lines for nodes of this form, got 1 of none: "
                        "node neg 0 \"c (Neg)\"; did you mean node neg 0 \"b (Neg)\""));
  scratch_.file("p.lock", text);
  replace("= \"cpu\"", "= \"cpo\"");
  EXPECT_THAT(run("run two.onnx --lock p.lock").err, HasSubstr("= \"cpo\"; did you mean \"cpu\""));
}

TEST_F(LockFlags, ADeviceThatChangedIsSaid) {
  ASSERT_EQ(run("run two.onnx --lock p.lock").exit_code, 0);
  replace(" fingerprint ", " fingerprint 9");
  const Ran ran = run("run two.onnx --lock p.lock");
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_THAT(ran.err, HasSubstr("warning: session: "));
  EXPECT_THAT(ran.err, HasSubstr("p.lock: want device \"cpu\" as \"x86-64\" fingerprint "));
  EXPECT_THAT(ran.err, HasSubstr("; --lock-write places anew\n"));
}

TEST_F(LockFlags, AConfigsLockLiesBesideIt) {
  scratch_.file("there/ferrule.toml", "[placement]\nlock = \"its.lock\"\n");
  ASSERT_EQ(run("run two.onnx --config there/ferrule.toml").exit_code, 0);
  EXPECT_THAT(scratch_.text("there/its.lock"), HasSubstr("ferrule placement 1"));
}

TEST_F(LockFlags, ExplainSaysWhatANodeWouldHaveCostElsewhere) {
  const std::string both = " --target cpu --target tpu-sim --plugins " FRL_BUILD_DIR "/simulators";
  const Ran ran = run_program(scratch_, "explain two.onnx" + both);
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("a (Relu) as relu: "));
  EXPECT_THAT(ran.out, HasSubstr("; tpu-sim: "));
  EXPECT_THAT(ran.out, HasSubstr("of transfers"));
  EXPECT_THAT(ran.out, HasSubstr("passes of tpu-sim"));
}

}  // namespace
}  // namespace ferrule
