// The judge, judged: what it accepts, what it notices, what it says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "conformance/cases/check.h"

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
  return judge(got, (*want)[0], device.claims[0].fp);
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
  EXPECT_THAT(out.text, HasSubstr("bound 0 ulp, operands 0[2] = 3; 1[2] = 0.125"));
}

TEST(Judge, AClassIsABoundOfItsOwn) {
  const DeviceRow device = device_with(FRL_OP_neg, FRL_ERROR_EXACT, 0);
  const auto text = [&](double x, double got) {
    return verdict(device, FRL_OP_neg, {floats(Type::f32, {x})}, floats(Type::f32, {got})).text;
  };
  EXPECT_THAT(text(-INFINITY, NAN),
              HasSubstr("want inf, got nan, bound class exact: want +Inf, got NaN, operands 0[0]"));
  EXPECT_THAT(text(NAN, 2), HasSubstr("bound class exact: want NaN, got a number"));
  EXPECT_THAT(text(0.0, 0.0), HasSubstr("bound class exact: want -0, got +0"));
  EXPECT_THAT(text(1, -INFINITY), HasSubstr("bound class exact: want a number, got -Inf"));
  EXPECT_THAT(text(1, -2), HasSubstr("off by 8388608 ulp, bound 0 ulp"));
}

Tensor ramp(const Shape& shape) {
  Tensor out(TensorType{Type::f32, shape});
  for (int64_t i = 0; i < out.n_elements(); ++i) out.set_f64(i, double(i));
  return out;
}

// Row and column of the worst element, without a rule for the op.
TEST(Judge, AContractionNamesWhatItsElementWasMadeFrom) {
  struct Row {
    OpId op;
    Attributes attributes;
    std::vector<Shape> shapes;
    int64_t element;
    const char* text;
  };
  const Row rows[] = {
      {FRL_OP_matmul,
       Attributes(FRL_OP_matmul),
       {{4, 6}, {6, 5}},
       17,
       "element [3,2]: want 1871, got 1872, off by 8192 ulp, bound"},
      {FRL_OP_matmul,
       Attributes(FRL_OP_matmul),
       {{4, 6}, {6, 5}},
       17,
       "sum of |terms| 1871, operands 0[3,:] = 18, 19, 20, 21, .. (6 values); 1[:,2] = 2, 7, 12, "
       "17, .. (6 values)"},
      {FRL_OP_matmul,
       Attributes(FRL_OP_matmul),
       {{4, 4}, {4, 4}},
       5,
       "operands 0[1,:] = 4, 5, 6, 7; 1[:,1] = 1, 5, 9, 13"},
      {FRL_OP_conv,
       Attributes(FRL_OP_conv),
       {{1, 2, 4, 4}, {3, 2, 2, 2}},
       14,
       "operands 0[0,:,1:3,2:4] = 6, 7, 10, 11, .. (8 values); 1[1,:,:,:] = 8, 9, 10, 11, .. (8 "
       "values)"},
      {FRL_OP_dot_general,
       Attributes(FRL_OP_dot_general)
           .set_list(FRL_AT_dot_general_contract_a, {-1})
           .set_list(FRL_AT_dot_general_contract_b, {-2}),
       {{3, 4}, {4, 5}},
       9,
       "operands 0[1,:] = 4, 5, 6, 7; 1[:,4] = 4, 9, 14, 19"},
      {FRL_OP_attention,
       Attributes(FRL_OP_attention),
       {{1, 3, 2}, {1, 4, 2}, {1, 4, 2}},
       3,
       "operands 0[0,1,:] = 2, 3; 1[0,:,:] = 0, 1, 2, 3, .. (8 values); 2[0,:,1] = 1, 3, 5, 7"},
  };
  for (const Row& row : rows) {
    std::vector<Tensor> inputs;
    for (const Shape& shape : row.shapes) inputs.push_back(ramp(shape));
    const Graph graph = graph_for(row.op, inputs, row.attributes);
    const auto want = expect(graph, inputs, device_with(row.op, FRL_ERROR_CONDITION, 1000));
    ASSERT_TRUE(want.ok()) << want.status().message();
    Tensor got = Tensor(want->front().type);
    for (int64_t i = 0; i < got.n_elements(); ++i) got.set_f64(i, (*want)[0].value[size_t(i)]);
    got.set_f64(row.element, got.at_f64(row.element) + 1);
    EXPECT_THAT(judge(got, (*want)[0], 0).text, HasSubstr(row.text)) << op_row(row.op).name;
  }
}

// A NaN that has to come out is shown where it went in.
TEST(Judge, TheSourceOfANanIsNamed) {
  Tensor x(TensorType{Type::f32, Shape{2, 3}});
  x.set_f64(4, NAN);
  const Graph graph = graph_for(FRL_OP_softmax, std::vector<Tensor>{x}, Attributes(FRL_OP_softmax));
  EXPECT_EQ(operands_text(graph, std::vector<Tensor>{x}, 0, 5), "0[1,1] = nan");
  const std::vector<Tensor> both = {floats(Type::f32, {1, NAN}), floats(Type::f32, {2, NAN})};
  EXPECT_EQ(operands_text(graph_for(FRL_OP_add, both, Attributes(FRL_OP_add)), both, 0, 1),
            "0[1] = nan; 1[1] = nan");
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

}  // namespace
}  // namespace ferrule::conformance::test
