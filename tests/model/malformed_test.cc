// Files and models that must be refused with a sentence that says where.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "tests/model/build.h"
#include "tests/model/cases.h"
#include "tests/model/manifest.h"

namespace ferrule {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

Status load_and_import(const std::string& path) {
  FRL_LET(const Model model, Model::load(path));
  FRL_LET(const Imported imported, import_model(model, {}));
  return verify(imported.graph);
}

TEST(Malformed, EveryFileMeetsItsExpectation) {
  const std::string folder = cat(FRL_TEST_DATA, "/models/malformed");
  const std::string manifest = read_text(folder + "/manifest.json");
  size_t n_files = 0;
  for (size_t at = manifest.find("\"file\""); at != std::string::npos;
       at = manifest.find("\"file\"", at + 1)) {
    const std::string file = json_field(manifest, at, manifest.size(), "file");
    const std::string expect = json_field(manifest, at, manifest.size(), "expect");
    const Status status = load_and_import(folder + "/" + file);
    // "run after sorting, or reject and say why": this importer sorts.
    EXPECT_EQ(status.ok(), expect != "reject") << file << ": " << status.message();
    EXPECT_EQ(status.message().size() > 10, expect == "reject") << file;
    ++n_files;
  }
  EXPECT_EQ(n_files, 9u);
}

Status import_text(const std::string& file, const ImportRequest& request = {}) {
  FRL_LET(const Model model, build::parse(file));
  return import_model(model, request).ok() ? Status() : import_model(model, request).status();
}
std::string error(const std::string& graph, int64_t opset = 17, const std::string& rest = "") {
  return import_text(build::model(graph, opset, rest)).message();
}

const std::string kX = build::input("x", build::kF32, {2, 3}), kY = build::output("y");

TEST(Malformed, ErrorsNameNodeOpAndOpset) {
  EXPECT_THAT(error(kX + kY + build::node("Concat", {"x", "x"}, {"y"}, build::i("axis", 7))),
              HasSubstr("node 'n_y' (Concat, opset 17): axis: want -2 .. 1, got 7"));
  EXPECT_THAT(error(kX + kY + build::node("Relu", {"nowhere"}, {"y"})),
              HasSubstr("node 'n_y' (Relu, opset 17): want a value named 'nowhere'"));
  EXPECT_THAT(error(kX + kY + build::node("Relu", {""}, {"y"})),
              HasSubstr("want input 0, got nothing"));
  EXPECT_THAT(error(kX + kY + build::node("Softmax", {"x"}, {"y"}, build::f("axis", 1))),
              HasSubstr("attribute 'axis': want type 2, got 1"));
}

TEST(Malformed, EverythingUnsupportedAtOnce) {
  const std::string message = error(kX + kY + build::node("Frobnicate", {"x"}, {"a"}) +
                                    build::node("Relu", {"a"}, {"b"}, build::i("steep", 1)) +
                                    build::node("TfIdfVectorizer", {"b"}, {"y"}) +
                                    build::initializer(build::tensor("s", 8, {1}, "")));
  EXPECT_THAT(message, HasSubstr("Frobnicate, opset 17"));
  EXPECT_THAT(message, HasSubstr("attribute 'steep'"));
  EXPECT_THAT(message, HasSubstr("TfIdfVectorizer"));
  EXPECT_THAT(message, HasSubstr("initializer 's': element type string"));
}

TEST(Malformed, CyclesOfNodes) {
  EXPECT_THAT(error(kX + kY + build::node("Add", {"x", "b"}, {"a"}) +
                    build::node("Relu", {"a"}, {"b"}) + build::node("Relu", {"b"}, {"y"})),
              HasSubstr("cycle"));
  EXPECT_THAT(error(kX + kY + build::node("Add", {"x", "y"}, {"y"})), HasSubstr("cycle"));
}

std::string function(const std::string& name, const std::string& nodes) {
  return build::bytes(25, build::bytes(1, name) + build::bytes(4, "a") + build::bytes(5, "b") +
                              nodes + build::bytes(9, build::bytes(1, "") + build::number(2, 17)) +
                              build::bytes(9, build::bytes(1, "own") + build::number(2, 1)) +
                              build::bytes(10, "own"));
}

TEST(Malformed, CyclesOfFunctions) {
  const std::string calls = function("F", build::node("G", {"a"}, {"b"}, "", "own", 7)) +
                            function("G", build::node("F", {"a"}, {"b"}, "", "own", 7));
  EXPECT_THAT(error(kX + kY + build::node("F", {"x"}, {"y"}, "", "own"), 17, calls),
              HasSubstr("cycle of calls"));
}

// A node that an import would stop at; what multiplies is refused before it is reached.
const std::string kFault = build::node("Concat", {"a"}, {"b"}, build::i("axis", 7), "", 7);

// Thirty functions, each calling the next one twice: a small file, a thousand million nodes.
TEST(Malformed, FunctionsThatMultiplyAreCountedBeforeTheirCalls) {
  std::string calls;
  for (int n = 0; n < 30; ++n) {
    const std::string next = cat("F", n + 1);
    calls += function(cat("F", n), build::node(next, {"a"}, {"m"}, "", "own", 7) +
                                       build::node(next, {"m"}, {"b"}, "", "own", 7));
  }
  const std::string file = build::model(kX + kY + build::node("F0", {"x"}, {"y"}, "", "own"), 17,
                                        calls + function("F30", kFault));
  const Status status = import_text(file);
  EXPECT_EQ(status.code(), Code::out_of_limits);
  EXPECT_THAT(status.message(), HasSubstr("(F12, own opset 1): want at most 1048576 nodes"));
  ImportRequest request;
  request.limits.n_nodes = 1000;
  EXPECT_THAT(import_text(file, request).message(), HasSubstr("want at most 1000 nodes"));
}

// A body may be imported in several ways, each with all that is inside.
TEST(Malformed, LoopsThatMultiplyAreCountedBeforeTheirBodies) {
  std::string inner = build::node("Concat", {"x"}, {"v2"}, build::i("axis", 7));
  for (int n = 0; n < 12; ++n) {
    const std::string body =
        build::input("i", build::kI64, {}) + build::input("go", build::kBool, {}) +
        build::input("v", build::kF32, {2, 3}) + build::node("Identity", {"go"}, {"go2"}) + inner +
        build::output("go2") + build::output("v2");
    inner = build::node("Loop", {"m", "", "x"}, {"v2"}, build::graph_attribute("body", body));
  }
  const std::string trips =
      build::initializer(build::tensor("m", build::kI64, {}, build::raw<int64_t>({1})));
  EXPECT_THAT(error(kX + build::output("v2") + trips + inner),
              HasSubstr("(Loop, opset 17): want at most 1048576 nodes"));
}

TEST(Malformed, HugeResultsAreNotMade) {
  const auto dims = [](const std::vector<int64_t>& values) {
    return build::initializer(
        build::tensor("d", build::kI64, {int64_t(values.size())}, build::raw(values)));
  };
  const int64_t huge = int64_t(1) << 40;
  EXPECT_THAT(error(kY + dims({huge, huge}) + build::node("ConstantOfShape", {"d"}, {"y"})),
              HasSubstr("elements"));
  EXPECT_THAT(error(kY + dims({-5}) + build::node("ConstantOfShape", {"d"}, {"y"})),
              HasSubstr("n_y"));
  const std::string scalars =
      build::initializer(build::tensor("zero", build::kI64, {}, build::raw<int64_t>({0}))) +
      build::initializer(build::tensor("one", build::kI64, {}, build::raw<int64_t>({1}))) +
      build::initializer(build::tensor("end", build::kI64, {}, build::raw<int64_t>({huge})));
  EXPECT_THAT(error(kY + scalars + build::node("Range", {"zero", "end", "one"}, {"y"})),
              HasSubstr("10^9"));
  EXPECT_THAT(error(kX + kY + dims({huge, huge}) + build::node("Tile", {"x", "d"}, {"y"})),
              HasSubstr("elements"));
  EXPECT_THAT(error(kX + kY + dims({-3, 5}) + build::node("Reshape", {"x", "d"}, {"y"})),
              HasSubstr("extents of 0 or more"));
}

class ExternalFiles : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / "ferrule_external";
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "model");
    std::ofstream(folder_ / "secret.bin", std::ios::binary) << std::string(64, 's');
    std::ofstream(folder_ / "model" / "w.bin", std::ios::binary) << std::string(64, 'w');
    fs::create_symlink(folder_ / "secret.bin", folder_ / "model" / "link.bin");
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string load(const std::string& location, const std::string& offset,
                   const std::string& length) {
    const auto entry = [](const std::string& key, const std::string& value) {
      return build::bytes(13, build::bytes(1, key) + build::bytes(2, value));
    };
    const std::string tensor = build::number(1, 3) + build::number(1, 5) + build::number(2, 1) +
                               build::bytes(8, "w") + entry("location", location) +
                               entry("offset", offset) + entry("length", length) +
                               build::number(14, 1);
    const std::string path = (folder_ / "model" / "model.onnx").string();
    std::ofstream(path, std::ios::binary)
        << build::model(build::input("x", 1, {2, 3}) + kY + build::initializer(tensor) +
                        build::node("MatMul", {"x", "w"}, {"y"}));
    return load_and_import(path).message();
  }

  fs::path folder_;
};

