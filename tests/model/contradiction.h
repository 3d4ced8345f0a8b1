// A table of models that contradict themselves, each with the sentence that refuses it.
#pragma once

#include <gmock/gmock.h>

#include "tests/model/build.h"
#include "tests/model/cases.h"

namespace ferrule::contradiction {

using build::f;
using build::graph_attribute;
using build::i;
using build::initializer;
using build::ints;
using build::kBool;
using build::kF32;
using build::kI64;
using build::node;
using build::output;
using build::tensor;
using testing::HasSubstr;

struct Contradiction {
  std::string graph;
  const char* sentence;  // "": none, the model is right
  int64_t opset = 17;
  std::string rest = {};
};

inline void expect(std::span<const Contradiction> rows) {
  for (const Contradiction& row : rows) {
    const auto model = build::parse(build::model(row.graph, row.opset, row.rest));
    const Status status = model.ok() ? import_model(*model, {}).status() : model.status();
    if (*row.sentence) {
      EXPECT_THAT(status.message(), HasSubstr(row.sentence)) << row.opset;
      EXPECT_NE(status.code(), Code::internal) << row.sentence;
    } else {
      EXPECT_TRUE(status.ok()) << status.message();
    }
  }
}

inline std::string typed(int field, const std::string& name, int type,
                         const std::vector<int64_t>& dims) {
  return build::bytes(field, build::value(name, type, dims));
}
inline std::string floats(const std::string& name, const std::vector<int64_t>& dims,
                          const std::vector<float>& values) {
  return initializer(tensor(name, kF32, dims, build::raw(values)));
}
inline std::string longs(const std::string& name, const std::vector<int64_t>& values) {
  return initializer(tensor(name, kI64, {int64_t(values.size())}, build::raw(values)));
}
inline std::string no_elements(const std::string& name, const std::vector<int64_t>& dims) {
  return initializer(tensor(name, kF32, dims, ""));
}

inline const std::string kX = build::input("x", kF32, {2, 3}), kY = output("y"),
                         kRelu = node("Relu", {"x"}, {"y"}), kXY = kX + kY;

inline std::string if_node(const std::string& then_branch, const std::string& else_branch,
                           const std::vector<std::string>& out = {"y"}) {
  return node(
      "If", {"c"}, out,
      graph_attribute("then_branch", then_branch) + graph_attribute("else_branch", else_branch));
}
inline const std::string kTrue = initializer(tensor("c", kBool, {}, std::string("\x01", 1))),
                         kAsks = build::input("c", kBool, {}),
                         kBranch = node("Neg", {"x"}, {"b"}) + output("b");

}  // namespace ferrule::contradiction
