// The ferrule program, a row for each thing that a user may type: exit code, stdout, stderr.
#include <sys/stat.h>

#include "tests/cli/onnx.h"
#include "tests/cli/program.h"

namespace ferrule {
namespace {

using testing::HasSubstr;

std::string npy(const std::string& header, const std::string& elements, char version = 1) {
  return std::string("\x93NUMPY") + version + '\0' + char(header.size()) + '\0' + header + elements;
}
std::string header(const std::string& descr, const std::string& shape = "(2,)") {
  return "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }\n";
}

const std::string kFloats("\0\0\x80\x3f\0\0\0\xc0", 8);  // 1, -2

std::string manifest(const std::string& rest) {
  return "{\"model\": \"../two.onnx\", \"inputs\": [{\"name\": \"x\", \"file\": \"../x.npy\"}], "
         "\"outputs\": [{\"name\": \"a_b\", \"file\": \"../minus_x.npy\"" +
         rest + "}]}";
}

// y = a + b
std::string adding(const std::string& a, const std::string& b,
                   const std::vector<std::string>& dims) {
  using onnx_file::bytes, onnx_file::number, onnx_file::value;
  const std::string node = bytes(1, a) + bytes(1, b) + bytes(2, "y") + bytes(4, "Add");
  return number(1, 8) +
         bytes(7, bytes(2, "g") + value(11, a, dims) + (a == b ? "" : value(11, b, dims)) +
                      bytes(1, node) + value(12, "y", dims)) +
         bytes(8, bytes(1, "") + number(2, 17));
}

// y = t[x] with three rows in t, the last one 1, the others 0.
std::string gathering() {
  using onnx_file::bytes, onnx_file::number, onnx_file::value;
  const std::string table = number(1, 3) + number(1, 1) + number(2, 1) + bytes(8, "t") +
                            bytes(9, std::string("\0\0\0\0\0\0\0\0\0\0\x80\x3f", 12));
  const std::string node = bytes(1, "t") + bytes(1, "x") + bytes(2, "y") + bytes(4, "Gather");
  return number(1, 8) +
         bytes(7, bytes(2, "g") + bytes(5, table) + value(11, "x", {"64"}, 7) + bytes(1, node) +
                      value(12, "y", {"64", "1"})) +
         bytes(8, bytes(1, "") + number(2, 17));
}

void fill(const Scratch& s) {
  using onnx_file::model;
  s.file("two.onnx", model({"2"}, {{"Relu", "a/b"}, {"Neg", "a_b"}}));
  s.file("strange.onnx", model({"2"}, {{"Bernoullo", "a"}}));
  s.file("open.onnx", model({"batch", "1", "height", "width"}, {{"Relu", "y"}}));
  s.file("bf16.onnx", model({"2"}, {{"Identity", "y"}}, 16));
  s.file("gather.onnx", gathering());
  s.file("mask.onnx", model({"64"}, {{"Identity", "y"}}, 7));
  s.file("escape.onnx", model({"2"}, {{"\x1b[31mRed" + std::string(5000, 'x'), "y"}}));
  s.file("x.npy", npy(header("<f4"), kFloats));
  s.file("minus_x.npy", npy(header("<f4"), std::string("\0\0\x80\xbf\0\0\0\x40", 8)));
  s.file("big.npy", npy(header(">f4"), kFloats));
  s.file("complex.npy", npy(header("<c8", "(1,)"), kFloats));
  s.file("v9.npy", npy(header("<f4"), kFloats, 9));
  s.file("junk.npy", npy("junk and nothing but junk\n", kFloats));
  s.file("twice.npy", npy("{'descr': '<f4', 'shape': (2,), 'shape': (2,)}\n", kFloats));
  s.file("strange.npy", npy("{'descr': '<f4', 'order': 'C'}\n", kFloats));
  std::string six;
  for (const float x : {1.f, 2.f, 3.f, 4.f, 5.f, 6.f}) six.append(reinterpret_cast<const char*>(&x), 4);
  s.file("fortran.npy", npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3)}\n", six));
  s.file("comma.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,,)}\n", kFloats));
  s.file("table.onnx", model({"2", "3"}, {{"Neg", "y"}}));
  s.file("equals.onnx", adding("a=b", "a=b", {"2"}));
  s.file("pair.onnx", adding("a", "b", {"n", "4"}));
  s.file("sum.onnx", adding("x", "s", {"2"}));
  s.file("x34.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4)}\n", six + six));
  s.file("records.npy",
         npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }\n", kFloats));
  s.file("empty.npy", "");
  s.file("short.npy", npy(header("<f4", "(3,)"), kFloats));
  s.file("b16.npy", npy(header("<V2"), std::string("\x80\x3f\0\xc0", 4)));
  s.file("good/manifest.json", manifest(""));
  s.file("better/manifest.json", manifest(""));
  s.file("refused/manifest.json", "[{\"file\": \"a.onnx\"}]");
  s.file("hollow/readme", "");
  s.file("known.txt", "syntax is no JSON\n");
  s.file("text_rtol/manifest.json", manifest(", \"rtol\": \"x\""));
  s.file("null_rtol/manifest.json", manifest(", \"rtol\": null"));
  s.file("syntax/manifest.json", "{\n \"model\": oops\n}");
  s.file("data/test_data_set_0/output_0.pb", "");
  s.file("binary.txt", std::string("a b\0c", 5));
  s.file("plugins,more/readme", "");
  s.file("shared.toml", "[plugins]\ndeny = [\"gpu.so\"]\n[plugin.\"org.ferrule.gpu\"]\nx = 1\n");
  s.file("sims.toml", "[plugin.\"org.ferrule.tpu-sim\"]\na = 1\nb = 2\n");
  s.file("demand.toml", "targets.order = [\"cpp\"]\n");
  std::filesystem::create_symlink("loop", s.path() / "unreadable");
  std::filesystem::create_symlink("unreadable", s.path() / "loop");
  std::filesystem::create_directories(s.path() / "folder_loop");
  std::filesystem::create_symlink("../unreadable", s.path() / "folder_loop" / "case");
  ::mkfifo((s.path() / "fifo.npy").c_str(), 0600);
}

