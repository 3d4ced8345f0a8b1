// The whole line, on real models, with whatever plugin the build made.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "core/session/session.h"

namespace ferrule {
namespace {

using testing::HasSubstr;

Result<std::shared_ptr<Runtime>> open_runtime(
    const std::map<std::string, std::string>& settings = {}) {
  Config config;
  FRL_TRY(config.set("targets.order", "cpu", "test"));
  for (const auto& [key, value] : settings) FRL_TRY(config.set(key, value, "test"));
  RuntimeOptions options;
  options.folders = {FRL_BUILD_DIR "/plugins"};
  options.check_plans = true;
  return Runtime::open(config, options);
}

Result<std::shared_ptr<Session>> open_session(
    const std::string& model, const std::map<std::string, std::string>& settings = {},
    SessionOptions options = {}) {
  FRL_LET(auto runtime, open_runtime(settings));
  FRL_LET(Model loaded, Model::load(FRL_TEST_DATA "/models/real/" + model + "/model.onnx"));
  return Session::open(std::move(runtime), std::move(loaded), std::move(options));
}

Tensor ramp(const TensorType& type, int seed) {
  Tensor out(type);
  for (int64_t i = 0; i < out.n_elements(); ++i)
    out.set_f64(i, double((i * 37 + seed * 11) % 101) / 50 - 1);
  return out;
}

NamedTensors mnist_input(int seed = 0) {
  return {{"Input3", ramp({Type::f32, {1, 1, 28, 28}}, seed)}};
}

// By the reference, with one initialiser put in.
Tensor mnist_reference(const Model& model, const std::string& name, const Tensor& value) {
  ImportRequest request;
  for (const auto& [input, tensor] : mnist_input()) request.shapes[input] = tensor.shape();
  auto imported = import_model(model, request);
  EXPECT_TRUE(imported.ok());
  for (size_t i = 0; i < imported->graph.n_values(); ++i)
    if (Value& leaf = imported->graph.value(ValueId(i)); leaf.name == name) leaf.known = value;
  return (*evaluate(imported->graph, std::vector<Tensor>{mnist_input().begin()->second}))[0];
}

TEST(Flow, WhatWasCompiledBeforeKeepsItsParameters) {
  auto session = open_session("mnist_cntk");
  ASSERT_TRUE(session.ok()) << session.status().message();
  const auto before = (*session)->run(mnist_input());
  const auto old = (*session)->compile(mnist_input());
  ASSERT_TRUE(before.ok() && old.ok());
  ASSERT_TRUE((*session)->set_parameter("Parameter193", ramp({Type::f32, {16, 4, 4, 10}}, 1)).ok());
  ASSERT_TRUE((*session)->run(mnist_input()).ok());
  Stream stream(*session);
  const Tensor input = mnist_input().begin()->second;
  Tensor output({Type::f32, {1, 10}});
  const Tensor* const from[] = {&input};
  void* const to[] = {output.mutable_data()};
  ASSERT_EQ(stream.run_into(**old, from, to).message(), "");
  for (int64_t i = 0; i < 10; ++i) EXPECT_EQ(output.at_f64(i), (*before)[0].tensor.at_f64(i));
}

TEST(Flow, AParameterSetAnewIsSeenByTheNextRun) {
  auto session = open_session("mnist_cntk");
  ASSERT_TRUE(session.ok()) << session.status().message();
  const auto first = (*session)->run(mnist_input());
  ASSERT_TRUE(first.ok());
  for (int round = 1; round <= 2; ++round) {
    const Tensor value = ramp({Type::f32, {16, 4, 4, 10}}, round);
    ASSERT_TRUE((*session)->count_places(mnist_input()).ok());  // its import is not kept
    ASSERT_EQ((*session)->set_parameter("Parameter193", value).message(), "");
    const auto after = (*session)->run(mnist_input());
    ASSERT_TRUE(after.ok()) << after.status().message();
    const Tensor want = mnist_reference((*session)->model(), "Parameter193", value);
    for (int64_t i = 0; i < 10; ++i) {
      EXPECT_NEAR((*after)[0].tensor.at_f64(i), want.at_f64(i), 1e-2);
      EXPECT_NE((*after)[0].tensor.at_f64(i), (*first)[0].tensor.at_f64(i));
    }
  }
  EXPECT_THAT((*session)->set_parameter("Parameter193", ramp({Type::f32, {3}}, 1)).message(),
              HasSubstr("parameter Parameter193: want f32[16,4,4,10], got f32[3]"));
  EXPECT_THAT((*session)->set_parameter("nothing", ramp({Type::f32, {3}}, 1)).message(),
              HasSubstr("parameter nothing: want one of the model's initialisers"));
}

TEST(Flow, FusedAndUnfusedAgreeWithTheReference) {
  auto session = open_session("mnist_cntk");
  ASSERT_TRUE(session.ok()) << session.status().message();
  const auto fused = (*session)->run(mnist_input());
  ASSERT_TRUE(fused.ok()) << fused.status().message();
  auto plain = open_session("mnist_cntk", {{"fusion.enabled", "false"}});
  const auto unfused = (*plain)->run(mnist_input());
  ASSERT_TRUE(unfused.ok()) << unfused.status().message();
  ImportRequest request;
  for (const auto& [name, tensor] : mnist_input()) request.shapes[name] = tensor.shape();
  const auto imported = import_model((*session)->model(), request);
  ASSERT_TRUE(imported.ok());
  const auto reference =
      evaluate(imported->graph, std::vector<Tensor>{mnist_input().begin()->second});
  ASSERT_TRUE(reference.ok());
  for (int64_t i = 0; i < 10; ++i) {
    EXPECT_NEAR((*fused)[0].tensor.at_f64(i), (*reference)[0].at_f64(i), 1e-3);
    EXPECT_NEAR((*unfused)[0].tensor.at_f64(i), (*reference)[0].at_f64(i), 1e-3);
  }
}

TEST(Flow, SixteenThreadsGiveTheBitsOfOne) {
  auto session = open_session("mnist_cntk");
  ASSERT_TRUE(session.ok()) << session.status().message();
  std::vector<Tensor> want;
  for (int t = 0; t < 16; ++t) {
    const auto out = (*session)->run(mnist_input(t));
    ASSERT_TRUE(out.ok());
    want.push_back((*out)[0].tensor);
  }
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 16; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 5; ++i) {
        const auto out = (*session)->run(mnist_input(t));
        if (!out.ok() || !same_bits((*out)[0].tensor, want[size_t(t)])) ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Flow, WrongInputsAreSentences) {
  auto session = open_session("mnist_cntk");
  ASSERT_TRUE(session.ok());
  const struct {
    NamedTensors inputs;
    const char* why;
  } kCases[] = {
      {{}, "input Input3: want"},
      {{{"Input", ramp({Type::f32, {1, 1, 28, 28}}, 0)}}, "input: want one of"},
      {{{"Input3", ramp({Type::f32, {1, 28, 28}}, 0)}},
       "input Input3: want [1,1,28,28], got [1,28,28]"},
      {{{"Input3", ramp({Type::f64, {1, 1, 28, 28}}, 0)}},
       "input Input3: want f32, got f64[1,1,28,28]"},
      {{{"Input3", Tensor()}}, "want a tensor"},
  };
  for (const auto& c : kCases)
    EXPECT_THAT((*session)->run(c.inputs).status().message(), HasSubstr(c.why));
  EXPECT_TRUE((*session)->run(mnist_input()).ok()) << "the session goes on";
}

TEST(Flow, FormsAreSharedAndForgotten) {
  auto session = open_session("dtln_1", {{"session.executables", "1"}});
  ASSERT_TRUE(session.ok());
  const NamedTensors inputs = {{"input_2", ramp({Type::f32, {1, 1, 257}}, 1)},
                               {"input_3", ramp({Type::f32, {1, 2, 128, 2}}, 2)}};
  const auto a = (*session)->compile(inputs), b = (*session)->compile(inputs);
  ASSERT_TRUE(a.ok()) << a.status().message();
  EXPECT_EQ(*a, *b);
}

TEST(Flow, StatesStayInTheStream) {
  auto session = open_session("dtln_1", {}, {{{"input_3", "tf_op_layer_stack_2"}}, {}});
  ASSERT_TRUE(session.ok()) << session.status().message();
  EXPECT_FALSE((*session)->run({{"input_2", ramp({Type::f32, {1, 1, 257}}, 1)}}).ok())
      << "a pool has no states";
  Stream one(*session), two(*session);
  const NamedTensors x = {{"input_2", ramp({Type::f32, {1, 1, 257}}, 1)}};
  const auto first = one.run(x), second = one.run(x), other = two.run(x);
  ASSERT_TRUE(first.ok() && second.ok() && other.ok()) << first.status().message();
  const auto output = [](const std::vector<NamedTensor>& all) {
    for (const NamedTensor& t : all)
      if (t.name == "activation_2") return t.tensor;
    return Tensor();
  };
  EXPECT_FALSE(same_bits(output(*first), output(*second))) << "the state has moved on";
  EXPECT_TRUE(same_bits(output(*first), output(*other))) << "another stream starts from zero";
}

TEST(Flow, AModeThatADeviceLacksIsNoReasonToRefuse) {
  auto ieee = open_session("mnist_cntk"),
       tf32 = open_session("mnist_cntk", {{"numerics.matmul", "tf32"}});
  ASSERT_TRUE(tf32.ok()) << tf32.status().message();
  const auto want = (*ieee)->run(mnist_input()), got = (*tf32)->run(mnist_input());
  ASSERT_TRUE(got.ok()) << got.status().message();
  EXPECT_TRUE(same_bits((*got)[0].tensor, (*want)[0].tensor));
}

TEST(Flow, UnknownTargetNamesTheNearest) {
  Config config;
  ASSERT_TRUE(config.set("targets.order", "cpo", "test").ok());
  RuntimeOptions options;
  options.folders = {FRL_BUILD_DIR "/plugins"};
  auto runtime = Runtime::open(config, options);
  ASSERT_TRUE(runtime.ok());
  EXPECT_THAT((*runtime)->allowed().status().message(), HasSubstr("did you mean cpu"));
  EXPECT_EQ((*runtime)->allowed().status().code(), Code::no_device);
}

TEST(Flow, NoPluginIsNoDevice) {
  Config config;
  auto runtime = Runtime::open(config, {});
  ASSERT_TRUE(runtime.ok());
  EXPECT_EQ((*runtime)->allowed().status().code(), Code::no_device);
}

TEST(Flow, BadSettingsOfAPluginAreItsVerdict) {
  auto runtime = open_runtime({{"plugin.org.ferrule.cpu.gem", "own"}});
  ASSERT_TRUE(runtime.ok());
  ASSERT_FALSE((*runtime)->verdicts().empty());
  EXPECT_THAT((*runtime)->verdicts()[0].status.message(), HasSubstr("option gem: want one of"));
}

}  // namespace
}  // namespace ferrule
