// The ONNX node cases (Debian package libonnx-testdata), through the importer and the reference
// evaluation. Those that do not pass stand in node_cases.txt, each with its reason.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/model/cases.h"

namespace ferrule {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNodeCases = "/usr/share/libonnx-testdata/data/node";
constexpr double kRtol = 1e-3, kAtol = 1e-5;

std::string file(const fs::path& set, const char* kind, size_t i) {
  return (set / cat(kind, "_", i, ".pb")).string();
}

Status run_set(const Model& model, const fs::path& set) {
  std::map<std::string, Tensor> inputs;
  for (size_t i = 0; i < model.inputs().size() && fs::exists(file(set, "input", i)); ++i) {
    FRL_LET(inputs[model.inputs()[i].name], load_tensor(file(set, "input", i)).within("input"));
  }
  FRL_LET(const auto outputs, run_reference(model, inputs));
  for (size_t i = 0; i < outputs.size(); ++i) {
    FRL_LET(const Tensor want, load_tensor(file(set, "output", i)));
    const std::string apart = difference(outputs[i], want, kRtol, kAtol);
    if (!apart.empty()) return Status(Code::internal, cat("output ", i, ": ", apart));
  }
  return {};
}

Status run_case(const fs::path& folder) {
  FRL_LET(const Model model, Model::load((folder / "model.onnx").string()));
  for (size_t set = 0; fs::exists(folder / cat("test_data_set_", set)); ++set)
    FRL_TRY(run_set(model, folder / cat("test_data_set_", set)));
  return {};
}

std::map<std::string, std::string> listed_cases() {
  std::map<std::string, std::string> out;
  std::ifstream file(cat(FRL_TEST_DATA, "/model/node_cases.txt"));
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const size_t space = line.find(' ');
    out[line.substr(0, space)] = space == std::string::npos ? "" : line.substr(space + 1);
  }
  return out;
}

TEST(NodeCases, AllButTheListedPass) {
  ASSERT_TRUE(fs::is_directory(kNodeCases)) << "install libonnx-testdata";
  auto listed = listed_cases();
  size_t n_cases = 0, n_passed = 0;
  std::map<std::string, Status> results;
  for (const auto& entry : fs::directory_iterator(kNodeCases))
    results[entry.path().filename().string()] = run_case(entry.path());
  for (const auto& [name, status] : results) {
    ++n_cases, n_passed += status.ok();
    const auto found = listed.find(name);
    if (found == listed.end()) {
      EXPECT_TRUE(status.ok()) << name << " " << status.message();
      continue;
    }
    EXPECT_FALSE(status.ok()) << name << " passes, but is listed as: " << found->second;
    EXPECT_FALSE(found->second.empty()) << name << " is listed without a reason";
    listed.erase(found);
  }
  for (const auto& [name, reason] : listed)
    ADD_FAILURE() << name << " is listed, but there is no such case";
  EXPECT_EQ(n_cases, 932u);
  EXPECT_GE(n_passed, 830u);
  std::printf("%zu of %zu node cases pass\n", n_passed, n_cases);
}

}  // namespace
}  // namespace ferrule
