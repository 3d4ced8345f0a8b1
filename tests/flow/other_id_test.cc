// The cpu plugin under a stranger's id: the core has no knowledge of the name it bears.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/graph/graph.h"
#include "core/session/session.h"

namespace ferrule {
namespace {

// A folder with one plugin: cpu.so, its id overwritten by another one of the same length, in the
// identity note and in the table.
std::string folder_of_a_stranger() {
  const std::string from = "org.ferrule.cpu", to = "com.example.fpu";
  std::ifstream in(FRL_BUILD_DIR "/plugins/cpu.so", std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  std::string bytes = text.str();
  int found = 0;
  for (size_t at = 0; (at = bytes.find(from, at)) != std::string::npos; ++found)
    bytes.replace(at, from.size(), to);
  EXPECT_GE(found, 2);
  const auto folder =
      std::filesystem::temp_directory_path() / ("ferrule_other_id_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "stranger.so", std::ios::binary) << bytes;
  return folder.string();
}

struct Ran {
  std::string id, graph;
  uint64_t arena_bytes = 0;
  std::vector<NamedTensor> outputs;
};

Result<Ran> run_in(const std::string& folder) {
  Config config;
  RuntimeOptions options;
  options.folders = {folder};
  FRL_LET(auto runtime, Runtime::open(config, options));
  FRL_LET(Model model, Model::load(FRL_TEST_DATA "/models/real/mnist_cntk/model.onnx"));
  FRL_LET(auto session, Session::open(runtime, std::move(model)));
  Tensor x({Type::f32, {1, 1, 28, 28}});
  for (int64_t i = 0; i < x.n_elements(); ++i) x.set_f64(i, double(i % 19) / 9 - 1);
  const NamedTensors inputs = {{"Input3", x}};
  Ran out;
  FRL_LET(const auto compiled, session->compile(inputs));
  for (const Verdict& verdict : runtime->verdicts())
    if (verdict.loaded()) out.id = verdict.id;
  out.graph = to_text(compiled->executable->graph());
  out.arena_bytes = compiled->executable->plan().planned_bytes();
  FRL_LET(out.outputs, session->run(inputs));
  return out;
}

TEST(OtherId, SamePlanAndSameBits) {
  const std::string folder = folder_of_a_stranger();
  const auto cpu = run_in(FRL_BUILD_DIR "/plugins"), stranger = run_in(folder);
  ASSERT_TRUE(cpu.ok()) << cpu.status().message();
  ASSERT_TRUE(stranger.ok()) << stranger.status().message();
  EXPECT_EQ(cpu->id, "org.ferrule.cpu");
  EXPECT_EQ(stranger->id, "com.example.fpu");
  EXPECT_EQ(cpu->graph, stranger->graph);
  EXPECT_EQ(cpu->arena_bytes, stranger->arena_bytes);
  ASSERT_EQ(cpu->outputs.size(), stranger->outputs.size());
  for (size_t i = 0; i < cpu->outputs.size(); ++i)
    EXPECT_TRUE(same_bits(cpu->outputs[i].tensor, stranger->outputs[i].tensor));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace ferrule