TEST_F(ExternalFiles, InsideTheFolderAndTheFile) {
  EXPECT_EQ(load("w.bin", "4", "60"), "");
  EXPECT_EQ(load("./w.bin", "0", "60"), "");
  EXPECT_THAT(load("w.bin", "8", "60"), HasSubstr("want 60 bytes at 8, got a file of 64"));
  EXPECT_THAT(load("w.bin", "0", "64"), HasSubstr("external length: want 60 bytes, got 64"));
  EXPECT_THAT(load("w.bin", "-1", "60"), HasSubstr("external offset"));
  EXPECT_THAT(load("w.bin", "9223372036854775807", "60"), HasSubstr("got a file of 64"));
  EXPECT_THAT(load("none.bin", "0", "60"), HasSubstr("No such file"));
}

TEST_F(ExternalFiles, NothingOutsideTheFolder) {
  EXPECT_THAT(load("../secret.bin", "0", "60"), HasSubstr("'..'"));
  EXPECT_THAT(load((folder_ / "secret.bin").string(), "0", "60"), HasSubstr("an absolute path"));
  EXPECT_THAT(load("link.bin", "0", "60"), HasSubstr("a link that leads out"));
  EXPECT_THAT(load(".", "0", "60"), HasSubstr("want"));
}

}  // namespace
}  // namespace ferrule
