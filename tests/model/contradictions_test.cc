// Models that contradict themselves in names, declared types, numbers and lists.
#include <cmath>

#include "tests/model/contradiction.h"

namespace ferrule::contradiction {
namespace {

TEST(Contradictions, WhatAnOutputIsDeclaredAs) {
  const auto declared = [](int type, const std::vector<int64_t>& dims) {
    return kX + kRelu + typed(12, "y", type, dims);
  };
  const std::string no_shape = build::bytes(1, build::number(1, kF32));
  const Contradiction rows[] = {
      {declared(kF32, {2, 3}), ""},
      {declared(kF32, {-1, 3}), ""},
      {declared(kF32, {-1, -1}), ""},  // "n" twice: symbols match anything
      {kX + kRelu + build::bytes(12, build::bytes(1, "y") + build::bytes(2, no_shape)), ""},
      {declared(kI64, {2, 3}), "output 'y': want i64[2,3] as declared, got f32[2,3]"},
      {declared(8, {2, 3}), "output 'y': want string[2,3] as declared, got f32[2,3]"},
      {declared(kF32, {2, 4}), "output 'y': want f32[2,4] as declared, got f32[2,3]"},
      {declared(kF32, {-1, 3, 1}), "output 'y': want f32[n,3,1] as declared, got f32[2,3]"},
      {declared(kF32, {}), "output 'y': want f32[] as declared, got f32[2,3]"},
      {kX + typed(12, "x", kI64, {2, 3}), "output 'x': want i64[2,3] as declared"},
  };
  expect(rows);
}

TEST(Contradictions, WhatValuesInsideAreDeclaredAs) {
  const std::string chain = kXY + node("Neg", {"x"}, {"a"}) + node("Relu", {"a"}, {"y"});
  const std::string list = build::bytes(
      13, build::bytes(1, "s") +
              build::bytes(
                  2, build::bytes(4, build::bytes(1, build::bytes(1, build::number(1, kI64))))));
  const std::string sequence = kXY + node("SequenceConstruct", {"x"}, {"s"}) +
                               node("ConcatFromSequence", {"s"}, {"y"}, i("axis", 0));
  const Contradiction rows[] = {
      {chain + typed(13, "a", kF32, {-1, 3}), ""},
      {chain + typed(13, "a", kF32, {3, 2}), ""},  // left behind by a tool that changed the batch
      {chain + typed(13, "a", kI64, {2, 3}),
       "node 'n_a' (Neg, opset 17): result 'a': want i64[2,3] as declared, got f32[2,3]"},
      {sequence + typed(13, "s", kF32, {2, 3}), "want f32[2,3] as declared, got a sequence"},
      {sequence + list, "result 's': want sequence(tensor(i64)) as declared"},
  };
  expect(rows);
}

TEST(Contradictions, ExtentsBelowZero) {
  const auto dims = [](int64_t extent) {
    return build::bytes(2, build::bytes(1, build::number(1, uint64_t(extent))));
  };
  const auto result = [&](int64_t extent) {
    return build::bytes(
        12, build::bytes(1, "y") +
                build::bytes(2, build::bytes(1, build::number(1, kF32) + dims(extent))));
  };
  const std::string row = build::input("x", kF32, {3}) + kRelu;
  const Contradiction rows[] = {
      {row + result(3), ""},
      {row + result(-1), ""},  // as some exporters write an open extent
      {row + result(-2), "value 'y': want extents of 0 or more, got -2"},
      {build::input("x", kF32, {-5, 3}) + kY + kRelu,
       "value 'x': want extents of 0 or more, got -5"},
      {kX + kRelu + typed(12, "y", kF32, {2, -3}), "value 'y': want extents of 0 or more, got -3"},
      {kXY + kRelu + typed(13, "a", kF32, {-2}), "value 'a': want extents of 0 or more, got -2"},
      {kXY + kRelu + no_elements("unused", {3, -2}), "initializer 'unused': shape: want extents"},
  };
  expect(rows);
}

TEST(Contradictions, NamesHaveOneOrigin) {
  const std::string w = floats("w", {1}, {1});
  const auto function = [](const std::string& nodes) {
    return build::bytes(25, build::bytes(1, "F") + build::bytes(4, "a") + build::bytes(5, "b") +
                                nodes + build::bytes(9, build::number(2, 17)) +
                                build::bytes(10, "own"));
  };
  const std::string neg = node("Neg", {"a"}, {"b"}, "", "", 7),
                    call = kXY + node("F", {"x"}, {"y"}, "", "own");
  const Contradiction rows[] = {
      {kXY + kRelu + w + w, "value 'w': want one origin, got an initializer and an initializer"},
      {kXY + kX + kRelu, "value 'x': want one origin, got an input and an input"},
      {kXY + kRelu + kRelu, "value 'y': want one origin, got a node's result and a node's result"},
      {kXY + kRelu + node("Neg", {"x"}, {"a", "a"}), "value 'a': want one origin"},
      {kXY + w + node("Neg", {"x"}, {"w"}) + kRelu,
       "value 'w': want one origin, got an initializer and a node's result"},
      {kXY + kRelu + node("Neg", {"y"}, {"x"}),
       "value 'x': want one origin, got an input and a node's result"},
      {kXY + kRelu + floats("", {1}, {1}), "initializer: want a name, got an empty one"},
      {kXY + kTrue + if_node(kBranch, kBranch + floats("b", {1}, {1})),
       "node 'n_y' (If, opset 17): value 'b': want one origin, got an initializer and a node's"},
      {call, "", 17, function(neg)},
      {call, "function 'F': value 'b': want one origin, got a node's result", 17,
       function(neg + neg)},
      {call, "function 'F': value 'a': want one origin, got a function's input", 17,
       function(neg + node("Neg", {"b"}, {"a"}, "", "", 7))},
      {kXY + node("F", {"x"}, {"y"}, graph_attribute("g", kBranch + kBranch), "own"),
       "value 'b': want one origin, got a node's result and a node's result", 17, function(neg)},
      {call, "function 'F': want it once, got it twice", 17, function(neg) + function(neg)},
      {kXY + kRelu, "opset of 'ai.onnx': want one version, got 17 and 13", 17,
       build::bytes(8, build::bytes(1, "ai.onnx") + build::number(2, 13))},
      // One name may be asked for twice.
      {kXY + kY + kRelu, ""},
  };
  expect(rows);
}

TEST(Contradictions, DefaultsOfInputs) {
  const std::string add = kXY + node("Add", {"x", "w"}, {"y"}) + floats("w", {1}, {1});
  const Contradiction rows[] = {
      {add + build::input("w", kF32, {1}), ""},
      {add + build::input("w", kF32, {-1}), ""},
      {add + build::input("w", kI64, {1}),
       "initializer 'w': want i64[1] as its input is declared, got f32[1]"},
      {add + build::input("w", kF32, {3}),
       "initializer 'w': want f32[3] as its input is declared, got f32[1]"},
      {add + build::input("w", kF32, {1}) + floats("w", {1}, {1}), "value 'w': want one origin"},
  };
  expect(rows);
}

TEST(Contradictions, AttributesTwice) {
  const Contradiction rows[] = {
      {kXY + node("Concat", {"x", "x"}, {"y"}, i("axis", 0) + i("axis", 1)),
       "node 'n_y' (Concat, opset 17): attribute 'axis': want it once, got it twice"},
  };
  expect(rows);
}

TEST(Contradictions, NumbersOfInputsAndResults) {
  const std::string lists = longs("a", {0}) + longs("b", {1}) + longs("p", {0, 0, 0, 0});
  const auto row = [&](const char* op, std::vector<std::string> in, std::vector<std::string> out,
                       int64_t opset, const char* sentence, const std::string& attributes = "") {
    in.insert(in.begin(), "x");
    return Contradiction{kXY + lists + node(op, in, out, attributes), sentence, opset};
  };
  const Contradiction rows[] = {
      row("Relu", {"x"}, {"y"}, 17, "node 'n_y' (Relu, opset 17): inputs: want 1, got 2"),
      row("Clip", {"", ""}, {"y"}, 17, ""),
      row("Relu", {}, {"y", "z"}, 17, "outputs: want at most 1, got 2"),
      row("MaxPool", {}, {"y", ""}, 7, "outputs: want at most 1, got 2"),
      row("Add", {}, {"y"}, 17, "inputs: want 2, got 1"),
      row("Sum", {"x", "x", "x"}, {"y"}, 17, ""),
      row("Clip", {"x"}, {"y"}, 10, "(Clip, opset 10): inputs: want 1, got 2"),
      row("Clip", {"", "", "x"}, {"y"}, 11, "inputs: want 1..3, got 4"),
      row("Slice", {"a", "b"}, {"y"}, 9, "inputs: want 1, got 3"),
      row("Slice", {"a", "b"}, {"y"}, 10, ""),
      row("Slice", {"a"}, {"y"}, 13, "inputs: want 3..5, got 2"),
      row("Pad", {"p", "", "a"}, {"y"}, 17, "inputs: want 2..3, got 4"),
      row("Squeeze", {"a"}, {"y"}, 12, "inputs: want 1, got 2"),
      row("ReduceMax", {"a"}, {"y"}, 17, "inputs: want 1, got 2"),
      row("ReduceMax", {"a"}, {"y"}, 18, ""),
      row("Dropout", {}, {"y", "m", "z"}, 17, "outputs: want at most 2, got 3"),
      row("Split", {}, {"y", "z"}, 17, "", i("axis", 0)),
  };
  expect(rows);
}

TEST(Contradictions, AxesTwice) {
  const std::string lists = kXY + longs("a", {1, -1}) + longs("z", {0, 0}) + longs("o", {1, 1}) +
                            longs("p", {0, 0, 0, 0}) + longs("e", {9}) +
                            build::input("u", kF32, {2, 1});
  const auto row = [&](const char* op, const std::vector<std::string>& in, int64_t opset,
                       const char* sentence, const std::string& attributes = "") {
    return Contradiction{lists + node(op, in, {"y"}, attributes), sentence, opset};
  };
  constexpr const char* kTwice = "axes: want each axis once, got -1 twice";
  const Contradiction rows[] = {
      row("Slice", {"x", "z", "o", "a"}, 13, kTwice),
      row("Slice", {"x", "z", "o", "e"}, 13, "axis: want -2 .. 1, got 9"),
      row("Slice", {"x"}, 9, kTwice,
          ints("axes", {1, -1}) + ints("starts", {0, 0}) + ints("ends", {1, 1})),
      row("Squeeze", {"u", "a"}, 13, kTwice),
      row("Squeeze", {"u"}, 11, kTwice, ints("axes", {1, -1})),
      row("Unsqueeze", {"x", "z"}, 13, "axes: want each axis once, got 0 twice"),
      row("ReduceSum", {"x", "a"}, 13, kTwice),
      row("ReduceMax", {"x"}, 13, kTwice, ints("axes", {1, -1})),
      row("MeanVarianceNormalization", {"x"}, 13, kTwice, ints("axes", {1, -1})),
      row("Transpose", {"x"}, 13, kTwice, ints("perm", {1, -1})),
      row("Pad", {"x", "p", "", "a"}, 18, kTwice),
      row("CenterCropPad", {"x", "o"}, 18, kTwice, ints("axes", {1, -1})),
      row("Resize", {"x", "", "", "o"}, 18, kTwice, ints("axes", {1, -1})),
      row("ReduceSum", {"x"}, 11, "", ints("axes", {1, 0})),
      row("Slice", {"x", "z", "e"}, 13, "axes and steps of one length, got 2, 1, 2, 2"),
  };
  expect(rows);
}

TEST(Contradictions, ScalesAndSizes) {
  const float nan = std::nanf(""), inf = INFINITY;
  const auto scaled = [&](const std::vector<float>& scales, const char* sentence,
                          int64_t opset = 18) {
    return Contradiction{kXY + floats("s", {int64_t(scales.size())}, scales) +
                             (opset > 10 ? node("Resize", {"x", "", "s"}, {"y"})
                                         : node("Upsample", {"x", "s"}, {"y"})),
                         sentence, opset};
  };
  const auto sized = [&](const std::vector<int64_t>& sizes, const char* sentence) {
    return Contradiction{kXY + longs("s", sizes) + node("Resize", {"x", "", "", "s"}, {"y"}),
                         sentence, 18};
  };
  const std::string crop = build::text("coordinate_transformation_mode", "tf_crop_and_resize");
  const Contradiction rows[] = {
      scaled({1, 2}, ""),
      scaled({1, 0}, "scales: want finite ones above 0, got 0"),
      scaled({1, -2}, "scales: want finite ones above 0, got -2"),
      scaled({nan, 1}, "scales: want finite ones above 0, got nan"),
      scaled({1, inf}, "scales: want finite ones above 0, got inf"),
      scaled({1, 0}, "scales: want finite ones above 0, got 0", 9),
      sized({2, 6}, ""),
      sized({2, 0}, "sizes: want 1 or more, got 0"),
      sized({-2, 3}, "sizes: want 1 or more, got -2"),
      {kXY + floats("f", {2}, {1, 2}) + longs("s", {2, 6}) +
           node("Resize", {"x", "", "f", "s"}, {"y"}),
       "want scales or sizes, got both", 18},
      {kXY + floats("r", {4}, {0, 0, 1, nan}) + longs("s", {2, 6}) +
           node("Resize", {"x", "r", "", "s"}, {"y"}, crop),
       "roi: want finite numbers, got nan", 18},
  };
  expect(rows);
}

TEST(Contradictions, OperandsThatDoNotFit) {
  const std::string given =
      build::input("x", kF32, {2, 3}) + build::input("v", kF32, {4}) + build::input("q", 2, {3}) +
      build::input("m", 2, {2, 3}) + build::input("t", kI64, {1}) + build::input("u", kI64, {2}) +
      build::input("d", kF32, {1, 2, 3, 8}) + build::input("c", kF32, {1, 3, 2}) +
      floats("w", {3, 4}, std::vector<float>(12)) + floats("one", {1}, {1}) + longs("s", {1, 2}) +
      kY;
  const auto row = [&](const char* op, const std::vector<std::string>& in, int64_t opset,
                       const char* sentence, const std::string& attributes = "",
                       const std::vector<std::string>& out = {"y"}) {
    return Contradiction{given + node(op, in, out, attributes), sentence, opset};
  };
  const Contradiction rows[] = {
      row("LayerNormalization", {"v", "w"}, 17, "want factors that broadcast to the operand"),
      row("LayerNormalization", {"x", "one"}, 17, ""),
      row("RMSNormalization", {"v", "w"}, 23, "want a factor that broadcasts to the operand"),
      row("PRelu", {"v", "w"}, 17, "want a slope that broadcasts to the operand"),
      row("RotaryEmbedding", {"d", "c", "c"}, 23, "want angles [b, s, d / 2]",
          i("rotary_embedding_dim", 2)),
      row("RotaryEmbedding", {"d", "c", "c"}, 23, "", i("rotary_embedding_dim", 4)),
      row("MatMulInteger", {"m", "q"}, 17, ""),
      row("NegativeLogLikelihoodLoss", {"x", "t"}, 17, "want [n, c, ..], targets [n, ..]"),
      row("NegativeLogLikelihoodLoss", {"x", "u", "one"}, 17, "and a weight for each of c"),
      row("NegativeLogLikelihoodLoss", {"x", "u"}, 17, ""),
      row("MaxPool", {"d"}, 17, "attribute 'kernel_shape': want 2 numbers from 1",
          ints("kernel_shape", {})),
      row("Einsum", {"x"}, 17, "want attribute 'equation', got nothing"),
      row("Constant", {}, 17, "want one value, got 2", i("value_int", 2) + f("value_float", 1)),
      row("Split", {"x", "s"}, 18, "want split or num_outputs, got both",
          i("num_outputs", 2) + i("axis", 1), {"y", "z"}),
      row("Split", {"x"}, 18, "want split or num_outputs, got none", "", {"y", "z"}),
      row("Split", {"x", "s"}, 18, "", i("axis", 1), {"y", "z"}),
  };
  expect(rows);
}

}  // namespace
}  // namespace ferrule::contradiction