struct Row {
  const char* arguments;
  int exit_code;
  const char* out;
  const char* err;
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.arguments; }

class Cli : public testing::TestWithParam<Row> {
 public:
  static const Scratch& scratch() {
    static const Scratch* const made = [] {
      static Scratch s;
      fill(s);
      return &s;
    }();
    return *made;
  }
};

TEST_P(Cli, SaysWhatItShould) {
  const Row& row = GetParam();
  const Ran ran = run_program(scratch(), row.arguments);
  EXPECT_EQ(ran.exit_code, row.exit_code) << row.arguments << "\n" << ran.out << ran.err;
  EXPECT_THAT(ran.out, HasSubstr(row.out)) << row.arguments;
  EXPECT_THAT(ran.err, HasSubstr(row.err)) << row.arguments;
  // What goes wrong is one sentence; it may have warnings before it.
  if (ran.exit_code >= 2) {
    const size_t at = ran.err.rfind("ferrule: ", ran.err.size());
    ASSERT_NE(at, std::string::npos) << row.arguments << ": " << ran.err;
    EXPECT_EQ(ran.err.find('\n', at), ran.err.size() - 1) << row.arguments;
    EXPECT_LT(ran.err.size() - at, 1400u) << row.arguments;
  }
}

#define TWO "run two.onnx --input x=x.npy"
#define MN "run $M/model.onnx --input Input3=$M/input_0.npy"

