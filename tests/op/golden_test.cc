// Every case file under golden/ against the op table.
#include <cmath>
#include <filesystem>
#include <set>

#include <gtest/gtest.h>

#include "core/base/text.h"
#include "tests/op/golden_file.h"

namespace ferrule {
namespace {

// Distance from `value` to the next number of a float type with these bits of fraction.
double ulp_of(Type type, double value) {
  const auto [fraction, least] = type == Type::f64   ? std::pair(52, -1022)
                                 : type == Type::f32 ? std::pair(23, -126)
                                 : type == Type::f16 ? std::pair(10, -14)
                                                     : std::pair(7, -126);
  int exponent = 0;
  std::frexp(value, &exponent);
  return std::ldexp(1, std::max(exponent - 1, least) - fraction);
}

bool is_close(Type type, double got, double want, double near) {
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got);
  if (std::isinf(want) || std::isinf(got)) return want == got;
  if (near > 0) return std::fabs(got - want) <= near * (1 + std::fabs(want));
  if (want == 0) return got == 0 && std::signbit(got) == std::signbit(want);
  // The reference computes f64 in double as well, so its functions carry the
  // error of their arguments.
  return std::fabs(got - want) <= ulp_of(type, want) * (type == Type::f64 ? 128 : 1);
}

void expect_equal(const GoldenCase& golden, size_t number, const Tensor& got) {
  const Tensor want = to_tensor(golden.results[number]);
  ASSERT_EQ(to_string(got.type()), to_string(want.type())) << golden.at << ", result " << number;
  for (int64_t i = 0; i < want.n_elements(); ++i)
    if (is_float(want.element()))
      ASSERT_TRUE(is_close(want.element(), got.at_f64(i), want.at_f64(i), golden.near))
          << golden.at << ", result " << number << ", element " << i << ": want "
          << number_text(want.at_f64(i)) << ", got " << number_text(got.at_f64(i));
    else
      ASSERT_EQ(got.at_i64(i), want.at_i64(i))
          << golden.at << ", result " << number << ", element " << i;
}

struct Operands {
  std::vector<Tensor> tensors;
  std::vector<const Tensor*> pointers;
  std::vector<const TensorType*> types;

  explicit Operands(const GoldenCase& golden) {
    tensors.reserve(golden.operands.size());
    for (const GoldenTensor& operand : golden.operands) {
      const bool missing = operand.type.type == Type::none;
      // Where only types matter, they may be of any size.
      const bool is_small = operand.type.shape.n_elements() < 1 << 20;
      tensors.push_back(missing || !is_small ? Tensor() : to_tensor(operand));
      pointers.push_back(missing ? nullptr : &tensors.back());
      types.push_back(missing ? nullptr : &operand.type);
    }
  }
};

void check_evaluation(const GoldenCase& golden, const OpCall& call, const Operands& operands,
                      const std::vector<TensorType>& inferred) {
  std::vector<Tensor> results;
  for (const TensorType& type : inferred) results.emplace_back(type);
  const Status status = call.row.eval(call, operands.pointers, results);
  if (golden.failure) {
    EXPECT_EQ(status.code(), Code::invalid_argument) << golden.at;
    EXPECT_NE(status.message().find(*golden.failure), std::string::npos)
        << golden.at << ": " << status.message();
    return;
  }
  ASSERT_TRUE(status.ok()) << golden.at << ": " << status.message();
  ASSERT_LE(golden.results.size(), results.size()) << golden.at;
  for (size_t i = 0; i < golden.results.size(); ++i)
    if (golden.results[i].type.type != Type::none) expect_equal(golden, i, results[i]);
}

void check(const GoldenCase& golden) {
  const Operands operands(golden);
  const OpCall call{*golden.row, golden.attributes, operands.types};
  const auto inferred = infer_results(call);
  if (golden.refusal) {
    ASSERT_FALSE(inferred.ok()) << golden.at << ": want a refusal, got "
                                << to_string((*inferred)[0]);
    EXPECT_NE(inferred.status().message().find(*golden.refusal), std::string::npos)
        << golden.at << ": " << inferred.status().message();
    return;
  }
  ASSERT_TRUE(inferred.ok()) << golden.at << ": " << inferred.status().message();
  for (size_t i = 0; i < golden.gives.size(); ++i) {
    ASSERT_LT(i, inferred->size()) << golden.at;
    EXPECT_EQ(to_string((*inferred)[i]), golden.gives[i]) << golden.at << ", result " << i;
  }
  EXPECT_FALSE(golden.gives.empty() && golden.results.empty() && !golden.failure)
      << golden.at << ": nothing is wanted";
  if (!golden.results.empty() || golden.failure)
    check_evaluation(golden, call, operands, *inferred);
}

class GoldenFile : public testing::TestWithParam<std::string> {};

TEST_P(GoldenFile, Holds) {
  const std::vector<GoldenCase> cases = read_golden_file(GetParam());
  EXPECT_FALSE(cases.empty());
  for (const GoldenCase& golden : cases) check(golden);
}

INSTANTIATE_TEST_SUITE_P(Golden, GoldenFile, testing::ValuesIn(golden_files()),
                         [](const auto& info) {
                           return std::filesystem::path(info.param).stem().string();
                         });

TEST(Golden, EveryOpHasValuesAndEveryRuleRefuses) {
  std::set<OpId> valued;
  std::set<InferRule> refused;
  for (const std::string& file : golden_files())
    for (const GoldenCase& golden : read_golden_file(file)) {
      if (!golden.results.empty()) valued.insert(golden.row->id);
      if (golden.refusal) refused.insert(golden.row->infer);
    }
  for (const OpRow& row : op_rows()) {
    if (!row.eval) continue;
    EXPECT_TRUE(valued.contains(row.id)) << row.name << " has no golden value";
    EXPECT_TRUE(refused.contains(row.infer))
        << "the shape rule of " << row.name << " has no refusal";
  }
}

}  // namespace
}  // namespace ferrule
