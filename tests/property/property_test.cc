// A few hundred random graphs, and proof that a wrong pass or a wrong number would be found.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/text.h"
#include "tests/property/on_device.h"
#include "tests/property/property.h"

namespace ferrule::property {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::IsEmpty;

// ---- the properties ----

TEST(Property, FusedGraphsKeepTheirMeaning) {
  property::Run run;
  run.graphs = 400;
  const Report report = run_properties(run);
  for (const std::string& failure : report.failures) ADD_FAILURE() << failure;
  EXPECT_LT(report.tally.unusable, report.tally.graphs / 10);
  EXPECT_GT(report.tally.judged, report.tally.elements / 2);
}

TEST(Property, DevicesAgreeWithTheReference) {
  property::Run run;
  run.graphs = 60, run.seed = 100'000, run.devices = true;
  const Report report = run_properties(run);
  for (const std::string& failure : report.failures) ADD_FAILURE() << failure;
}

// ---- the harness notices ----

// Passes that do their work and one thing wrong beside it. False: nothing there to do wrong.
using Fault = bool (*)(Graph&);
struct FaultRow {
  const char* name;
  Fault fault;
  const char* noticed;  // what the report says
};

bool takes_add_for_mul(Graph& graph) {
  for (size_t i = 0; i < graph.n_nodes(); ++i)
    if (Node& node = graph.node(NodeId(i)); node.op == FRL_OP_mul)
      return node.op = FRL_OP_add, true;
  return false;
}

bool swaps_operands(Graph& graph) {
  for (size_t i = 0; i < graph.n_nodes(); ++i)
    if (Node& node = graph.node(NodeId(i)); node.op == FRL_OP_sub)
      return std::swap(node.operands[0], node.operands[1]), true;
  return false;
}

// A rule for x + 0 that does not look at the number.
bool drops_any_addend(Graph& graph) {
  for (const Node& node : graph.nodes())
    if (node.op == FRL_OP_add && graph.literal(node.operands[1]) &&
        graph.type(node.operands[0]) == graph.type(node.results[0])) {
      graph.replace(node.results[0], node.operands[0]);
      return graph.compact(), true;
    }
  return false;
}

bool loses_an_output(Graph& graph) {
  for (Output& output : graph.outputs())
    for (size_t i = graph.n_values(); i-- > 0;)
      if (ValueId(i) != output.value && graph.type(ValueId(i)) == graph.type(output.value) &&
          !graph.known(ValueId(i)))
        return output.value = ValueId(i), graph.compact(), true;
  return false;
}

bool spoils_one_element(Graph& graph) {
  for (size_t i = 0; i < graph.n_values(); ++i) {
    Value& value = graph.value(ValueId(i));
    if (value.role != Role::parameter || value.known.n_elements() == 0) continue;
    Tensor other(value.type);
    for (int64_t k = 0; k < other.n_elements(); ++k) other.set_f64(k, value.known.at_f64(k));
    other.set_f64(other.n_elements() - 1, value.known.at_f64(other.n_elements() - 1) + 1);
    return value.known = other, true;
  }
  return false;
}

bool reorders_an_axis(Graph& graph) {
  for (size_t i = 0; i < graph.n_nodes(); ++i)
    if (Node& node = graph.node(NodeId(i)); node.op == FRL_OP_softmax)
      if (const size_t rank = graph.shape(node.operands[0]).rank(); rank > 1) {
        const int64_t axis = node.attributes.i(FRL_AT_softmax_axis);
        return node.attributes.set_i(FRL_AT_softmax_axis, axis == -1 ? -2 : -1), true;
      }
  return false;
}

bool gives_a_wrong_type(Graph& graph) {
  for (size_t i = 0; i < graph.n_values(); ++i)
    if (Value& value = graph.value(ValueId(i)); value.role == Role::computed)
      return value.type.shape.push_back(1), true;
  return false;
}

bool is_not_a_function(Graph& graph) {
  static int calls = 0;
  if (++calls % 2 == 0 || graph.outputs().empty()) return false;
  Output& output = graph.outputs()[0];
  return output.value = *graph.emit(FRL_OP_identity, {output.value}), true;
}

class Teeth : public testing::TestWithParam<FaultRow> {};

TEST_P(Teeth, NoticeAndShrink) {
  const FaultRow& row = GetParam();
  property::Run run;
  run.graphs = 300, run.most_failures = 1;
  run.passes = [&](Graph& graph, const Setting& setting, Tally* tally) -> Status {
    row.fault(graph);
    FRL_TRY(verify(graph));
    return real_passes(graph, setting, tally);
  };
  const Report report = run_properties(run);
  ASSERT_EQ(report.failures.size(), 1u) << "not noticed in " << report.tally.graphs << " graphs";
  const std::string& text = report.failures[0];
  EXPECT_THAT(text, HasSubstr(row.noticed)) << text;
  size_t lines = 0;
  const size_t before = text.find("before\n");
  for (size_t at = before; at < text.size(); ++at) lines += text[at] == '\n';
  EXPECT_LE(lines, 9u) << "not small: " << text;
  const auto graph = parse_graph(text.substr(before + 7));
  EXPECT_TRUE(graph.ok()) << graph.status().message() << "\n" << text;
}

INSTANTIATE_TEST_SUITE_P(Faults, Teeth,
                         testing::Values(FaultRow{"AddForMul", takes_add_for_mul, "output"},
                                         FaultRow{"SwappedOperands", swaps_operands, "output"},
                                         FaultRow{"AnyAddend", drops_any_addend, "output"},
                                         FaultRow{"LostOutput", loses_an_output, "output"},
                                         FaultRow{"OneElement", spoils_one_element, "output"},
                                         FaultRow{"OtherAxis", reorders_an_axis, "output"},
                                         FaultRow{"WrongType", gives_a_wrong_type, "passes:"},
                                         FaultRow{"NoFunction", is_not_a_function,
                                                  "the same graph twice"}),
                         [](const auto& info) { return info.param.name; });

// A graph of one input, and elements of 1/256 for it.
Sample sample_of(const char* text) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  if (!graph.ok()) return {Graph("none"), {}};
  Tensor x(graph->type(graph->inputs()[0]));
  for (int64_t i = 0; i < x.n_elements(); ++i) x.set_f64(i, double(i % 37) / 256 - 0.06);
  return {std::move(*graph), {std::move(x)}};
}