const Row kUsage[] = {
    {"", 2, "", "ferrule: command: want one of plugins, devices, run, "},
    {"bogus", 2, "", "command: want one of plugins, devices, run, verify, explain, bench, calibrate, ops, config, got bogus"},
    {"verifi good", 2, "", "got verifi; did you mean verify"},
    {"bench two.onnx --output-dir x", 2, "", "ferrule: bench: want one of --input, "},
    {"bench two.onnx --output-dir x", 2, "", ", got --output-dir"},
    {"bench two.onnx --repeat", 2, "", "--repeat: want N, got nothing"},
    {"bench two.onnx --repeat 0", 2, "", "--repeat: want an integer of 1 or more, got 0"},
    {"bench two.onnx --repeat 1 --repeat 2", 2, "", "--repeat: want it once, got it twice"},
    {"run", 2, "", "run: want MODEL (an .onnx file), got nothing"},
    {"run two.onnx x.npy", 2, "", "run: want nothing more, got x.npy"},
    {"run ''", 2, "", "MODEL: want MODEL, got an empty text"},
    {"run --json=yes two.onnx", 2, "", "--json: want no value, got yes"},
    {"--help", 0, "Exit codes: 0 fine", ""},
    {"run --help", 0, "--output-dir FOLDER", ""},
    {"--version", 0, "plugin ABI", ""},
    {"--json " TWO, 0, "\"values\": [1,0]", ""},
    {"--target cpu --threads 1 " TWO, 0, "f32[2]", ""},
    {"--threads=1 " TWO, 0, "f32[2]", ""},
    {TWO " --target ''", 2, "", "--target: want DEVICE, got an empty text"},
    {TWO " --output-dir ''", 2, "", "--output-dir: want FOLDER, got an empty text"},
    {"config show --threads 2 --set threads.count=3", 0, "threads.count = 3", ""},
    {"config show --set threads.count=3 --threads 2", 0, "threads.count = 2", ""},
    {"config show --set 'targets.order=[\"a,b\", \"c\"]'", 3, "targets.order = [\"a,b\", \"c\"]", "want one of cpu, got a,b"},
    {"config show --set 'gate.mode=\"never\"'", 0, "gate.mode = \"never\"", ""},
    {"config show --set 'plugins.deny=[\"a'", 2, "", "want a TOML list or a quoted text, got [\"a"},
    {"config show --plugins plugins,more", 0, "/plugins,more\"]\n", "plugins,more at discover: folder: want files that end in .so, got none"},
    {"config show --set passes.off=nope", 2, "", "flag --set: passes.off: want passes that may be left out"},
    {"config show --config plugins,more", 2, "", "plugins,more: want a file, got a folder"},
    {"config show --threads x", 2, "", "ferrule: --threads: key threads.count: want an integer of 0 or more"},
    {"config show --threads 5000 && $F devices --threads 5000", 2, "", "flag --threads: threads.count: want at most 4096, got 5000"},
    {"config show --json", 0, "\"threads.count\": {\"value\": 0, \"origin\": \"built-in\"}", ""},
    {"config show --origin", 0, "plugin.\"org.ferrule.cpu\".gemm = \"own\"    # built-in\n", ""},
    {"config show >all.toml && $F config show --origin --config all.toml", 0, "threads.count = 0    # ", ""},
    {"config show --set plugin.org.ferrule.cpu.gemm=fast", 2, "", "gemm: want own or openblas, got fast"},
    {"devices --set plugin.org.ferrule.cpu.gemm=fast", 2, "", "gemm: want own or openblas, got fast"},
    {"plugins --set plugin.org.ferrule.cpu.gemm=fast", 2, "refused", "gemm: want own or openblas, got fast"},
    {"help run", 0, "ferrule run MODEL: run a model once", ""},
    {"help", 0, "ferrule COMMAND ...", ""},
    {"config hide", 2, "", "config: want show, got hide"},
    {"config show --config missing.toml", 2, "", "ferrule: missing.toml: No such file"},
};
INSTANTIATE_TEST_SUITE_P(Usage, Cli, testing::ValuesIn(kUsage));

const Row kStdout[] = {
    {TWO " --json >/dev/full", 1, "", "ferrule: stdout: cannot be written: No space left on device"},
    {TWO " >&-", 1, "", "ferrule: stdout: cannot be written: Bad file descriptor"},
    {"--help >/dev/full", 1, "", "stdout: cannot be written"},
    {"ops >/dev/full", 1, "", "stdout: cannot be written"},
    {"verify good >/dev/full", 1, "", "stdout: cannot be written"},
    {"explain two.onnx >/dev/full", 1, "", "stdout: cannot be written"},
    {"bench two.onnx --repeat 1 >/dev/full", 1, "", "stdout: cannot be written"},
    {"run missing.onnx --json", 2, "{\"error\": {\"code\": \"not_found\", \"text\": \"missing.onnx: No such file", ""},
    {"bogus --json", 2, "{\"error\": {\"code\": \"invalid_argument\"", "ferrule: command: "},
    {"run escape.onnx --random-inputs 1", 2, "", "\\x1b[31mRed"},
};
INSTANTIATE_TEST_SUITE_P(Stdout, Cli, testing::ValuesIn(kStdout));

