// The judge and the rig, judged: what they accept, what they notice, what they say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "conformance/cases/check.h"
#include "conformance/rig/memory.h"
#include "conformance/suite/families.h"

namespace ferrule::conformance::test {
namespace {

using testing::HasSubstr;

constexpr uint64_t kAny = (uint64_t{1} << (FRL_BOOL + 1)) - 2;

// A device that claims one row for `op`, every type in every place.
DeviceRow device_with(OpId op, uint32_t error, uint32_t error_milli, uint32_t fp = 0) {
  Claim claim;
  claim.op = op, claim.name = op_row(op).name;
  claim.shapes = FRL_SHAPES_STATIC;
  frl_operand operand{};
  operand.types = kAny, operand.layouts = FRL_LAYOUT_DENSE, operand.broadcasts = FRL_BROADCAST_ANY;
  operand.max_rank = FRL_MAX_RANK, operand.flags = FRL_OPERAND_REPEAT | FRL_OPERAND_OPTIONAL;
  claim.operands.push_back(operand);
  operand.flags = FRL_OPERAND_REPEAT | FRL_OPERAND_RESULT;
  claim.operands.push_back(operand);
  for (const OpRow& row : op_rows()) claim.members.push_back(row.id);
  claim.max_nodes = claim.max_inputs = claim.max_outputs = 99;
  claim.error = error, claim.error_milli = error_milli, claim.fp = fp;
  DeviceRow out;
  out.claims.push_back(claim);
  return out;
}

Tensor floats(Type type, std::vector<double> values) {
  Tensor out(TensorType{type, Shape{int64_t(values.size())}});
  for (size_t i = 0; i < values.size(); ++i) out.set_f64(int64_t(i), values[i]);
  return out;
}

Graph graph_for(OpId op, std::span<const Tensor> inputs, const Attributes& attributes) {
  std::vector<Slot> slots;
  for (const Tensor& input : inputs) slots.push_back({input.type()});
  auto graph = one_node(op, attributes, slots);
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  return std::move(*graph);
}

// What the judge says of `got` as the result of op(inputs).
Outcome verdict(const DeviceRow& device, OpId op, std::vector<Tensor> inputs, const Tensor& got) {
  const Graph graph = graph_for(op, inputs, Attributes(op));
  const auto want = expect(graph, inputs, device);
  EXPECT_TRUE(want.ok()) << want.status().message();
  return judge(got, (*want)[0], device.claims[0].fp, inputs);
}

bool accepts(const DeviceRow& device, OpId op, std::vector<Tensor> inputs,
             std::vector<double> got) {
  const Type type = inputs[0].element();
  return verdict(device, op, std::move(inputs), floats(type, std::move(got))).verdict ==
         Verdict::pass;
}

// ---- pointwise ----

TEST(Judge, AnAdditionIsRoundedOnceWhateverIsClaimed) {
  const DeviceRow loose = device_with(FRL_OP_add, FRL_ERROR_ULP, 4000);
  const std::vector<Tensor> inputs = {floats(Type::f32, {1, 3}), floats(Type::f32, {0x1p-24, 0.1})};
  EXPECT_TRUE(accepts(loose, FRL_OP_add, inputs, {1, 3 + double(0.1f)}));
  EXPECT_FALSE(accepts(loose, FRL_OP_add, inputs, {1 + 0x1p-23, 3 + double(0.1f)}))
      << "ties go to even";
  EXPECT_FALSE(accepts(loose, FRL_OP_add, inputs, {1, std::nextafter(3 + 0.1f, 9.0f)}));
}

TEST(Judge, AFunctionHasItsClaimUpToTheCeiling) {
  const double y = std::exp(1.0), ulp = 0x1p-22;
  const auto off_by = [&](uint32_t milli, double ulps) {
    return accepts(device_with(FRL_OP_exp, FRL_ERROR_ULP, milli), FRL_OP_exp,
                   {floats(Type::f32, {1})}, {double(float(y)) + ulps * ulp});
  };
  EXPECT_TRUE(off_by(1000, 1));
  EXPECT_FALSE(off_by(1000, 2));
  EXPECT_TRUE(off_by(100000, 2));
  EXPECT_FALSE(off_by(100000, 4)) << "3 ulp is the most that exp may claim";
}

TEST(Judge, ClassesComeFirst) {
  const DeviceRow plain = device_with(FRL_OP_neg, FRL_ERROR_EXACT, 0);
  const std::vector<Tensor> inputs = {floats(Type::f32, {NAN, INFINITY, 0.0, 1})};
  EXPECT_TRUE(accepts(plain, FRL_OP_neg, inputs, {NAN, -INFINITY, -0.0, -1}));
  EXPECT_FALSE(accepts(plain, FRL_OP_neg, inputs, {0, -INFINITY, -0.0, -1}));
  EXPECT_FALSE(accepts(plain, FRL_OP_neg, inputs, {NAN, INFINITY, -0.0, -1}));
  EXPECT_FALSE(accepts(plain, FRL_OP_neg, inputs, {NAN, -INFINITY, 0.0, -1}));
  EXPECT_FALSE(accepts(plain, FRL_OP_neg, inputs, {NAN, -INFINITY, -0.0, NAN}));
  const DeviceRow careless = device_with(
      FRL_OP_neg, FRL_ERROR_EXACT, 0, FRL_FP_LOSES_NAN | FRL_FP_LOSES_INF | FRL_FP_LOSES_ZERO_SIGN);
  EXPECT_TRUE(accepts(careless, FRL_OP_neg, inputs, {7, 3e38, 0.0, -1}));
  EXPECT_FALSE(accepts(careless, FRL_OP_neg, inputs, {7, 3e38, 0.0, 1}));
}

TEST(Judge, ZerosForDenormalsOnlyWhereClaimed) {
  const std::vector<Tensor> inputs = {floats(Type::f32, {0x1p-130}), floats(Type::f32, {0x1p-131})};
  const auto takes = [&](uint32_t fp, double got) {
    return accepts(device_with(FRL_OP_add, FRL_ERROR_EXACT, 0, fp), FRL_OP_add, inputs, {got});
  };
  EXPECT_TRUE(takes(0, 0x1.8p-130));
  EXPECT_FALSE(takes(0, 0));
  EXPECT_TRUE(takes(FRL_FP_FLUSHES_RESULTS, 0));
  EXPECT_TRUE(takes(FRL_FP_FLUSHES_INPUTS, 0));
  EXPECT_TRUE(takes(FRL_FP_FLUSHES_RESULTS, 0x1.8p-130)) << "kept is fine too";
  EXPECT_FALSE(takes(FRL_FP_FLUSHES_RESULTS, 0x1p-120));
}

TEST(Judge, RoundingToInfinityIsNoError) {
  const DeviceRow device = device_with(FRL_OP_exp, FRL_ERROR_ULP, 3000);
  EXPECT_TRUE(accepts(device, FRL_OP_exp, {floats(Type::f16, {12})}, {INFINITY}));
  EXPECT_FALSE(accepts(device, FRL_OP_exp, {floats(Type::f16, {12})}, {65504}));
  EXPECT_FALSE(accepts(device, FRL_OP_exp, {floats(Type::f16, {10})}, {INFINITY}));
}

TEST(Judge, TheTextSaysAllThatOneNeeds) {
  const DeviceRow device = device_with(FRL_OP_add, FRL_ERROR_ULP, 4000);
  const std::vector<Tensor> inputs = {floats(Type::f32, {1, 2, 3}),
                                      floats(Type::f32, {0.5, 0.25, 0.125})};
  const Outcome out = verdict(device, FRL_OP_add, inputs, floats(Type::f32, {1.5, 2.5, 4}));
  EXPECT_EQ(out.verdict, Verdict::fail);
  EXPECT_THAT(out.text, HasSubstr("element [2]: want 3.125, got 4, off by"));
  EXPECT_THAT(out.text, HasSubstr("bound 0, operands 3, 0.125"));
}

TEST(Judge, IntegersAndBoolsAreExact) {
  const DeviceRow device = device_with(FRL_OP_add, FRL_ERROR_ULP, 4000);
  const Tensor a =
      Tensor::of<uint64_t>(Type::u64, {2}, std::vector<uint64_t>{~uint64_t{0}, uint64_t{1} << 63});
  const Tensor one = Tensor::of<uint64_t>(Type::u64, {2}, std::vector<uint64_t>{1, 1});
  const auto sum = [](uint64_t x, uint64_t y) {
    return Tensor::of<uint64_t>(Type::u64, {2}, std::vector<uint64_t>{x, y});
  };
  EXPECT_EQ(verdict(device, FRL_OP_add, {a, one}, sum(0, (uint64_t{1} << 63) + 1)).verdict,
            Verdict::pass);
  EXPECT_THAT(verdict(device, FRL_OP_add, {a, one}, sum(0, uint64_t{1} << 63)).text,
              HasSubstr("want 9223372036854775809, got 9223372036854775808"));
  const DeviceRow compares = device_with(FRL_OP_less, FRL_ERROR_EXACT, 0);
  Tensor two(TensorType{Type::boolean, Shape{1}});
  two.mutable_data()[0] = std::byte{2};
  EXPECT_THAT(
      verdict(compares, FRL_OP_less, {floats(Type::f32, {1}), floats(Type::f32, {2})}, two).text,
      HasSubstr("a bool of byte 2"));
}

// ---- sums ----

TEST(Judge, SumsAreHeldToTheirCondition) {
  // A thousand terms of size 1 that cancel to almost nothing.
  std::vector<double> terms;
  for (int i = 0; i < 1000; ++i) terms.push_back((i % 2 ? -1 : 1) * (1 + i * 0x1p-12));
  Tensor x(TensorType{Type::f32, Shape{1, 1000}});
  float one_by_one = 0;
  for (int i = 0; i < 1000; ++i)
    x.set_f64(i, terms[size_t(i)]), one_by_one += float(terms[size_t(i)]);
  const DeviceRow device = device_with(FRL_OP_reduce, FRL_ERROR_CONDITION, 1000);
  const Attributes rows = Attributes(FRL_OP_reduce).set_list(FRL_AT_reduce_axes, {-1});
  const Graph graph = graph_for(FRL_OP_reduce, std::vector<Tensor>{x}, rows);
  const auto want = expect(graph, std::vector<Tensor>{x}, device);
  ASSERT_TRUE(want.ok());
  const auto takes = [&](double got) {
    Tensor y(TensorType{Type::f32, Shape{1, 1}});
    y.set_f64(0, got);
    return judge(y, (*want)[0], 0).verdict == Verdict::pass;
  };
  EXPECT_TRUE(takes((*want)[0].value[0]));
  EXPECT_TRUE(takes((*want)[0].value[0] + 1e-4)) << "eps times the sum of |terms|";
  EXPECT_FALSE(takes((*want)[0].value[0] + 3e-4));
  EXPECT_FALSE(takes((*want)[0].value[0] - terms[999])) << "one term lost";
}

// ---- regions ----

Graph sum_less_one(Type type) {
  auto body = std::make_shared<Graph>("body");
  const ValueId a = body->add_input({type, Shape{1}}, "a"),
                b = body->add_input({type, Shape{1}}, "b");
  body->add_output(*body->emit(FRL_OP_sub, {*body->emit(FRL_OP_add, {a, b}), a}), "y");
  return std::move(*one_region(FRL_OP_pointwise, Attributes(FRL_OP_pointwise), body));
}

TEST(Judge, InnerValuesAreRoundedOrWideAsClaimed) {
  const Graph graph = sum_less_one(Type::bf16);
  const std::vector<Tensor> inputs = {floats(Type::bf16, {256}), floats(Type::bf16, {0.5})};
  const auto takes = [&](uint32_t fp, double got) {
    const auto want = expect(graph, inputs, device_with(FRL_OP_pointwise, FRL_ERROR_ULP, 4000, fp));
    EXPECT_TRUE(want.ok()) << want.status().message();
    return judge(floats(Type::bf16, {got}), (*want)[0], 0).verdict == Verdict::pass;
  };
  EXPECT_TRUE(takes(0, 0));
  EXPECT_FALSE(takes(0, 0.5));
  EXPECT_TRUE(takes(FRL_FP_WIDE_INSIDE, 0.5));
  EXPECT_FALSE(takes(FRL_FP_WIDE_INSIDE, 0));
}

TEST(Judge, AProductMayStayUnroundedOnlyWhereClaimed) {
  auto body = std::make_shared<Graph>("body");
  const ValueId a = body->add_input({Type::f32, Shape{1}}, "a"),
                b = body->add_input({Type::f32, Shape{1}}, "b");
  body->add_output(*body->emit(FRL_OP_add, {*body->emit(FRL_OP_mul, {a, a}), b}), "y");
  const Graph graph = std::move(*one_region(FRL_OP_pointwise, Attributes(FRL_OP_pointwise), body));
  const double x = 1 + 0x1p-23;
  const std::vector<Tensor> inputs = {floats(Type::f32, {x}), floats(Type::f32, {-1 - 0x1p-22})};
  const auto takes = [&](uint32_t fp, double got) {
    const auto want = expect(graph, inputs, device_with(FRL_OP_pointwise, FRL_ERROR_ULP, 4000, fp));
    return want.ok() && judge(floats(Type::f32, {got}), (*want)[0], 0).verdict == Verdict::pass;
  };
  EXPECT_TRUE(takes(0, 0));
  EXPECT_FALSE(takes(0, 0x1p-46)) << "only a fused multiply-add gives this";
  EXPECT_TRUE(takes(FRL_FP_CONTRACTS, 0x1p-46));
}

// ---- every op ----

struct Rate {
  uint32_t error, milli;
};
Rate rate_of(OpId op) {
  if (op_row(op).form == Form::pointwise) return {FRL_ERROR_ULP, 4000};
  return {FRL_ERROR_CONDITION, 2000};
}

// The reference itself passes, and one element changed by a thousandth, or by one, does not.
TEST(Judge, NoticesOneWrongElementOfEveryOp) {
  size_t n = 0;
  for (const OpRow& row : op_rows()) {
    if (row.form == Form::control || row.form == Form::open) continue;
    for (Type type : types_of(row.id)) {
      if (type != Type::f32 && type != Type::f64 && type != Type::i16 && type != Type::boolean)
        continue;
      for (const Subject& subject : subjects_of(row.id, type)) {
        const std::string at =
            std::string(row.name) + "/" + std::string(type_name(type)) + "/" + subject.label;
        const auto graph = graph_of(subject, 1);
        ASSERT_TRUE(graph.ok()) << at;
        const std::vector<Tensor> inputs = inputs_of(subject, *graph, Style::data, 7);
        const DeviceRow device = device_with(row.id, rate_of(row.id).error, rate_of(row.id).milli);
        const auto want = expect(*graph, inputs, device);
        ASSERT_TRUE(want.ok()) << at << ": " << want.status().message();
        const auto results = evaluate(*graph, inputs);
        ASSERT_TRUE(results.ok()) << at;
        for (size_t r = 0; r < want->size(); ++r) {
          const Tensor& right = (*results)[r];
          const Outcome out = judge(right, (*want)[r], 0);
          EXPECT_EQ(out.verdict, Verdict::pass) << at << ", result " << r << ": " << out.text;
          if (right.n_elements() == 0) continue;
          Tensor wrong = Tensor(right.type());
          std::memcpy(wrong.mutable_data(), right.bytes().data(), right.bytes().size());
          const int64_t i = right.n_elements() / 2;
          if (is_float(right.element())) {
            const double v = right.at_f64(i);
            const double by = size_bytes(right.element()) == 2 ? 0.03 : 1e-3;
            wrong.set_f64(i, v + std::max(by, std::fabs(v) * by));
          } else {
            wrong.mutable_data()[i * size_bytes(right.element())] ^= std::byte{1};
          }
          EXPECT_EQ(judge(wrong, (*want)[r], 0).verdict, Verdict::fail)
              << at << ", result " << r << ", element " << i << " was changed";
          ++n;
        }
      }
    }
  }
  EXPECT_GT(n, 800u);
}

// ---- lists ----

Target target_of(const char* plugin) {
  Target out;
  out.path = std::string(FRL_BUILD_DIR) + plugin;
  out.data_folder = FRL_TEST_DATA "/../conformance/data";
  auto driver = load_plugin(out.path, std::make_shared<Team>(2), {}, &out.load);
  EXPECT_TRUE(driver.ok()) << out.load.status.message();
  if (driver.ok()) out.driver = *driver;
  return out;
}

// A name alone gives its case, whatever the family leaves out.
TEST(Lists, HoldWhatIsAskedFor) {
  Target target = target_of("/plugins/cpu.so");
  for (void (*list)(const Target&, std::vector<Case>&) :
       {list_behaviour, list_numerics, list_fusions, list_shapes, list_special, list_determinism,
        list_guards}) {
    target.only = nullptr;
    std::vector<Case> all;
    list(target, all);
    ASSERT_GT(all.size(), 100u);
    std::set<std::string> names;
    for (const Case& one : all) EXPECT_TRUE(names.insert(one.name).second) << one.name << " twice";
    for (size_t i = 0; i < all.size(); i += all.size() / 40 + 1) {
      target.only =
          std::make_shared<const std::set<std::string>>(std::set<std::string>{all[i].name});
      std::vector<Case> some;
      list(target, some);
      const bool found = std::any_of(some.begin(), some.end(),
                                     [&](const Case& c) { return c.name == all[i].name; });
      EXPECT_TRUE(found) << all[i].name;
    }
  }
}

// ---- the rig ----

TEST(Rig, GuardsSeeEveryByteAroundATensor) {
  const Target target = target_of("/plugins/cpu.so");
  auto rig = Rig::open(target);
  ASSERT_TRUE(rig.ok()) << rig.status().message();
  const Shape shape{2, 3};
  Strides backwards{};
  backwards[0] = 8, backwards[1] = -2;  // with gaps
  auto memory = Guarded::tensor((*rig)->device(), 0, {Type::i16, shape}, backwards, 1, false);
  ASSERT_TRUE(memory.ok()) << memory.status().message();
  Tensor x(TensorType{Type::i16, shape});
  for (int i = 0; i < 6; ++i) x.set_f64(i, i + 1);
  memory->put(x);
  ASSERT_TRUE(memory->upload((*rig)->queue()).ok());
  auto bytes = memory->download((*rig)->queue());
  ASSERT_TRUE(bytes.ok());
  EXPECT_TRUE(same_bits(memory->take(*bytes, shape), x));
  EXPECT_EQ(memory->damage(*bytes, true, "x"), "");
  size_t elements = 0;
  for (size_t i = 0; i < bytes->size(); ++i) {
    auto changed = *bytes;
    changed[i] ^= std::byte{1};
    EXPECT_NE(memory->damage(changed, true, "x"), "");
    elements += memory->damage(changed, false, "x").empty();
  }
  EXPECT_EQ(elements, 12u) << "six elements of two bytes may change, nothing else";
}

TEST(Rig, FindsElementsThatNobodyWrote) {
  const Target target = target_of("/plugins/cpu.so");
  auto rig = Rig::open(target);
  ASSERT_TRUE(rig.ok()) << rig.status().message();
  for (Type type : {Type::f64, Type::f32, Type::f16, Type::bf16, Type::u8, Type::boolean}) {
    auto memory =
        Guarded::tensor((*rig)->device(), 0, {type, Shape{5}}, row_major(Shape{5}), 0, false);
    ASSERT_TRUE(memory.ok());
    for (int round : {0, 1}) {
      memory->put_pattern(round);
      auto image = std::vector<std::byte>(memory->image().begin(), memory->image().end());
      EXPECT_EQ(memory->unwritten(image, Shape{5}, round).size(), 5u);
      EXPECT_EQ(memory->unwritten(image, Shape{5}, 1 - round).size(), 0u);
      if (is_float(type)) {
        EXPECT_TRUE(std::isnan(memory->take(image, Shape{5}).at_f64(0)));
      }
    }
  }
}

// The same numbers on a device without host-visible memory, with packs, late bindings and written
// extents.
TEST(Rig, DrivesADeviceWithMemoryOfItsOwn) {
  const Target target = target_of("/test_plugins/discrete.so");
  const auto subject = [](OpId op) { return subjects_of(op, Type::f32).at(0); };
  for (OpId op : {OpId(FRL_OP_add), OpId(FRL_OP_relu)}) {
    const auto graph = claimed_form(target.row(), graph_of(subject(op), 1));
    ASSERT_TRUE(graph.ok()) << graph.status().message();
    RunOptions options;
    options.late = options.imported = true, options.repeats = 2;
    const Outcome out =
        check_run(target, *graph, inputs_of(subject(op), *graph, Style::data, 1), options);
    EXPECT_EQ(out.verdict, Verdict::pass) << out.text;
    EXPECT_GT(out.judged, 0u);
  }
  Subject product = subject(FRL_OP_matmul);
  product.operands[1].parameter = true;
  const auto packed = claimed_form(target.row(), graph_of(product, 1));
  ASSERT_TRUE(packed.ok()) << packed.status().message();
  const Outcome out = check_run(target, *packed, inputs_of(product, *packed, Style::ramp, 1));
  EXPECT_EQ(out.verdict, Verdict::pass) << out.text;
  Subject flat = subject(FRL_OP_nonzero);
  flat.operands[0].type.shape = Shape{17};
  const auto nonzero = claimed_form(target.row(), graph_of(flat, 1));
  ASSERT_TRUE(nonzero.ok()) << nonzero.status().message();
  RunResult result;
  std::vector<Expected> want;
  const Outcome places =
      check_run(target, *nonzero, inputs_of(flat, *nonzero, Style::one_hot, 1), {}, &result, &want);
  EXPECT_EQ(places.verdict, Verdict::pass) << places.text;
  EXPECT_EQ(to_string(result.results[0].shape()), "[1,1]");
  drop_shared_rig();
}

TEST(Rig, PassesOnWhatThePluginRefuses) {
  const Target target = target_of("/examples/template.so");
  const auto graph = graph_of(subjects_of(FRL_OP_matmul, Type::f32).at(0), 1);
  ASSERT_TRUE(graph.ok());
  EXPECT_THAT(claimed_form(target.row(), *graph).status().message(),
              HasSubstr("matmul is not claimed"));
  auto rig = Rig::open(target);
  ASSERT_TRUE(rig.ok());
  EXPECT_TRUE((*rig)->asks(*graph).refused());
}

}  // namespace
}  // namespace ferrule::conformance::test