// One element of a device's result that is off is found, in every graph that has one to judge.
TEST(Teeth, OneElementOfADevice) {
  Bench bench;
  ASSERT_TRUE(bench.status().ok()) << bench.status().message();
  const Sample sample = sample_of(R"(graph "g"
  %x = input f32[3,4] "x"
  %w = parameter f32[4,2] "w" = random 1
  %p = matmul %x, %w
  %y = tanh %p
  return %y "y")");
  EXPECT_THAT(bench.check(sample, {}, 1, nullptr).fault, IsEmpty());
  bench.spoil = [](std::vector<Tensor>& results) {
    results[0].set_f64(5, results[0].at_f64(5) + 0.01);
  };
  EXPECT_THAT(bench.check(sample, {}, 1, nullptr).fault, HasSubstr("element [2,1]"));
}

// Slices that lie as they are read, that have gaps, and that a kernel wants without gaps.
TEST(Devices, RunABatch) {
  Bench bench;
  ASSERT_TRUE(bench.status().ok()) << bench.status().message();
  const Sample sample = sample_of(R"(graph "g"
  %x = input f32[6,512] "x"
  %w = parameter f32[512,40] "w" = random 1
  %v = parameter f32[256,3] "v" = random 1
  %a = batch %x, %w {axes=[-2,0,-2], slices=3}
  body
    %0 = input f32[2,512] "0"
    %1 = input f32[512,40] "1"
    %2 = matmul %0, %1
    return %2 "0"
  %b = batch %x {axes=[-1,-1], slices=2}
  body
    %0 = input f32[6,256] "0"
    %1 = neg %0
    return %1 "0"
  %c, %d = batch %x, %v {axes=[-1,0,-1,-1], slices=2}
  body
    %0 = input f32[6,256] "0"
    %1 = input f32[256,3] "1"
    %2 = matmul %0, %1
    %3 = exp %2
    return %2 "0", %3 "1"
  %e = batch %x {axes=[-1,-1], slices=2}
  body
    %0 = input f32[6,256] "0"
    %n = literal f32[] = 256
    %s = literal f32[] = 0.00001
    %1 = mul %0, %0
    %2 = reduce %1 {axes=[-1]}
    %3 = div %2, %n
    %4 = add %3, %s
    %5 = sqrt %4
    %6 = div %0, %5
    return %6 "0"
  return %a "a", %b "b", %c "c", %d "d", %e "e")");
  EXPECT_THAT(bench.check(sample, {}, 1, nullptr).fault, IsEmpty());
}

// ---- its parts ----

TEST(Grow, TheSameSeedGivesTheSameGraph) {
  for (uint64_t seed = 1; seed < 30; ++seed)
    EXPECT_EQ(to_text(grow(seed).sample.graph), to_text(grow(seed).sample.graph));
}

TEST(Grow, PlantsMostCasesOfThePasses) { EXPECT_GT(plants().size(), 200u); }

TEST(Rebuild, RenamesExtentsThroughout) {
  const auto graph = parse_graph(R"(graph "g"
  %x = input f32[2,6] "x"
  %r = reshape %x {shape=[2,3,2]}
  %y = relu %r
  return %y "y", %r "r")");
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  Change change;
  change.extent = 3, change.extent_now = 5, change.multiples = true, change.dropped = {1};
  const auto changed = rebuild({*graph, {Tensor(TensorType{Type::f32, {2, 6}})}}, change);
  ASSERT_TRUE(changed.ok()) << changed.status().message();
  EXPECT_EQ(to_string(changed->graph.type(changed->graph.outputs()[0].value)), "f32[2,5,2]");
  EXPECT_EQ(changed->graph.outputs().size(), 1u);
  EXPECT_EQ(to_string(changed->inputs[0].type()), "f32[2,10]");
}

}  // namespace
}  // namespace ferrule::property