const Row kInputs[] = {
    {"run two.onnx --input x=fifo.npy", 2, "", "fifo.npy: want a regular file"},
    {"run fifo.npy", 2, "", "fifo.npy: want a regular file, got a device or pipe"},
    {"run good", 2, "", "good: want a regular file, got a folder"},
    {"run two.onnx --random-inputs 99999999999999999999", 2, "", "--random-inputs: want an integer of 64 bits, got 9999"},
    {"run two.onnx --input x=big.npy", 2, "", "big.npy: npy: want little-endian numbers, got type >f4"},
    {"run two.onnx --input x=complex.npy", 2, "", "npy: want real numbers, got type <c8"},
    {"run two.onnx --input x=v9.npy", 2, "", "npy: want version 1 to 3, got 9"},
    {"run two.onnx --input x=junk.npy", 2, "", "npy: want a header that is a dictionary, got none"},
    {"run two.onnx --input x=empty.npy", 2, "", "npy: want an .npy file, got an empty one"},
    {"run two.onnx --input x=short.npy", 2, "", "npy: want the elements of f32[3], got 8 bytes"},
    {"run two.onnx --input x=twice.npy", 2, "", "npy: header: want each key once, got shape twice"},
    {"run two.onnx --input x=strange.npy", 2, "", "npy: header: want descr, fortran_order and shape, got order"},
    {"run table.onnx --input x=fortran.npy", 0, "[-1, -3, -5, -2, -4, -6]", ""},
    {"run two.onnx --input x=comma.npy", 2, "", "npy: shape: want extents, got (2,,)"},
    {"run equals.onnx --input a=b=x.npy", 0, "y  f32[2]", ""},
    {"run pair.onnx --random-inputs 1 --shape a=3,4", 0, "y  f32[3,4]", ""},
    {"run pair.onnx --input a=x34.npy --random-inputs 1", 0, "y  f32[3,4]", ""},
    {"run sum.onnx --input x=x.npy --input s=x.npy --state s=y", 0, "[2, -4]", ""},
    {"run sum.onnx --input x=x.npy --state s=y", 0, "[1, -2]", ""},
    {"run two.onnx --input x=records.npy", 2, "", "npy: want numbers or bool, got records"},
    {"run two.onnx", 2, "", "inputs: want x f32[2] by --input NAME=FILE.npy, or --random-inputs SEED to make them up, got nothing"},
    {"run two.onnx --input x=", 2, "", "--input x: want a file, got nothing"},
    {TWO " --input x=minus_x.npy", 2, "", "--input: want each name once, got x twice"},
    {TWO " --shape x=2", 2, "", "--shape: want an input that is made up, got x, that --input gives"},
    {"run two.onnx --random-inputs 1 --shape Nope=1,2", 2, "", "--shape: want one of x, got Nope"},
    {"run two.onnx --input y=x.npy", 2, "", "input: want one of x, got y"},
    {"run strange.onnx", 2, "", "not supported: node 'a' (Bernoullo, opset 17)"},
    {"run two.onnx --shape x=2", 2, "", "got x, without --random-inputs"},
    {"run open.onnx --random-inputs 1", 2, "", "want --shape x=... since the model declares [batch,1,height,width], got none"},
    {"run open.onnx --random-inputs 1 --shape x=1,1,2,-2", 2, "", "want extents of 0 or more as in [batch,1,height,width]"},
    {"run open.onnx --random-inputs 1 --shape x=99999999,1,999,2", 2, "", "want at most 4294967296 bytes to make up"},
    {"run bf16.onnx --input x=b16.npy --output-dir b16 && $F run bf16.onnx --input x=b16/y.npy", 0, "y  bf16[2]  max 1 at [0]  mean -0.5  [1, -2]\n", ""},
    {"run gather.onnx --random-inputs 1", 0, "y  f32[64,1]  max 1 at ", ""},
    {"explain gather.onnx", 0, "gather", ""},
    {"run mask.onnx --random-inputs 1", 0, "y  i64[64]  max 1 at ", ""},
    {MN, 0, "  [-", ""},
    {TWO, 0, "a_b  f32[2]  max 2 at [1]  mean 0.5  [-1, 2]", ""},
    {TWO " --output-dir out && test -f out/a_b.npy && test -f out/a_b_2.npy", 0, "in out/a_b_2.npy", ""},
    {TWO " --output-dir x.npy", 2, "", "--output-dir: x.npy: cannot be made: "},
    {TWO " --json --explain", 0, "\"explain\": {\"plugins\"", ""},
    {"explain two.onnx --format html --json", 2, "", "--format: want json beside --json, got html"},
    {"explain two.onnx", 0, "rates: plugin", ""},
    {"explain two.onnx", 0, "  on, without effect:  fold_constants, fold_identity", ""},
    {"explain two.onnx --target cpu --format html", 0, "<h2>Placement</h2><table>", ""},
    {"explain two.onnx --target cpu --format html", 0, "<td>relu<td>cpu<td>cpu<td>native<td", ""},
    {"explain two.onnx --target cpu --format html", 0, "<td>cpu<td>fuse_pointwise<td>on", ""},
    {"explain two.onnx", 0, "dispatch_ps 30000", ""},
    {"explain two.onnx --json", 0, "\"rates\": [{\"target\": \"cpu\", \"from\": \"plugin\"", ""},
    {"explain two.onnx --set gate.mode=calibrated", 2, "",
     "run ferrule calibrate --target cpu"},
    {"explain two.onnx --lock-diff l --format html", 2, "", "--lock-diff: want it without --format, got both"},
    {"config show --set 'threads.count=[1]'", 2, "", "want a value without quotes, got [1]"},
    {"explain two.onnx --set gate.mode=never", 0, "gate  never", ""},
    {"calibrate --target cpu --set gate.calibration=rates && $F explain two.onnx --target cpu --set "
     "gate.mode=calibrated --set gate.calibration=rates",
     0, "rates: calibrated of 20", ""},
    {"calibrate --target cpu --set gate.calibration=stale --json && sed -i 's/^version = .*/version "
     "= \"0\"/' stale/*.toml && $F explain two.onnx --target cpu --set gate.mode=calibrated --set "
     "gate.calibration=stale",
     2, "\"calibrated\": [{\"target\": \"cpu\"", ".toml is stale: version: want "},
    {"calibrate --target cpu --set gate.calibration=two.onnx", 2, "", "cannot be written"},
    {"bench", 2, "", "bench: want MODEL or --fusion-table, got neither"},
    {"bench --fusion-table --target cpu --repeat 3 --only 'fuse_pointwise 2 cheap'", 0,
     "| fuse_pointwise | 2 cheap nodes | m=1 n=64 |", ""},
    {"bench --fusion-table --target cpu --repeat 3 --only 'fuse_pointwise 2 cheap' --json", 0,
     "\"choice\": \"fuse\"", ""},
    {"bench --fusion-table --target cpu --repeat 3 --only 'fuse_pointwise 2 cheap' --json --set "
     "gate.mode=never",
     0, "\"choice\": \"leave\"", ""},
    {"explain two.onnx --format dot", 0, "pointwise\\ncpu\\nf32[2]", ""},
    {"bench --fusion-table --target cpu --only nothing", 2, "", "--only: want a part of the name of a pass or case, got nothing"},
    {"bench two.onnx --fusion-table", 2, "", "MODEL: want it without --fusion-table, got both"},
    {"bench --fusion-table --against gate.mode=never", 2, "", "--against: want it without --fusion-table"},
    {"bench two.onnx --only exp", 2, "", "--only: want it beside --fusion-table, got it alone"},
    {"bench two.onnx --repeat 1 --against foo", 2, "", "ferrule: --against: want NAME=VALUE, got foo"},
    {"bench two.onnx --repeat 1 --against gate.mod=never", 2, "", "ferrule: --against: key gate.mod: want a known key; did you mean gate.mode"},
    {"bench two.onnx --repeat 1 --against passes.off=nope", 2, "", "ferrule: flag --against: passes.off: want"},
    {"bench two.onnx --repeat 1 --against gate.mode=never --json", 0, "\"ratio\": ", ""},
};
INSTANTIATE_TEST_SUITE_P(Inputs, Cli, testing::ValuesIn(kInputs));

