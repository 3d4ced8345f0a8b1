// Ops and opset variants that the node cases do not have: each on numbers that can be checked by
// hand.
#include <gmock/gmock.h>

#include "tests/model/build.h"
#include "tests/model/cases.h"

namespace ferrule {
namespace {

using build::f;
using build::i;
using build::ints;
using build::kF32;
using build::kI64;
using build::node;
using build::output;
using build::text;
using testing::ElementsAre;
using testing::FloatNear;
using testing::Pointwise;

constexpr float kEnough = 1e-4f;

std::string floats(const std::string& name, const std::vector<int64_t>& dims,
                   const std::vector<float>& values) {
  return build::initializer(build::tensor(name, kF32, dims, build::raw(values)));
}
std::string longs(const std::string& name, const std::vector<int64_t>& values) {
  return build::initializer(
      build::tensor(name, kI64, {int64_t(values.size())}, build::raw(values)));
}
std::string bytes(const std::string& name, int type, const std::vector<int64_t>& dims,
                  const std::vector<int8_t>& values) {
  return build::initializer(build::tensor(name, type, dims, build::raw(values)));
}

// Output number `which` of a model whose inputs are all initialisers.
std::vector<float> run(int64_t opset, const std::string& graph, size_t which = 0) {
  auto model = build::parse(build::model(graph, opset));
  EXPECT_TRUE(model.ok()) << model.status().message();
  if (!model.ok()) return {};
  auto outputs = run_reference(*model, {});
  EXPECT_TRUE(outputs.ok()) << outputs.status().message();
  std::vector<float> out;
  for (int64_t k = 0; outputs.ok() && k < (*outputs)[which].n_elements(); ++k)
    out.push_back(float((*outputs)[which].at_f64(k)));
  return out;
}

#define EXPECT_GIVES(got, ...) \
  EXPECT_THAT(got, Pointwise(FloatNear(kEnough), std::vector<float>(__VA_ARGS__)))

TEST(Ops, GroupNormalizationScalesGroupsThenChannels) {
  const std::string x = output("y") + floats("x", {1, 4, 1, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  const std::string op =
      node("GroupNormalization", {"x", "s", "b"}, {"y"}, i("num_groups", 2) + f("epsilon", 0));
  EXPECT_GIVES(
      run(18, x + op + floats("s", {2}, {1, 10}) + floats("b", {2}, {0, 1})),
      {-1.34164f, -0.44721f, 0.44721f, 1.34164f, -12.41641f, -3.47214f, 5.47214f, 14.41641f});
  EXPECT_GIVES(
      run(21, x + op + floats("s", {4}, {1, 2, 3, 4}) + floats("b", {4}, {0, 0, 0, 1})),
      {-1.34164f, -0.44721f, 0.89443f, 2.68328f, -4.02492f, -1.34164f, 2.78885f, 6.36656f});
}

TEST(Ops, RmsNormalization) {
  EXPECT_GIVES(run(23, output("y") + floats("x", {1, 2}, {3, 4}) + floats("s", {2}, {1, 2}) +
                           node("RMSNormalization", {"x", "s"}, {"y"}, f("epsilon", 0))),
               {0.848528f, 2.262742f});
}

TEST(Ops, LayerNormalizationGivesItsMoments) {
  const std::string graph =
      output("m") + output("d") + floats("x", {1, 2}, {1, 3}) + floats("s", {2}, {1, 1}) +
      node("LayerNormalization", {"x", "s"}, {"y", "m", "d"}, f("epsilon", 0));
  EXPECT_GIVES(run(17, graph, 0), {2});
  EXPECT_GIVES(run(17, graph, 1), {1});
}

// Queries of zeros look at all keys that they see alike.
const std::string kZeros = output("y") + floats("q", {1, 1, 2, 2}, {0, 0, 0, 0}) +
                           floats("k", {1, 1, 2, 2}, {1, 2, 3, 4}) +
                           floats("v", {1, 1, 2, 2}, {1, 2, 5, 10});

TEST(Ops, LayerNormalizationWithFactorsThatBroadcast) {
  const std::string graph = output("y") + floats("x", {2, 3}, {1, 2, 3, 4, 5, 9}) +
                            node("LayerNormalization", {"x", "s", "b"}, {"y"}, f("epsilon", 0)) +
                            floats("b", {1}, {1});
  EXPECT_GIVES(run(17, graph + floats("s", {1}, {2})),
               {-1.44949f, 1, 3.44949f, -0.85164f, 0.07418f, 3.77746f});
  EXPECT_GIVES(run(17, graph + floats("s", {2, 1}, {2, 0})), {-1.44949f, 1, 3.44949f, 1, 1, 1});
}

TEST(Ops, SumsOf16BitFloatsHaveTheRangeOfF32) {
  const auto halves = [](const std::string& name, const std::vector<uint16_t>& bits) {
    return build::initializer(build::tensor(name, 10, {1, int64_t(bits.size())}, build::raw(bits)));
  };
  const std::string x = output("y") + halves("x", {0x7b53, 0x7b53});  // 60000
  EXPECT_GIVES(run(13, x + node("ReduceMean", {"x"}, {"y"}, ints("axes", {1}))), {60000});
  EXPECT_GIVES(run(13, x + node("Mean", {"x", "x"}, {"y"})), {60000, 60000});
  const std::string small = output("y") + halves("x", {0x5cb0, 0xdcb0});  // 300
  EXPECT_GIVES(run(13, small + node("MeanVarianceNormalization", {"x"}, {"y"}, ints("axes", {1}))),
               {1, -1});
  EXPECT_GIVES(run(13, small + node("ReduceSum", {"x"}, {"y"})), {0});
}

TEST(Ops, RangeCountsWholeNumbersExactly) {
  const auto one = [](const std::string& name, int64_t v) {
    return build::initializer(build::tensor(name, kI64, {}, build::raw(std::vector<int64_t>{v})));
  };
  const std::string op = output("y") + node("Range", {"a", "b", "c"}, {"y"});
  const int64_t big = int64_t(1) << 53;
  EXPECT_EQ(run(13, op + one("a", big) + one("b", big + 1) + one("c", 1)).size(), 1u);
  EXPECT_EQ(run(13, op + one("a", big) + one("b", big + 3) + one("c", 1)).size(), 3u);
  EXPECT_EQ(run(13, op + one("a", 5) + one("b", 0) + one("c", -2)).size(), 3u);
  EXPECT_EQ(run(13, op + one("a", 5) + one("b", 0) + one("c", 2)).size(), 0u);
}

TEST(Ops, WholeExponentsAreNotRounded) {
  const std::string op = output("y") + node("Pow", {"x", "p"}, {"y"});
  EXPECT_GIVES(run(15, op + floats("x", {1}, {-1}) + longs("p", {16777217})), {-1});
  EXPECT_GIVES(run(15, op + floats("x", {2}, {-2, 3}) + longs("p", {3})), {-8, 27});
}

TEST(Ops, AttentionMasks) {
  EXPECT_GIVES(run(23, kZeros + node("Attention", {"q", "k", "v"}, {"y"})), {3, 6, 3, 6});
  EXPECT_GIVES(run(23, kZeros + node("Attention", {"q", "k", "v"}, {"y"}, i("is_causal", 1))),
               {1, 2, 3, 6});
  EXPECT_GIVES(run(23, kZeros + floats("m", {2, 2}, {0, -1e9f, -1e9f, 0}) +
                           node("Attention", {"q", "k", "v", "m"}, {"y"})),
               {1, 2, 5, 10});
  EXPECT_GIVES(run(23, kZeros + bytes("m", build::kBool, {2, 2}, {0, 1, 1, 1}) +
                           node("Attention", {"q", "k", "v", "m"}, {"y"})),
               {5, 10, 3, 6});
  EXPECT_GIVES(run(23, kZeros + bytes("m", build::kBool, {2, 2}, {1, 1, 0, 1}) +
                           node("Attention", {"q", "k", "v", "m"}, {"y"}, i("is_causal", 1))),
               {1, 2, 5, 10});
  // Capped scores of zero are zero.
  EXPECT_GIVES(run(23, kZeros + node("Attention", {"q", "k", "v"}, {"y"}, f("softcap", 2))),
               {3, 6, 3, 6});
}

TEST(Ops, AttentionWithSharedKeysAndAPast) {
  const std::string flat = output("y") + output("pk") + floats("q", {1, 1, 4}, {0, 0, 0, 0}) +
                           floats("k", {1, 1, 2}, {1, 2}) + floats("v", {1, 1, 2}, {4, 8}) +
                           floats("past_k", {1, 1, 1, 2}, {7, 7}) +
                           floats("past_v", {1, 1, 1, 2}, {2, 2});
  const std::string op =
      node("Attention", {"q", "k", "v", "", "past_k", "past_v"}, {"y", "pk", "pv"},
           i("q_num_heads", 2) + i("kv_num_heads", 1) + i("is_causal", 1));
  EXPECT_GIVES(run(23, flat + op), {3, 5, 3, 5});
  EXPECT_GIVES(run(23, flat + op, 1), {7, 7, 1, 2});
}

// A quarter turn.
TEST(Ops, RotaryEmbedding) {
  const std::string x = output("y") + floats("x", {1, 1, 1, 4}, {1, 2, 3, 4}) +
                        floats("c", {1, 1, 2}, {0, 0}) + floats("s", {1, 1, 2}, {1, 1});
  EXPECT_GIVES(run(23, x + node("RotaryEmbedding", {"x", "c", "s"}, {"y"})), {-3, -4, 1, 2});
  EXPECT_GIVES(run(23, x + node("RotaryEmbedding", {"x", "c", "s"}, {"y"}, i("interleaved", 1))),
               {-2, 1, -4, 3});
  const std::string part =
      output("y") + floats("x", {1, 1, 4}, {1, 2, 3, 4}) + floats("c", {2, 1}, {1, 0}) +
      floats("s", {2, 1}, {0, 1}) +
      build::initializer(build::tensor("p", kI64, {1, 1}, build::raw<int64_t>({1})));
  EXPECT_GIVES(run(23, part + node("RotaryEmbedding", {"x", "c", "s", "p"}, {"y"},
                                   i("num_heads", 1) + i("rotary_embedding_dim", 2))),
               {-2, 1, 3, 4});
}

TEST(Ops, Col2ImSumsOverlaps) {
  EXPECT_GIVES(
      run(18, output("y") + floats("x", {1, 2, 2}, {1, 2, 10, 20}) + longs("image", {1, 3}) +
                  longs("block", {1, 2}) + node("Col2Im", {"x", "image", "block"}, {"y"})),
      {1, 12, 20});
}

TEST(Ops, AffineGridOfTheIdentity) {
  const std::string x =
      output("y") + floats("t", {1, 2, 3}, {1, 0, 0, 0, 1, 0}) + longs("s", {1, 1, 2, 2});
  EXPECT_GIVES(run(20, x + node("AffineGrid", {"t", "s"}, {"y"}, i("align_corners", 1))),
               {-1, -1, 1, -1, -1, 1, 1, 1});
  EXPECT_GIVES(run(20, x + node("AffineGrid", {"t", "s"}, {"y"})),
               {-0.5f, -0.5f, 0.5f, -0.5f, -0.5f, 0.5f, 0.5f, 0.5f});
}

TEST(Ops, CenterCropPad) {
  const auto to = [](int64_t extent) {
    return run(18, output("y") + floats("x", {3}, {1, 2, 3}) + longs("s", {extent}) +
                       node("CenterCropPad", {"x", "s"}, {"y"}));
  };
  EXPECT_THAT(to(1), ElementsAre(2));
  EXPECT_THAT(to(2), ElementsAre(1, 2));
  EXPECT_THAT(to(4), ElementsAre(1, 2, 3, 0));
  EXPECT_THAT(to(5), ElementsAre(0, 1, 2, 3, 0));
}

TEST(Ops, BlockedScales) {
  EXPECT_GIVES(
      run(21, output("y") + bytes("x", 3, {1, 5}, {1, 2, 3, 4, 5}) +
                  floats("s", {1, 3}, {1, 10, 100}) +
                  node("DequantizeLinear", {"x", "s"}, {"y"}, i("axis", 1) + i("block_size", 2))),
      {1, 2, 30, 40, 500});
  EXPECT_GIVES(
      run(21,
          output("y") + floats("x", {1, 4}, {2, -3, 40, 900}) + floats("s", {1, 2}, {2, 10}) +
              node("QuantizeLinear", {"x", "s"}, {"y"}, i("block_size", 2) + i("output_dtype", 3))),
      {1, -2, 4, 90});
}

TEST(Ops, ResizeKeepsTheAspectRatio) {
  const std::string x = output("y") + floats("x", {1, 1, 1, 2}, {1, 2}) + longs("s", {3, 4});
  const auto with = [&](const char* policy) {
    return run(18, x + node("Resize", {"x", "", "", "s"}, {"y"},
                            ints("axes", {2, 3}) + text("keep_aspect_ratio_policy", policy)));
  };
  EXPECT_THAT(with("not_larger"), ElementsAre(1, 1, 2, 2, 1, 1, 2, 2));
  EXPECT_EQ(with("not_smaller").size(), 18u);
  EXPECT_EQ(with("stretch").size(), 12u);
}

TEST(Ops, Upsampling) {
  EXPECT_THAT(run(7, output("y") + floats("x", {1, 1, 1, 2}, {1, 2}) +
                         node("Upsample", {"x"}, {"y"},
                              build::attribute(build::bytes(1, "scales") + build::real(7, 1) +
                                               build::real(7, 1) + build::real(7, 1) +
                                               build::real(7, 2) + build::number(20, 6)))),
              ElementsAre(1, 1, 2, 2));
  EXPECT_THAT(run(10, output("y") + floats("x", {1, 2}, {1, 2}) + floats("s", {2}, {1, 2}) +
                          node("Resize", {"x", "s"}, {"y"})),
              ElementsAre(1, 1, 2, 2));
}

TEST(Ops, Activations) {
  const std::string one = output("y") + floats("x", {1}, {1});
  EXPECT_GIVES(run(20, one + node("Gelu", {"x"}, {"y"})), {0.841345f});
  EXPECT_GIVES(run(20, one + node("Gelu", {"x"}, {"y"}, text("approximate", "tanh"))), {0.841192f});
  EXPECT_GIVES(run(18, one + node("Mish", {"x"}, {"y"})), {0.865098f});
}

TEST(Ops, LpPool) {
  const std::string x = output("y") + floats("x", {1, 1, 3}, {1, -2, 3});
  EXPECT_GIVES(run(18, x + node("LpPool", {"x"}, {"y"}, ints("kernel_shape", {2}) + i("p", 1))),
               {3, 5});
  EXPECT_GIVES(run(18, x + node("LpPool", {"x"}, {"y"}, ints("kernel_shape", {2}))),
               {2.236068f, 3.605551f});
}

TEST(Ops, FourierAlongTheInputAxis) {
  const std::string x = output("y") + floats("x", {1, 2, 1}, {1, 3});
  EXPECT_GIVES(run(20, x + node("DFT", {"x"}, {"y"})), {4, 0, -2, 0});
  EXPECT_GIVES(run(17, x + node("DFT", {"x"}, {"y"}, i("axis", 1))), {4, 0, -2, 0});
}

TEST(Ops, AttributesThatBecameInputs) {
  const std::string x = output("y") + floats("x", {2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(run(18, x + longs("a", {1}) + node("ReduceMax", {"x", "a"}, {"y"})),
              ElementsAre(3, 6));
  EXPECT_THAT(run(13, x + node("ReduceMax", {"x"}, {"y"}, ints("axes", {1}))), ElementsAre(3, 6));
  EXPECT_THAT(run(9, x + node("Slice", {"x"}, {"y"},
                              ints("starts", {-2}) + ints("ends", {9}) + ints("axes", {1}))),
              ElementsAre(2, 3, 5, 6));
  EXPECT_THAT(run(1, x + node("Reshape", {"x"}, {"y"}, ints("shape", {-1}))),
              ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(run(6, x + node("Clip", {"x"}, {"y"}, f("min", 2) + f("max", 5))),
              ElementsAre(2, 2, 3, 4, 5, 5));
  EXPECT_THAT(run(9, x + node("TopK", {"x"}, {"y", "p"}, i("k", 1))), ElementsAre(3, 6));
}

TEST(Ops, BroadcastBeforeOpsetSeven) {
  const std::string x =
      output("y") + floats("x", {2, 3}, {1, 2, 3, 4, 5, 6}) + floats("b", {2}, {10, 20});
  EXPECT_THAT(run(6, x + node("Add", {"x", "b"}, {"y"}, i("broadcast", 1) + i("axis", 0))),
              ElementsAre(11, 12, 13, 24, 25, 26));
}

TEST(Ops, PadsOfSomeAxes) {
  const std::string x = output("y") + floats("x", {2, 2}, {1, 2, 3, 4});
  EXPECT_THAT(
      run(18, x + longs("p", {1, 0}) + longs("a", {-1}) + node("Pad", {"x", "p", "", "a"}, {"y"})),
      ElementsAre(0, 1, 2, 0, 3, 4));
  EXPECT_THAT(run(18, x + longs("p", {0, 1, 1, 0}) + longs("a", {1, 0}) +
                          node("Pad", {"x", "p", "", "a"}, {"y"})),
              ElementsAre(0, 0, 0, 1, 2, 0, 3, 4, 0));
  EXPECT_THAT(
      run(19, x + longs("p", {0, 1, 0, 1}) + node("Pad", {"x", "p"}, {"y"}, text("mode", "wrap"))),
      ElementsAre(2, 1, 2, 1, 4, 3, 4, 3));
}

TEST(Ops, SplitIntoAlmostEqualParts) {
  EXPECT_THAT(run(18, output("c") + output("a") + floats("x", {7}, {1, 2, 3, 4, 5, 6, 7}) +
                          node("Split", {"x"}, {"a", "b", "c"}, i("num_outputs", 3))),
              ElementsAre(7));
}

TEST(Ops, EinsumOfSeveral) {
  const std::string x = output("y") + floats("a", {2, 2}, {1, 2, 3, 4}) +
                        floats("b", {2, 2}, {0, 1, 1, 0}) + floats("c", {2}, {1, 10});
  const auto with = [&](const char* equation, const std::vector<std::string>& in) {
    return run(12, x + node("Einsum", in, {"y"}, text("equation", equation)));
  };
  EXPECT_THAT(with("ij,jk,k->i", {"a", "b", "c"}), ElementsAre(12, 34));
  EXPECT_THAT(with("...ij->...ji", {"a"}), ElementsAre(1, 3, 2, 4));
  EXPECT_THAT(with("ii->i", {"a"}), ElementsAre(1, 4));
  EXPECT_THAT(with("ii", {"a"}), ElementsAre(5));
  EXPECT_THAT(with("ij,ij->", {"a", "b"}), ElementsAre(5));
  EXPECT_THAT(with("i,j->ij", {"c", "c"}), ElementsAre(1, 10, 10, 100));
  EXPECT_THAT(with("b a, b c", {"a", "b"}), ElementsAre(3, 1, 4, 2));
}

TEST(Ops, SoftmaxOverAllTrailingAxes) {
  EXPECT_GIVES(
      run(11, output("y") + floats("x", {1, 2, 2}, {0, 0, 0, 0}) + node("Softmax", {"x"}, {"y"})),
      {0.25f, 0.25f, 0.25f, 0.25f});
}

}  // namespace
}  // namespace ferrule
