// The plugin in plain C: loaded, compiled for, recorded, submitted, and held against evaluate().
#include "tests/plugins/harness.h"

namespace ferrule::test {
namespace {

using testing::HasSubstr;

Tensor run_on_addresses(const Graph& graph, const std::vector<Tensor>& inputs) {
  const auto driver = load("c11");
  auto device = driver->open(0);
  EXPECT_TRUE(device.ok()) << device.status().message();
  auto kernel = (*device)->compile(block_of(graph));
  EXPECT_TRUE(kernel.ok()) << kernel.status().message();
  auto queue = (*device)->open_queue();
  EXPECT_TRUE(queue.ok()) << queue.status().message();
  Segment segment;
  std::vector<frl_binding> late;
  std::vector<uint32_t> numbers;
  Tensor out(graph.type(graph.outputs()[0].value));
  for (const Tensor& input : inputs)
    numbers.push_back(uint32_t(late.size())), late.push_back(address(input.bytes().data()));
  numbers.push_back(uint32_t(late.size())), late.push_back(address(out.mutable_data()));
  segment.n_late = uint32_t(late.size());
  segment.step(**kernel, numbers);
  auto recording = (*queue)->record(segment.table(), nullptr);
  EXPECT_TRUE(recording.ok()) << recording.status().message();
  frl_submit request = submit_of(recording->get());
  request.late = Segment::rows(late);
  EXPECT_TRUE((*queue)->submit(request).status.ok());
  EXPECT_TRUE((*queue)->wait(request.signal).status.ok());
  EXPECT_EQ((*queue)->wait(request.signal + 1, 0).status.code(), Code::timed_out);
  return out;
}

TEST(C11, PointwiseRegionHasTheBitsOfTheReference) {
  const Graph graph = parse(kPointwise);
  const std::vector<Tensor> inputs = {ramp({Type::f32, {4, 5}}, 1), ramp({Type::f32, {5}}, 2)};
  const auto want = evaluate(graph, inputs);
  ASSERT_TRUE(want.ok()) << want.status().message();
  EXPECT_TRUE(same_bits(run_on_addresses(graph, inputs), (*want)[0]));
}

TEST(C11, SeveralOutputsAndALiteral) {
  const Graph graph = parse(R"(graph "g"
    %x = input f32[3,2] "x"
    %y, %z = pointwise %x
    body
      %p = input f32[3,2] "p"
      %c = literal f32[] = 2.5
      %s = sub %p, %c
      %n = neg %s
      return %n "n", %s "s"
    return %y "y"
  )");
  if (HasFailure()) return;
  const auto driver = load("c11");
  auto device = driver->open(0);
  auto kernel = (*device)->compile(block_of(graph));
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  auto queue = (*device)->open_queue();
  const Tensor x = ramp({Type::f32, {3, 2}}, 3);
  Tensor y(x.type()), z(x.type());
  auto in_place = (*device)->import_buffer(0, y.mutable_data(), 24, false);
  auto own = (*device)->make_buffer(0, 24);
  ASSERT_TRUE(in_place.ok() && own.ok());
  Segment segment;
  segment.fixed = {address(x.bytes().data()), whole(**in_place), whole(**own)};
  segment.step(**kernel, {0, 1, 2});
  auto recording = (*queue)->record(segment.table(), nullptr);
  ASSERT_TRUE(recording.ok());
  frl_submit request = submit_of(recording->get());
  ASSERT_TRUE((*queue)->submit(request).status.ok());
  const std::vector<frl_copy> back = {copy_of(address(z.mutable_data()), whole(**own), 24)};
  request = submit_of(nullptr);
  request.copies = Segment::rows(back);
  ASSERT_TRUE((*queue)->submit(request).status.ok());
  for (int64_t i = 0; i < 6; ++i) {
    EXPECT_EQ(y.at_f64(i), -(x.at_f64(i) - 2.5));
    EXPECT_EQ(z.at_f64(i), x.at_f64(i) - 2.5);
  }
}

TEST(C11, EmptySlotsAreAnswered) {
  const auto driver = load("c11");
  const Graph graph = parse(kPointwise);
  const Block block = block_of(graph);
  EXPECT_FALSE(driver->refuse(0, block).refused());
  EXPECT_EQ(driver->estimate_ps(0, block), 0u);
  auto device = driver->open(0);
  EXPECT_EQ((*device)->telemetry().submits, 0u);
  auto kernel = (*device)->compile(block);
  EXPECT_EQ((*kernel)->serialise().status().code(), Code::unsupported);
}

TEST(C11, OtherKindsAreNotClaimed) {
  const auto driver = load("c11");
  auto device = driver->open(0);
  const Graph graph =
      parse("graph \"g\"\n %x = input f32[3] \"x\"\n %y = exp %x\n return %y \"y\"\n");
  const auto kernel = (*device)->compile(block_of(graph));
  ASSERT_FALSE(kernel.ok());
  EXPECT_EQ(kernel.status().code(), Code::not_claimed);
  EXPECT_THAT(kernel.status().message(),
              HasSubstr("org.ferrule.c11: compile: kind: want pointwise"));
}

}  // namespace
}  // namespace ferrule::test