const Row kVerify[] = {
    {"verify good", 0, "1 passed, 0 failed", ""},
    {"verify good --json", 0, "], \"passed\": 1, \"failed\": 0, \"streams\": 0, \"enough\": true}", ""},
    {"verify good --json", 0, "{\"cases\": [\n {\"case\": \"good\"", ""},
    {"verify good --rtol -1", 2, "", "--rtol: want a finite number of 0 or more, got -1"},
    {"verify good --atol nan", 2, "", "--atol: want a finite number of 0 or more, got nan"},
    {"verify good --atol inf", 2, "", "--atol: want a finite number of 0 or more, got inf"},
    {"verify good --at-least abc", 2, "", "--at-least: want an integer of 0 or more, or FOLDER=N, got abc"},
    {"verify good --at-least -5", 2, "", "--at-least: want an integer of 0 or more, or FOLDER=N, got -5"},
    {"verify good --at-least 2", 1, "want at least 2 cases, got 1\n1 passed, 0 failed", ""},
    {"verify good/ better --at-least ./good=1 --at-least better/=1 --at-least 2", 0, "2 passed, 0 failed", ""},
    {"verify good better --at-least good=2 --at-least better=1", 1, "want at least 2 cases below good, got 1\n2 passed", ""},
    {"verify good better --at-least-streams good=1 --json", 1, "\"enough\": false", ""},
    {"verify good better --at-least-streams better=1", 1, "want at least 1 streams below better, got 0", ""},
    {"verify good --at-least god=1", 2, "", "--at-least: want one of the folders good, got god; did you mean good"},
    {"verify good --at-least good=", 2, "", "want an integer of 0 or more, or FOLDER=N, got good="},
    {"verify hollow", 2, "", "hollow: want cases (manifest.json, "},
    {"verify good hollow", 2, "", "hollow: want cases (manifest.json, "},
    {"verify refused", 2, "", "refused: want cases (manifest.json, "},
    {"verify good ./good/", 2, "", "./good/: want cases (manifest.json, stream.json or test_data_set_* beside model.onnx) that no folder before it has, got none"},
    {"verify missing", 2, "", "missing: want a folder, got No such file or directory"},
    {"verify x.npy", 2, "", "x.npy: want a folder, got a file"},
    {"verify syntax --known known.txt", 2, "0 passed, 0 failed", "verify: want a case that may pass, got 1 that --known lists as failing"},
    {"verify good --known binary.txt", 2, "", "binary.txt: want NAME REASON a line, got a b\\x00c"},
    {"verify good --known good", 2, "", "--known: good: want a regular file"},
    {"verify text_rtol", 1, "outputs: rtol: want a finite number of 0 or more, got \"x\"", ""},
    {"verify null_rtol", 1, "rtol: want a finite number of 0 or more, got null", ""},
    {"verify syntax", 1, "manifest.json: want JSON, got a syntax error in line 2", ""},
    {"verify data", 1, "data/test_data_set_0: want model.onnx beside it, got none", ""},
    {"verify data/test_data_set_0/", 1, "want model.onnx beside it, got none", ""},
    {"verify good folder_loop", 1, "folder_loop/case  0 ms  folder: cannot be read: ", ""},
    {"verify unreadable", 2, "", "unreadable: want a folder, got "},
};
INSTANTIATE_TEST_SUITE_P(Verify, Cli, testing::ValuesIn(kVerify));

