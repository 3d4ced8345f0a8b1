// The wire reader on bytes that are wrong in one way each.
#include "core/model/wire.h"

#include <gmock/gmock.h>

#include "tests/model/build.h"

namespace ferrule::onnx {
namespace {

using build::bytes;
using build::number;
using testing::HasSubstr;

Result<ModelProto> decode(const std::string& file, const WireLimits& limits = {}) {
  return decode_model(std::as_bytes(std::span(file)), limits);
}
std::string error(const std::string& file, const WireLimits& limits = {}) {
  const auto out = decode(file, limits);
  return out.ok() ? "" : out.status().message();
}

std::string small_model() {
  return build::model(build::node("Relu", {"x"}, {"y"}) + build::input("x", 1, {2}) +
                      build::output("y"));
}

TEST(Wire, ReadsWhatIsThere) {
  const std::string file = small_model();
  const auto model = decode(file);
  ASSERT_TRUE(model.ok()) << model.status().message();
  ASSERT_EQ(model->graph.nodes.size(), 1u);
  EXPECT_EQ(model->graph.nodes[0].op, "Relu");
  EXPECT_EQ(model->graph.nodes[0].inputs, std::vector<std::string_view>{"x"});
  EXPECT_EQ(model->opsets[0].version, 17);
  EXPECT_EQ(model->graph.inputs[0].type.dims[0].value, 2);
}

TEST(Wire, SkipsUnknownFields) {
  EXPECT_EQ(error(small_model() + number(99, 5) + bytes(98, "abc")), "");
}

// A cut anywhere is an error or gives a model with less in it, and never reads past the end.
TEST(Wire, EveryCutIsSurvived) {
  const std::string file = small_model();
  size_t n_errors = 0;
  for (size_t size = 0; size < file.size(); ++size) {
    const std::string cut = file.substr(0, size);
    n_errors += !decode(cut).ok();
  }
  EXPECT_GT(n_errors, file.size() / 2);
}

TEST(Wire, TruncatedContentNamesTheByte) {
  const std::string file = number(1, 8) + build::varint(7 << 3 | 2) + build::varint(1000) + "abc";
  EXPECT_EQ(error(file), "byte 2: field 7: want 1000 bytes, got 3");
}

TEST(Wire, WrongWireType) {
  EXPECT_EQ(error(number(7, 3)), "byte 1: field 7: want bytes, got varint");
  EXPECT_EQ(error(bytes(1, "x")), "byte 2: field 1: want varint, got bytes");
}

TEST(Wire, GroupsAndFieldZeroAreRefused) {
  EXPECT_THAT(error(std::string("\x0b")), HasSubstr("want a wire type"));
  EXPECT_THAT(error(std::string("\x00\x00", 2)), HasSubstr("want a field number"));
}

TEST(Wire, LongVarintIsRefused) {
  EXPECT_THAT(error(cat("\x08", std::string(11, '\xff'), "\x01")), HasSubstr("varint"));
}

TEST(Wire, LyingLengthOfEightBytes) {
  EXPECT_THAT(error(cat("\x3a", build::varint(~uint64_t(0)))),
              HasSubstr("field 7: want 18446744073709551615 bytes"));
}

TEST(Wire, NestingIsBounded) {
  std::string graph;
  for (int depth = 0; depth < 100; ++depth)
    graph = build::node("If", {"c"}, {"y"}, build::graph_attribute("then_branch", graph));
  EXPECT_THAT(error(build::model(graph)), HasSubstr("nested too deeply"));
}

TEST(Wire, MessagesAreCounted) {
  std::string graph;
  for (int n = 0; n < 1000; ++n) graph += bytes(1, "");
  EXPECT_EQ(error(build::model(graph)), "");
  EXPECT_THAT(error(build::model(graph), {.n_messages = 500}), HasSubstr("too many messages"));
}

Result<Tensor> read(const std::string& file) {
  return parse_tensor(std::as_bytes(std::span(file)), nullptr);
}
std::string tensor_error(const std::string& file) {
  const auto out = read(file);
  return out.ok() ? "" : out.status().message();
}

TEST(TensorFile, RawAndTypedElements) {
  const auto raw = read(build::tensor("t", 1, {2}, build::raw<float>({1.5f, -2})));
  ASSERT_TRUE(raw.ok()) << raw.status().message();
  EXPECT_EQ(raw->at_f64(1), -2);
  // f16 1.0 is 0x3c00, in int32_data; bf16 the same way.
  const auto half = read(number(1, 1) + number(2, 10) + number(5, 0x3c00));
  ASSERT_TRUE(half.ok()) << half.status().message();
  EXPECT_EQ(half->at_f64(0), 1);
  const auto packed =
      read(number(1, 3) + number(2, 7) +
           bytes(7, build::varint(5) + build::varint(~uint64_t(0)) + build::varint(300)));
  ASSERT_TRUE(packed.ok()) << packed.status().message();
  EXPECT_EQ(packed->to_i64(), (std::vector<int64_t>{5, -1, 300}));
}

TEST(TensorFile, AnyByteIsABool) {
  const auto tensor = read(build::tensor("t", 9, {3}, std::string("\x00\x07\xff", 3)));
  ASSERT_TRUE(tensor.ok());
  EXPECT_EQ(tensor->to_i64(), (std::vector<int64_t>{0, 1, 1}));
}

TEST(TensorFile, SizesMustFit) {
  EXPECT_EQ(tensor_error(build::tensor("t", 1, {3}, "abcd")),
            "tensor 't': want 12 bytes for f32[3], got 4");
  EXPECT_THAT(tensor_error(number(1, 3) + number(2, 7) + number(7, 1)),
              HasSubstr("want 3 elements"));
  EXPECT_THAT(tensor_error(build::tensor("t", 1, {int64_t(1) << 62}, "")), HasSubstr("want"));
  EXPECT_THAT(tensor_error(build::tensor("t", 1, {int64_t(1) << 40, int64_t(1) << 40}, "")),
              HasSubstr("elements"));
  EXPECT_THAT(tensor_error(build::tensor("t", 1, {-1}, "")), HasSubstr("extents of 0 or more"));
  EXPECT_THAT(tensor_error(build::tensor("t", 1, std::vector<int64_t>(40, 1), "abcd")),
              HasSubstr("at most 16 axes"));
}

TEST(TensorFile, TypesThatAreRefusedAreNamed) {
  EXPECT_THAT(tensor_error(build::tensor("t", 8, {1}, "x")),
              HasSubstr("element type string is not supported"));
  EXPECT_THAT(tensor_error(build::tensor("t", 14, {1}, "x")), HasSubstr("complex64"));
  EXPECT_THAT(tensor_error(build::tensor("t", 17, {1}, "x")), HasSubstr("float8e4m3fn"));
  EXPECT_THAT(tensor_error(build::tensor("t", 22, {1}, "x")), HasSubstr("int4"));
  EXPECT_THAT(
      tensor_error(bytes(1, "seq") + number(2, 1) + bytes(3, build::tensor("t", 1, {}, "abcd"))),
      HasSubstr("sequence or an optional"));
}

}  // namespace
}  // namespace ferrule::onnx
