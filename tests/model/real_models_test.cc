// The trained networks of tests/models/real: import, structure, and results in the reference where
// that takes seconds.
#include <gtest/gtest.h>

#include "tests/model/cases.h"
#include "tests/model/manifest.h"

namespace ferrule {
namespace {

struct RealModel {
  const char* name;
  size_t most_nodes;  // of the graph, after import
  bool evaluated;
};

class RealModels : public testing::TestWithParam<RealModel> {};

std::string folder_of(const RealModel& model) {
  return cat(FRL_TEST_DATA, "/models/real/", model.name);
}

std::map<std::string, Tensor> inputs_of(const std::string& folder, const Manifest& manifest) {
  std::map<std::string, Tensor> out;
  for (const NamedFile& input : manifest.inputs) {
    auto tensor = read_npy(folder + "/" + input.file);
    EXPECT_TRUE(tensor.ok()) << tensor.status().message();
    if (tensor.ok()) out[input.name] = *tensor;
  }
  return out;
}

TEST_P(RealModels, Import) {
  const std::string folder = folder_of(GetParam());
  const Manifest manifest = read_manifest(folder);
  ASSERT_FALSE(manifest.inputs.empty());
  auto model = Model::load(folder + "/model.onnx");
  ASSERT_TRUE(model.ok()) << model.status().message();
  const auto inputs = inputs_of(folder, manifest);
  auto imported = import_for(*model, inputs);
  ASSERT_TRUE(imported.ok()) << imported.status().message();
  const Graph& graph = imported->graph;
  const Status status = verify(graph);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_GT(graph.n_nodes(), 0u);
  EXPECT_LE(graph.n_nodes(), GetParam().most_nodes);
  ASSERT_EQ(graph.outputs().size(), manifest.outputs.size());
  for (size_t i = 0; i < manifest.outputs.size(); ++i)
    EXPECT_EQ(graph.outputs()[i].name, manifest.outputs[i].name);
  for (const Node& node : graph.nodes()) EXPECT_FALSE(node.sources.empty()) << op_row(node.op).name;
}

TEST_P(RealModels, Evaluate) {
  if (!GetParam().evaluated) return;
  const std::string folder = folder_of(GetParam());
  const Manifest manifest = read_manifest(folder);
  auto model = Model::load(folder + "/model.onnx");
  ASSERT_TRUE(model.ok()) << model.status().message();
  auto outputs = run_reference(*model, inputs_of(folder, manifest));
  ASSERT_TRUE(outputs.ok()) << outputs.status().message();
  for (size_t i = 0; i < outputs->size(); ++i) {
    auto want = read_npy(folder + "/" + manifest.outputs[i].file);
    ASSERT_TRUE(want.ok()) << want.status().message();
    EXPECT_EQ(difference((*outputs)[i], *want, manifest.outputs[i].rtol, manifest.outputs[i].atol),
              "")
        << manifest.outputs[i].name;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Real, RealModels,
    testing::Values(RealModel{"basic_pitch", 400, true}, RealModel{"dtln_1", 80, true},
                    RealModel{"magika_fast_v2_1", 120, true}, RealModel{"mnist_cntk", 16, true},
                    RealModel{"ppocr_v2_cls", 500, true}, RealModel{"ppocr_v4_rec", 800, true},
                    RealModel{"silero_vad_16k", 150, true}, RealModel{"super_resolution", 16, true},
                    RealModel{"ultraface_slim_320", 400, true}),
    [](const auto& param) { return std::string(param.param.name); });

}  // namespace
}  // namespace ferrule
