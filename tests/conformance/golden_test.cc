// The reference evaluation against values from outside (tools/golden.py), and that no op lacks
// them.
#include <gtest/gtest.h>

#include <cmath>

#include "conformance/cases/golden.h"
#include "conformance/judge/number.h"

namespace ferrule::conformance::test {
namespace {

const std::string kFile = FRL_TEST_DATA "/../conformance/data/golden.txt";

// Ops whose golden values are no exact sums: how many eps of the largest element they may be off.
double slack_of(OpId op) {
  switch (op) {
    case FRL_OP_softmax:
    case FRL_OP_log_softmax:
    case FRL_OP_layer_norm:
    case FRL_OP_rms_norm:
    case FRL_OP_attention:
    case FRL_OP_dft:
    case FRL_OP_det:
    case FRL_OP_resize:
    case FRL_OP_grid_sample:
    case FRL_OP_roi_align:
    case FRL_OP_lstm:
    case FRL_OP_gru:
    case FRL_OP_rnn:
    case FRL_OP_matmul_bias_act:
    case FRL_OP_pointwise:
      return 8;
    case FRL_OP_conv_bias_act:
    case FRL_OP_matmul_residual:
    case FRL_OP_gated_residual:
    case FRL_OP_matmul_quantised:
    case FRL_OP_dot_general:
      return 0;
    default:
      return op_row(op).form == Form::closed ? 32 : 0;
  }
}

bool shows_zero_sign(OpId op) {
  return op_row(op).form == Form::pointwise || op == FRL_OP_pad || op == FRL_OP_gather;
}

// "" or what is wrong with element i.
std::string fault_at(OpId op, const Tensor& got, const Tensor& want, int64_t i, double largest) {
  if (!is_float(want.element())) return got.at_i64(i) == want.at_i64(i) ? "" : "another integer";
  const double g = got.at_f64(i), w = want.at_f64(i);
  if (std::isnan(g) || std::isnan(w))
    return std::isnan(g) && std::isnan(w) ? "" : "NaN on one side";
  if (g == w) {
    const bool other_sign = w == 0 && std::signbit(g) != std::signbit(w);
    return other_sign && shows_zero_sign(op) ? "another sign of zero" : "";
  }
  const FloatFormat format = format_of(want.element());
  // The reference works in double: its own rounding shows in f64 alone.
  const double ulps = want.element() == Type::f64 ? 3 : 0;
  const double bound = ulps * format.ulp(w) + slack_of(op) * format.eps() * largest;
  return std::fabs(g - w) <= bound ? "" : "off";
}

TEST(Golden, EveryOpHasFiveCases) {
  const auto golden = read_golden(kFile);
  ASSERT_TRUE(golden.ok()) << golden.status().message();
  std::map<OpId, int> n;
  for (const GoldenCase& one : *golden) ++n[one.op];
  for (const OpRow& row : op_rows())
    EXPECT_GE(n[row.id], 5) << row.name << ": add cases to tools/golden.py";
}

TEST(Golden, TheReferenceAgrees) {
  const auto golden = read_golden(kFile);
  ASSERT_TRUE(golden.ok()) << golden.status().message();
  for (const GoldenCase& one : *golden) {
    const std::string at = op_row(one.op).name + (", line " + std::to_string(one.line));
    const auto got = evaluate(one.graph, one.inputs);
    ASSERT_TRUE(got.ok()) << at << ": " << got.status().message();
    ASSERT_EQ(got->size(), one.results.size()) << at;
    for (size_t r = 0; r < got->size(); ++r) {
      const Tensor &g = (*got)[r], &w = one.results[r];
      ASSERT_EQ(to_string(g.type()), to_string(w.type())) << at;
      double largest = 1;
      for (int64_t i = 0; i < w.n_elements(); ++i)
        if (std::isfinite(w.at_f64(i))) largest = std::max(largest, std::fabs(w.at_f64(i)));
      for (int64_t i = 0; i < w.n_elements(); ++i)
        EXPECT_EQ(fault_at(one.op, g, w, i, largest), "")
            << at << ", result " << r << ", element " << i << ": want " << w.at_f64(i) << ", got "
            << g.at_f64(i);
    }
  }
}

TEST(Golden, SaysWhichLineItCannotRead) {
  const std::string path = testing::TempDir() + "/bad_golden.txt";
  for (const char* line : {"add||f32[1]=1|f32[1]=2", "nothing||||",
                           "add|||f32[2]=1 f32[2]=1,2|f32[2]=2,3", "add|x=1||f32[1]=1|f32[1]=1"}) {
    FILE* file = fopen(path.c_str(), "w");
    ASSERT_NE(file, nullptr);
    fprintf(file, "# head\n%s\n", line);
    fclose(file);
    const auto golden = read_golden(path);
    ASSERT_FALSE(golden.ok()) << line;
    EXPECT_NE(golden.status().message().find("line 2"), std::string::npos)
        << golden.status().message();
  }
  EXPECT_EQ(read_golden("/nowhere").status().code(), Code::not_found);
}

}  // namespace
}  // namespace ferrule::conformance::test
