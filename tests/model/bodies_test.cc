// Control nodes that their bodies contradict.
#include "tests/model/contradiction.h"

namespace ferrule::contradiction {
namespace {

TEST(Contradictions, BranchesOfAnIf) {
  const std::string longs_of_x = node("Cast", {"x"}, {"b"}, i("to", kI64)) + output("b"),
                    two = kBranch + output("x");
  const Contradiction rows[] = {
      {kXY + kTrue + if_node(kBranch, kBranch), ""},
      {kXY + kAsks + if_node(kBranch, kBranch), ""},
      {kXY + kAsks + if_node(kBranch, longs_of_x),
       "node 'n_y' (If, opset 17): want branches that give one type as result 0, got f32[2,3] and "
       "i64[2,3]"},
      {kXY + kAsks + if_node(kBranch, two),
       "attribute 'else_branch': want a body of 0 inputs and 1 outputs, got 0 and 2"},
      {kXY + kTrue + if_node(two, two),
       "attribute 'then_branch': want a body of 0 inputs and 1 outputs, got 0 and 2"},
      {kXY + kTrue + if_node(build::input("v", kF32, {}) + kBranch, kBranch),
       "attribute 'then_branch': want a body of 0 inputs and 1 outputs, got 1 and 1"},
      {kXY + kTrue + if_node(node("Neg", {"x"}, {"b"}) + typed(12, "b", kF32, {3, 3}), kBranch),
       ""},
      {kXY + kTrue + if_node(node("Neg", {"x"}, {"b"}) + typed(12, "b", kI64, {2, 3}), kBranch),
       "body output 'b': want i64[2,3] as declared, got f32[2,3]"},
      {kXY + longs("c", {1}) + if_node(kBranch, kBranch), "want one bool as condition"},
  };
  expect(rows);
}

std::string loop_node(const std::string& body, const std::vector<std::string>& in = {"m", "", "x"},
                      const std::vector<std::string>& out = {"y"}) {
  return node("Loop", in, out, graph_attribute("body", body));
}
const std::string kTrip = build::input("i", kI64, {}) + build::input("go", kBool, {}),
                  kGo = node("Identity", {"go"}, {"go2"}) + output("go2"),
                  kCarried = build::input("v", kF32, {-1, -1}),
                  kStep = node("Neg", {"v"}, {"v2"}) + output("v2");

TEST(Contradictions, BodiesOfALoop) {
  const std::string twice = kXY + longs("m", {2}),
                    cast = node("Cast", {"v"}, {"v2"}, i("to", kI64)) + output("v2"),
                    plain = kTrip + kCarried + kGo + kStep;
  constexpr const char* kChanges =
      "carried value 0: want the type that it has before, f32[2,3], got i64[2,3]";
  const Contradiction rows[] = {
      {twice + loop_node(plain), ""},
      {twice + loop_node(kTrip + kCarried + kGo + cast), kChanges},
      {twice + loop_node(kTrip + kCarried + kGo + node("SequenceConstruct", {"v"}, {"v2"}) +
                         output("v2")),
       "want the type that it has before, f32[2,3], got a sequence"},
      {twice + node("SequenceConstruct", {"x"}, {"s"}) +
           loop_node(kTrip + build::bytes(11, build::bytes(1, "v")) + kGo +
                         node("SequenceAt", {"v", "i"}, {"v2"}) + output("v2"),
                     {"m", "", "s"}),
       "want the type that it has before, a sequence, got f32[2,3]"},
      {twice + loop_node(kTrip + kGo + kStep),
       "attribute 'body': want a body of 3 inputs and 2 outputs, got 2 and 2"},
      {twice + loop_node(plain + output("v")),
       "attribute 'body': want a body of 3 inputs and 2 outputs, got 3 and 3"},
      {twice + loop_node(plain + output("v"), {"m", "", "x", "x"}, {"y", "z"}),
       "attribute 'body': want a body of 4 inputs and 3 outputs, got 3 and 3"},
      {twice + loop_node(kTrip + kCarried + build::input("w", kF32, {2, 3}) + kGo + kStep,
                         {"m", "", "x", "x"}),
       "want a result for each carried value"},
      {twice + loop_node(kTrip + build::input("v", kI64, {2, 3}) + kGo + kStep),
       "body input 'v': want i64[2,3] as declared, got f32[2,3]"},
      {twice + loop_node(kTrip + build::input("v", kF32, {2, 4}) + kGo + kStep), ""},
      {twice + loop_node(kTrip + kCarried + output("i") + kStep),
       "condition of the body: want one bool, got i64[]"},
      {twice + loop_node(kTrip + kCarried + node("Equal", {"v", "v"}, {"e"}) + output("e") + kStep),
       "condition of the body: want one bool, got bool[2,3]"},
      {kXY + floats("m", {}, {2}) + loop_node(plain), "want one i64 as trip count"},
      {twice + loop_node(plain, {"m", "m", "x"}), "want one i64 as trip count and one bool"},
  };
  expect(rows);
}

TEST(Contradictions, BodiesAndListsOfAScan) {
  const std::string states = kX + build::input("s0", kF32, {2}) + output("o"),
                    slices = build::input("s", kF32, {-1}) + build::input("c", kF32, {-1}),
                    sum = node("Add", {"s", "c"}, {"s2"}),
                    body = slices + sum + output("s2") + output("c");
  const auto row = [&](const std::string& attributes, const char* sentence,
                       const std::string& of = "", int64_t n_inputs = 1) {
    return Contradiction{states + node("Scan", {"s0", "x"}, {"last", "o"},
                                       i("num_scan_inputs", n_inputs) + attributes +
                                           graph_attribute("body", of.empty() ? body : of)),
                         sentence};
  };
  const std::string columns = ints("scan_input_axes", {1});
  const Contradiction rows[] = {
      row(columns, ""),
      row(columns + ints("scan_output_axes", {-1}) + ints("scan_input_directions", {1}), ""),
      row(ints("scan_input_axes", {1, 1}), "attribute 'scan_input_axes': want 1 numbers, got 2"),
      row(ints("scan_input_axes", {2}), "axis: want -2 .. 1, got 2"),
      row(columns + ints("scan_input_directions", {2}),
          "attribute 'scan_input_directions': want 0 or 1, got 2"),
      row(columns + ints("scan_input_directions", {0, 1}),
          "attribute 'scan_input_directions': want 1 numbers, got 2"),
      row(columns + ints("scan_output_directions", {0, 0}),
          "attribute 'scan_output_directions': want 1 numbers, got 2"),
      row(columns + ints("scan_output_directions", {-1}),
          "attribute 'scan_output_directions': want 0 or 1, got -1"),
      row(columns + ints("scan_output_axes", {0, 0}),
          "attribute 'scan_output_axes': want 1 numbers, got 2"),
      row(columns + ints("scan_output_axes", {2}), "axis: want -2 .. 1, got 2"),
      row(columns, "want a body of 2 inputs and 2 outputs, got 2 and 1",
          slices + sum + output("s2")),
      row(columns, "want a body of 2 inputs and 2 outputs, got 1 and 2",
          build::input("s", kF32, {-1}) + output("s") + output("s")),
      row(columns, "scan",
          slices + node("Cast", {"s"}, {"s2"}, i("to", kI64)) + output("s2") + output("c")),
      row(columns, "num_scan_inputs: want 1 to 2, and a result for each other input, got 0", "", 0),
      row(columns, "num_scan_inputs: want 1 to 2, and a result for each other input, got 3", "", 3),
      row(columns, "num_scan_inputs: want 1 to 2, and a result for each other input, got", "",
          INT64_MIN),
      {states + node("Scan", {"", "s0", "x"}, {"last", "o"},
                     i("num_scan_inputs", 2) + graph_attribute("body", body)),
       "scan: want an axis", 8},
  };
  expect(rows);
}

TEST(Contradictions, SequencesOfAMap) {
  const std::string two = kXY + node("SequenceConstruct", {"x", "x"}, {"s"}) +
                          node("SequenceConstruct", {"x"}, {"t"}),
                    body = build::input("a", kF32, {2, 3}) + build::input("b", kF32, {2, 3}) +
                           node("Add", {"a", "b"}, {"c"}) + output("c"),
                    join = node("ConcatFromSequence", {"m"}, {"y"}, i("axis", 0));
  const auto map = [&](const std::vector<std::string>& in) {
    return two + node("SequenceMap", in, {"m"}, graph_attribute("body", body)) + join;
  };
  const Contradiction rows[] = {
      {map({"s", "s"}), ""},
      {map({"t", "s"}), "want sequences of one length"},
      {map({"s", "t"}), "want sequences of one length"},
      {map({"s"}), "attribute 'body': want a body of 1 inputs and 1 outputs, got 2 and 1"},
  };
  expect(rows);
}

}  // namespace
}  // namespace ferrule::contradiction