const Row kPlugins[] = {
    {"plugins --plugins /nope", 0, "refused  /nope\n", ""},
    {TWO " --set plugins.folders=/nope", 0, "f32[2]", "warning: loader: refused /nope at discover: folder: No such file"},
    {"plugins --probe /nope", 2, "", "ferrule: /nope: discover: file: No such file or directory"},
    {"plugins --set plugins.probe=on --set plugins.probe_ms=9223372036854775807", 0, "loaded   org.ferrule.cpu", ""},
    {TWO " --set targets.order=,", 2, "", "--set: key targets.order: want no empty text in the list"},
    {TWO " --set plugin.org.nobody.x=1", 2, "", "flag --set: plugin.org.nobody.x: want the id of a plugin that was found (org.ferrule.cpu), got org.nobody"},
    {TWO " --set plugin.org.ferrule.cp.isa=best", 2, "", "got org.ferrule.cp; did you mean org.ferrule.cpu"},
    {TWO " --set plugins.deny=cpu.os", 2, "", "flag --set: plugins.deny: want the id or file name of a plugin that was found ("},
    {TWO " --set plugins.deny=cpu.os", 2, "", ", got cpu.os; did you mean cpu.so"},
    {TWO " --config shared.toml", 0, "f32[2]", "warning: config: shared.toml:2: plugins.deny: want the id or file name of a plugin"},
    {TWO " --config shared.toml", 0, "f32[2]", "warning: config: shared.toml:4: plugin.org.ferrule.gpu.x: want the id of a plugin that was found (org.ferrule.cpu), got org.ferrule.gpu; did you mean org.ferrule.cpu"},
    {TWO " --config shared.toml --set log.level=error", 0, "f32[2]", ""},
    {TWO " --config sims.toml", 0, "f32[2]", "plugin.org.ferrule.tpu-sim.a: want the id of a plugin that was found (org.ferrule.cpu), got org.ferrule.tpu-sim\n"},
    {TWO " --config demand.toml", 3, "", "demand.toml:1: targets.order: want one of cpu, got cpp; did you mean cpu"},
    {"plugins --target nope", 3, "loaded   org.ferrule.cpu", "flag --target: targets.order: want one of cpu, got nope"},
    {"ops --set targets.also=nope", 3, "[cpu]", "flag --set: targets.also: want one of cpu, got nope"},
    {"plugins --set passes.off=fold_identiti", 2, "", "did you mean fold_identity"},
    {"verify good --set passes.off=nope", 2, "", "passes.off: want passes that may be left out"},
    {TWO " --set plugin.x=1", 2, "", "key plugin.x: want plugin.ID.KEY"},
    {TWO " --set plugin.org.ferrule.cpu.isa=nope", 2, "", "isa: want best, generic, avx2 or avx512, got nope"},
    {TWO " --set 'plugin.\"org.ferrule.cpu\".isa=\"generic\"'", 0, "f32[2]", ""},
    {TWO " --set plugin.org.ferrule.cpu.gemm=fast", 2, "", "gemm: want own or openblas, got fast"},
    {TWO " --set plugin.org.ferrule.cpu.gem=own", 2, "", "ferrule: plugin org.ferrule.cpu: option gem: want one of gemm, isa; did you mean gemm"},
    {"ops --target nope", 3, "[cpu]", "targets.order: want one of cpu, got nope"},
    {TWO " --target gpu", 3, "", "want one of cpu, got gpu\n"},
    {TWO " --target cpo", 3, "", "did you mean cpu"},
    {TWO " --set 'plugins.deny=[\"org.ferrule.cpu\"]'", 3, "", "devices: want at least one that is present, got none; "},
    {TWO " --set plugins.deny=cpu.so", 3, "", "; searched "},
    {TWO " --set log.level=trace", 0, "f32[2]", "note: loader: loaded org.ferrule.cpu "},
    {TWO " --set log.level=trace", 0, "f32[2]", "trace: session: compiled a form: "},
    {TWO " --set passes.off=wrap_pointwise", 2, "", "passes.off: want passes that may be left out (fold_constants, "},
    {TWO " --set passes.off=decompose_kinds", 2, "", "got decompose_kinds"},
    {TWO " --set passes.off=separate_outputs", 2, "", "got separate_outputs"},
};
INSTANTIATE_TEST_SUITE_P(Plugins, Cli, testing::ValuesIn(kPlugins));

}  // namespace
}  // namespace ferrule
