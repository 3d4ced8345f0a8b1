// Golden cases with something in them made hostile: rules answer or refuse, and what they accept
// evaluates without touching memory that is not theirs (the debug preset sees to that).
#include <cmath>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "core/base/text.h"
#include "tests/op/golden_file.h"

namespace ferrule {
namespace {

class Source {
 public:
  size_t below(size_t n) { return random_() % n; }
  template <class T, size_t N>
  T one_of(const T (&values)[N]) {
    return values[below(N)];
  }
  int64_t extent() {
    constexpr int64_t values[] = {0, 1, 2, 3, 5, 1 << 20, INT64_C(1) << 40};
    return one_of(values);
  }
  int64_t integer() {
    constexpr int64_t values[] = {-4,          -3,        -2,        -1,         0,
                                  1,           2,         3,         5,          63,
                                  64,          1000,      1 << 16,   FRL_OP_add, FRL_OP_max,
                                  FRL_OP_tanh, INT32_MAX, INT32_MIN, INT64_MIN,  INT64_MIN + 1,
                                  INT64_MAX};
    return one_of(values);
  }
  double real() {
    constexpr double values[] = {0,        1,         0.5,   -1,     2,    NAN,
                                 INFINITY, -INFINITY, 1e300, 1e-300, -1e9, 1e-9};
    return one_of(values);
  }
  Type type() {
    constexpr Type values[] = {Type::f32, Type::f64, Type::f16, Type::bf16,   Type::i64,
                               Type::i32, Type::i8,  Type::u64, Type::boolean};
    return one_of(values);
  }

 private:
  std::mt19937_64 random_{1};
};

constexpr int64_t kMostElements = 4096;

void spoil_attribute(Source& source, GoldenCase& golden) {
  const auto schema = attribute_rows(golden.row->id);
  if (schema.empty()) return;
  Attribute& slot = golden.attributes.slot(uint32_t(source.below(schema.size())));
  slot.i = source.integer();
  slot.f = source.real();
  if (slot.list.empty() || source.below(8) == 0)
    slot.list.push_back(source.integer());
  else if (source.below(8) == 0)
    slot.list.pop_back();
  else
    slot.list[source.below(slot.list.size())] = source.integer();
}

void spoil_operand(Source& source, GoldenCase& golden) {
  if (golden.operands.empty()) return;
  GoldenTensor& operand = golden.operands[source.below(golden.operands.size())];
  TensorType& type = operand.type;
  const size_t axis = type.shape.rank() ? source.below(type.shape.rank()) : 0;
  switch (source.below(5)) {
    case 0:
      type.type = source.type();
      break;
    case 1:
      type.shape.push_back(source.extent());
      break;
    case 2:
      type = TensorType();
      break;
    case 3:
      if (type.shape.rank()) type.shape.set(axis, {type.shape[axis], 1});
      break;
    default:
      if (type.shape.rank()) type.shape.set(axis, {source.extent(), 0});
  }
}

bool is_valid(const Shape& shape) {
  const auto extents = shape.extents();
  return shape.rank() < kMaxRank && Shape::checked(std::span(extents).first(shape.rank())).ok();
}

// The case's elements as far as they fit, some of them hostile.
Tensor spoiled_tensor(Source& source, const GoldenTensor& golden) {
  Tensor out(golden.type);
  for (int64_t i = 0; i < out.n_elements(); ++i)
    if (source.below(16) == 0)
      out.set_f64(i, source.below(2) ? source.real() : double(source.integer()));
    else if (size_t(i) < golden.elements.size())
      out.set_f64(i, parse_double(golden.elements[size_t(i)]).value_or(NAN));
  return out;
}

// Operands as an OpCall and an evaluation want them; null where one is missing.
struct Operands {
  std::vector<Tensor> tensors;
  std::vector<const TensorType*> types;
  std::vector<const Tensor*> read;
  bool is_small = true;

  Operands(Source& source, const GoldenCase& golden) {
    tensors.reserve(golden.operands.size());
    for (const GoldenTensor& operand : golden.operands) {
      const bool missing = operand.type.type == Type::none;
      types.push_back(missing ? nullptr : &operand.type);
      is_small = is_small && operand.type.shape.is_exact() &&
                 operand.type.shape.n_elements() <= kMostElements;
      tensors.push_back(missing || !is_small ? Tensor() : spoiled_tensor(source, operand));
      read.push_back(missing ? nullptr : &tensors.back());
    }
  }
};

// Whether the rule accepted what became of the case.
bool try_spoiled(Source& source, GoldenCase golden) {
  for (size_t n = source.below(3); n > 0; --n)
    source.below(2) ? spoil_attribute(source, golden) : spoil_operand(source, golden);
  for (const GoldenTensor& operand : golden.operands)
    if (!is_valid(operand.type.shape)) return false;
  const Operands operands(source, golden);
  const OpCall call{*golden.row, golden.attributes, operands.types};
  const auto inferred = infer_results(call);
  if (!inferred.ok()) {
    EXPECT_NE(inferred.status().message().find("want"), std::string::npos)
        << inferred.status().message();
    return false;
  }
  EXPECT_EQ(inferred->size(), golden.row->n_results) << golden.at;
  std::vector<Tensor> results;
  for (const TensorType& type : *inferred) {
    if (type.shape.n_elements() > kMostElements) return true;
    results.emplace_back(type);
  }
  if (!operands.is_small) return true;
  const Status status = golden.row->eval(call, operands.read, results);
  for (size_t i = 0; status.ok() && i < results.size(); ++i) {
    EXPECT_EQ(results[i].element(), (*inferred)[i].type) << golden.at;
    for (size_t k = 0; k < (*inferred)[i].shape.rank(); ++k)
      EXPECT_LE(results[i].shape()[k], (*inferred)[i].shape[k]) << golden.at;
  }
  return true;
}

TEST(Hostile, RulesAnswerOrRefuse) {
  Source source;
  std::map<OpId, size_t> accepted;
  for (const std::string& file : golden_files())
    for (const GoldenCase& golden : read_golden_file(file))
      for (int i = 0; i < 100; ++i) accepted[golden.row->id] += try_spoiled(source, golden);
  for (const OpRow& row : op_rows())
    EXPECT_TRUE(!row.infer || accepted[row.id] > 0)
        << row.name << ": nothing was accepted, so nothing was tried";
}

TEST(Hostile, KindsAreNotInferredHere) {
  const Attributes attributes(FRL_OP_pointwise);
  const auto result = infer_results({op_row(FRL_OP_pointwise), attributes, {}});
  EXPECT_EQ(result.status().code(), Code::internal);
}

TEST(Hostile, NoMemoryIsAStatus) {
  const auto make = [](int64_t extent) {
    return within_memory([&]() -> Result<Tensor> { return Tensor({Type::f32, Shape{extent}}); });
  };
  EXPECT_TRUE(make(4).ok());
  const Status status = make(int64_t(1) << 50).status();
  EXPECT_EQ(status.code(), Code::no_memory);
  EXPECT_EQ(status.message(),
            "memory: want 4503599627370496 bytes for f32[1125899906842624], got none");
}

}  // namespace
}  // namespace ferrule
