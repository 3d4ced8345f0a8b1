// The discrete device through core/driver and through a compiled graph; every slot of both tables
// and every path of a submit is walked by at least one scenario.
#include <dlfcn.h>

#include "core/session/compile.h"
#include "tests/plugins/harness.h"

namespace ferrule::test {
namespace {

using testing::HasSubstr;

constexpr const char* kMatmul = R"(graph "g"
  %x = input f32[3,4] "x"
  %w = parameter f32[4,5] "w" = random 1
  %y = matmul %x, %w
  return %y "y"
)";

struct Bench {
  Log log;
  std::shared_ptr<Driver> driver = load("discrete_counted", &log);
  std::shared_ptr<Device> device;
  std::unique_ptr<Queue> queue;
  Bench() {
    auto opened = driver->open(0);
    if (!opened.ok()) {
      ADD_FAILURE() << opened.status().message();
      return;
    }
    device = *opened;
    queue = std::move(*device->open_queue());
  }
  std::unique_ptr<Buffer> buffer(uint64_t bytes, uint32_t space = 0) const {
    return std::move(*device->make_buffer(space, bytes));
  }
  std::unique_ptr<Kernel> kernel(const Graph& graph) const {
    auto out = device->compile(block_of(graph));
    EXPECT_TRUE(out.ok()) << out.status().message();
    return std::move(*out);
  }
  std::unique_ptr<Recording> record(const Segment& segment) const {
    auto out = queue->record(segment.table(), nullptr);
    EXPECT_TRUE(out.ok()) << out.status().message();
    return std::move(*out);
  }
  void finish(frl_submit& request) const {
    ASSERT_TRUE(queue->submit(request).status.ok());
    const PluginError end = queue->wait(request.signal);
    ASSERT_TRUE(end.status.ok()) << end.status.message();
  }
  void copy(frl_binding target, frl_binding source, uint64_t n) const {
    const std::vector<frl_copy> copies = {copy_of(target, source, n)};
    frl_submit request = submit_of(nullptr);
    request.copies = Segment::rows(copies);
    finish(request);
  }
  void upload(const Buffer& buffer, const Tensor& tensor) const {
    copy(whole(buffer), address(tensor.bytes().data()), tensor.bytes().size());
  }
  Tensor download(const Buffer& buffer, const TensorType& type) const {
    Tensor out(type);
    copy(address(out.mutable_data()), whole(buffer), out.bytes().size());
    return out;
  }
};

void expect_near(const Tensor& got, const Tensor& want) {
  ASSERT_EQ(to_string(got.type()), to_string(want.type()));
  for (int64_t i = 0; i < want.n_elements(); ++i)
    EXPECT_NEAR(got.at_f64(i), want.at_f64(i), 1e-5) << "element " << i;
}

void packed_matmul() {
  const Bench b;
  const Graph graph = parse(kMatmul);
  const auto kernel = b.kernel(graph);
  ASSERT_EQ(kernel->packs().size(), 1u);
  const Tensor x = ramp({Type::f32, {3, 4}}, 1),
               w = *graph.known(graph.node(NodeId(0)).operands[1]);
  const auto dx = b.buffer(48), dw = b.buffer(80), packed = b.buffer(kernel->packs()[0].bytes),
             dy = b.buffer(60), scratch = b.buffer(kernel->scratch_bytes());
  EXPECT_EQ(dx->host(), nullptr);
  b.upload(*dx, x), b.upload(*dw, w);
  Segment segment;
  segment.fixed = {whole(*dx), whole(*dw), whole(*packed), whole(*dy), whole(*scratch)};
  segment.step(*kernel, {1, 2}, {}, 2);  // pack input 1
  segment.step(*kernel, {0, 2, 3, 4});
  const auto recording = b.record(segment);
  frl_submit request = submit_of(recording.get());
  uint64_t ns[2] = {};
  request.step_ns = ns;
  b.finish(request);
  EXPECT_GT(ns[0], 0u);
  EXPECT_GT(ns[1], 0u);
  const auto want = evaluate(graph, std::vector<Tensor>{x});
  expect_near(b.download(*dy, {Type::f32, {3, 5}}), (*want)[0]);
  const frl_telemetry counted = b.device->telemetry();
  EXPECT_EQ(counted.compiled, 1u);
  EXPECT_EQ(counted.steps, 2u);
  EXPECT_EQ(counted.to_device_bytes, 128u);
  EXPECT_EQ(counted.from_device_bytes, 60u);
  EXPECT_EQ(counted.live_bytes, counted.peak_bytes);
}

void saved_kernels() {
  Bench b;
  const Graph graph = parse(kMatmul);
  const Block block = block_of(graph), other = block_of(parse(kPointwise));
  const auto bytes = b.kernel(graph)->serialise();
  ASSERT_TRUE(bytes.ok()) << bytes.status().message();
  auto restored = b.device->compile(block, *bytes, true);
  ASSERT_TRUE(restored.ok()) << restored.status().message();
  EXPECT_TRUE((*restored)->restored());
  EXPECT_EQ(b.device->compile(other, *bytes, true).status().code(), Code::foreign);
  auto damaged = *bytes;
  damaged[damaged.size() / 2] ^= std::byte{1};
  const auto anew = b.device->compile(block, damaged);
  ASSERT_TRUE(anew.ok());
  EXPECT_FALSE(anew.value()->restored());
  EXPECT_THAT(b.log, testing::Contains("org.ferrule.discrete: saved kernel: not usable"));
}

void bounded_shapes() {
  const Bench b;
  Graph graph("g");
  const uint32_t symbol = graph.add_symbol({"n", 0, 6, 1, false});
  Shape shape{6, 2};
  shape.set(0, {6, symbol});
  const ValueId x = graph.add_input({Type::f32, shape}, "x");
  graph.add_output(*graph.emit(FRL_OP_relu, {x}), "y");
  const auto kernel = b.kernel(graph);
  const Tensor given = ramp({Type::f32, {6, 2}}, 4);
  Tensor before({Type::f32, {6, 2}});
  for (int64_t i = 0; i < 12; ++i) before.set_f64(i, 99);
  const auto dx = b.buffer(48), dy = b.buffer(48);
  b.upload(*dx, given), b.upload(*dy, before);
  Segment segment;
  segment.fixed = {whole(*dx), whole(*dy)};
  segment.n_submit_extents = 1;
  segment.step(*kernel, {0, 1}, {0});
  const auto recording = b.record(segment);
  const int64_t rows = 4;
  frl_submit request = submit_of(recording.get());
  request.extents = &rows;
  b.finish(request);
  const Tensor y = b.download(*dy, given.type());
  for (int64_t i = 0; i < 12; ++i)
    EXPECT_EQ(y.at_f64(i), i < 8 ? std::max(given.at_f64(i), 0.0) : 99) << i;
}

void written_extents() {
  const Bench b;
  const Graph graph =
      parse("graph \"g\"\n %x = input f32[6] \"x\"\n %y = nonzero %x\n return %y \"y\"\n");
  const auto kernel = b.kernel(graph);
  const Tensor x = Tensor::of<float>(Type::f32, {6}, std::vector<float>{0, 3, 0, 0, -1, 2});
  const auto dx = b.buffer(24), dy = b.buffer(48), extents = b.buffer(8, 1);
  ASSERT_NE(extents->host(), nullptr);
  b.upload(*dx, x);
  Segment segment;
  segment.fixed = {whole(*dx), whole(*dy), whole(*extents)};
  segment.step(*kernel, {0, 1, 2});
  const auto recording = b.record(segment);
  frl_submit request = submit_of(recording.get());
  b.finish(request);
  int64_t n = 0;
  std::memcpy(&n, extents->host(), 8);
  ASSERT_EQ(n, 3);
  EXPECT_EQ(b.download(*dy, {Type::i64, {3}}).to_i64(), (std::vector<int64_t>{1, 4, 5}));
}

void two_queues_and_import() {
  const Bench b;
  auto second = std::move(*b.device->open_queue());
  const Graph graph = parse(kPointwise);
  const auto kernel = b.kernel(graph);
  Tensor x = ramp({Type::f32, {4, 5}}, 1), bias = ramp({Type::f32, {5}}, 2), y({Type::f32, {4, 5}});
  const auto dx = std::move(*b.device->import_buffer(1, x.mutable_data(), 80, true));
  const auto db = std::move(*b.device->import_buffer(1, bias.mutable_data(), 20, true));
  const auto dy = b.buffer(80);
  Segment segment;
  segment.n_late = 2;
  segment.fixed = {whole(*dy)};
  segment.step(*kernel, {0, 1, 2});
  const auto recording = b.record(segment);
  const std::vector<frl_binding> late = {whole(*dx), whole(*db)};
  frl_submit request = submit_of(recording.get());
  request.late = Segment::rows(late);
  ASSERT_TRUE(b.queue->submit(request).status.ok());
  const std::vector<frl_copy> copies = {copy_of(address(y.mutable_data()), whole(*dy), 80)};
  const std::vector<frl_point> waits = {{b.queue->handle(), request.signal}},
                               hopeless = {{b.queue->handle(), request.signal + 1}};
  frl_submit back = submit_of(nullptr);
  back.copies = Segment::rows(copies), back.waits = Segment::rows(waits);
  ASSERT_TRUE(second->submit(back).status.ok());
  ASSERT_TRUE(second->wait(back.signal).status.ok());
  EXPECT_TRUE(same_bits(y, (*evaluate(graph, std::vector<Tensor>{x, bias}))[0]));
  back.waits = Segment::rows(hopeless);
  EXPECT_EQ(second->submit(back).status.code(), Code::invalid_argument)
      << "a wait that nothing ends";
}

void cancelled_queue_stays_so() {
  const Bench b;
  const Graph graph = parse(kPointwise);
  const auto kernel = b.kernel(graph);
  const auto memory = b.buffer(80);
  Segment segment;
  segment.fixed = {whole(*memory)};
  segment.step(*kernel, {0, 0, 0});
  const auto recording = b.record(segment);
  const uint32_t cancel = 1;
  frl_submit request = submit_of(recording.get());
  request.cancel = &cancel;
  ASSERT_TRUE(b.queue->submit(request).status.ok());
  const PluginError first = b.queue->wait(request.signal);
  EXPECT_EQ(first.status.code(), Code::cancelled);
  EXPECT_EQ(first.subject, 0);
  request.cancel = nullptr;
  EXPECT_EQ(b.queue->submit(request).status.message(),
            "org.ferrule.discrete: submit: submit: cancelled");
}

void refusals_and_estimates() {
  const Bench b;
  const Block fits = block_of(parse(kMatmul));
  const Block large =
      block_of(parse("graph \"g\"\n %x = input f32[1024,512] \"x\"\n %w = parameter f32[512,2] "
                     "\"w\" = random 1\n %y = matmul %x, %w\n return %y \"y\"\n"));
  EXPECT_FALSE(b.driver->refuse(0, fits).refused());
  const Refusal refusal = b.driver->refuse(0, large);
  EXPECT_EQ(refusal.code, Code::no_room);
  EXPECT_THAT(refusal.text, HasSubstr("at most 1 MiB"));
  EXPECT_EQ(b.driver->estimate_ps(0, fits), 2'000'000u + 2 * 3 * 4 * 5);
  EXPECT_EQ(b.driver->estimate_ps(0, block_of(parse(kPointwise))), 0u);
}

// Placed on the discrete device and on cpu, with copies in between.
void graph_over_two_devices() {
  const Graph graph = parse(R"(graph "g"
    %x = input f32[3,4] "x"
    %w = parameter f32[4,5] "w" = random 1
    %p = matmul %x, %w
    %a = relu %p
    %s = softmax %a {axis=-1}
    %m = mul %s, %a
    return %m "m"
  )");
  Config config;
  // The softmax is impossible on the discrete device, and only that goes to cpu.
  ASSERT_TRUE(config.set("targets.order", "discrete:0", "test").ok());
  ASSERT_TRUE(config.set("targets.also", "cpu", "test").ok());
  RuntimeOptions options;
  options.folders = {FRL_BUILD_DIR "/test_plugins", FRL_BUILD_DIR "/plugins"};
  options.check_plans = true;
  auto runtime = Runtime::open(config, options);
  ASSERT_TRUE(runtime.ok()) << runtime.status().message();
  auto context = make_compile_context(**runtime);
  ASSERT_TRUE(context.ok()) << context.status().message();
  auto executable = compile_graph(graph, *context);
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  std::set<int32_t> used;
  for (const Node& node : (*executable)->graph().nodes()) used.insert(node.device);
  EXPECT_TRUE(used.count(0) && used.count(1)) << to_text((*executable)->graph());
  auto run = (*executable)->make_context();
  ASSERT_TRUE(run.ok()) << run.status().message();
  const Tensor x = ramp({Type::f32, {3, 4}}, 5);
  Tensor y({Type::f32, {3, 5}});
  const void* const inputs[] = {x.bytes().data()};
  void* const outputs[] = {y.mutable_data()};
  const Status status = (*run)->run(inputs, outputs);
  ASSERT_TRUE(status.ok()) << status.message();
  expect_near(y, (*evaluate(graph, std::vector<Tensor>{x}))[0]);
}

struct Scenario {
  const char* name;
  void (*run)();
};
constexpr Scenario kScenarios[] = {{"packed_matmul", packed_matmul},
                                   {"saved_kernels", saved_kernels},
                                   {"bounded_shapes", bounded_shapes},
                                   {"written_extents", written_extents},
                                   {"two_queues_and_import", two_queues_and_import},
                                   {"cancelled_queue_stays_so", cancelled_queue_stays_so},
                                   {"refusals_and_estimates", refusals_and_estimates},
                                   {"graph_over_two_devices", graph_over_two_devices}};

class Discrete : public testing::TestWithParam<Scenario> {};
TEST_P(Discrete, Works) { GetParam().run(); }
INSTANTIATE_TEST_SUITE_P(All, Discrete, testing::ValuesIn(kScenarios),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(DiscreteSlots, EachIsCalledBySomeScenario) {
  void* library =
      ::dlopen(FRL_BUILD_DIR "/test_plugins/discrete_counted.so", RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << ::dlerror();
  const auto calls =
      reinterpret_cast<const char* (*)(uint32_t, uint64_t*)>(::dlsym(library, "discrete_calls"));
  ASSERT_NE(calls, nullptr);
  std::vector<uint64_t> before;
  uint64_t n = 0;
  for (uint32_t i = 0; calls(i, &n); ++i) before.push_back(n);
  EXPECT_EQ(before.size(), 18u + 5u + 8u) << "a new slot wants a row in counts.h";
  for (const Scenario& scenario : kScenarios) scenario.run();
  for (uint32_t i = 0; const char* name = calls(i, &n); ++i)
    EXPECT_GT(n, before[i]) << name << " was not called";
}

}  // namespace
}  // namespace ferrule::test
