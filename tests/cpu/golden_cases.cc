// Every case of tests/op/golden through the plugin, beside the core's reference evaluation.
#include <gtest/gtest.h>

#include "tests/cpu/cpu_test.h"
#include "tests/op/golden_file.h"

namespace {

host::Tensor from_core(const ferrule::Tensor& t) {
  host::Tensor out(int(t.element()), {});
  for (size_t d = 0; d < t.shape().rank(); ++d) out.shape.push_back(t.shape()[d]);
  out.bytes.assign(t.bytes().begin(), t.bytes().end());
  return out;
}

host::Attributes from_core(const ferrule::Attributes& attributes) {
  host::Attributes out;
  for (size_t i = 0; i < attributes.size(); ++i) {
    host::Attribute a(attributes[i].i);
    a.f = attributes[i].f, a.list = attributes[i].list;
    out.push_back(a);
  }
  return out;
}

// Sums of many terms may be off by their largest terms' rounding.
double slack_of(const ferrule::GoldenCase& c, const host::Tensor& want) {
  double most = 0;
  for (int64_t i = 0; i < want.n(); ++i)
    if (std::isfinite(want.at(i))) most = std::max(most, std::fabs(want.at(i)));
  const bool pointwise = c.row->form == ferrule::Form::pointwise;
  return std::max(c.near, pointwise ? 0.0 : (want.type == FRL_F64 ? 1e-13 : 4e-6) * most);
}

void compare(const ferrule::GoldenCase& c, size_t number, const host::Tensor& got,
             const host::Tensor& want) {
  for (int64_t i = 0; i < want.n(); ++i) {
    const std::string where =
        c.at + ", result " + std::to_string(number) + ", element " + std::to_string(i);
    if (want.type >= FRL_I8) {
      ASSERT_EQ(got.int_at(i), want.int_at(i)) << where;
      continue;
    }
    const double slack = slack_of(c, want);
    const double ulps = want.type == FRL_F64 ? 128 : want.type == FRL_F32 ? 4 : 1;
    // The reference gives a sum's zero its own sign.
    if (slack > 0 && got.at(i) == 0 && want.at(i) == 0) continue;
    ASSERT_EQ(host::differs(want.type, got.at(i), want.at(i), ulps, slack), "") << where;
  }
}

// Rows of a written result lie as far apart as the bound: the part that was written.
host::Tensor written_part(const host::Tensor& full, const host::Shape& shape) {
  host::Tensor out(full.type, shape);
  const int64_t width = host::size_of(full.type);
  for (int64_t i = 0; i < out.n(); ++i) {
    int64_t from = 0, rest = i, stride = 1;
    for (size_t d = shape.size(); d-- > 0; rest /= shape[d]) {
      from += rest % shape[d] * stride;
      stride *= full.shape[d];
    }
    std::memcpy(out.bytes.data() + i * width, full.bytes.data() + from * width, size_t(width));
  }
  return out;
}

void check(const ferrule::GoldenCase& c, host::Plugin& plugin) {
  if (c.refusal || (c.results.empty() && !c.failure)) return;
  std::vector<ferrule::Tensor> tensors;
  std::vector<const ferrule::Tensor*> pointers;
  std::vector<const ferrule::TensorType*> types;
  tensors.reserve(c.operands.size());
  host::Inputs inputs;
  for (const ferrule::GoldenTensor& o : c.operands) {
    const bool missing = o.type.type == ferrule::Type::none;
    tensors.push_back(missing ? ferrule::Tensor() : to_tensor(o));
    pointers.push_back(missing ? nullptr : &tensors.back());
    types.push_back(missing ? nullptr : &o.type);
    inputs.push_back(missing ? std::optional<host::Tensor>() : from_core(tensors.back()));
  }
  const ferrule::OpCall call{*c.row, c.attributes, types};
  const auto inferred = infer_results(call);
  ASSERT_TRUE(inferred.ok()) << c.at;
  std::vector<ferrule::Tensor> want;
  std::vector<host::Tensor> out;
  int symbol_axis = -1;
  for (const ferrule::TensorType& type : *inferred) {
    want.emplace_back(type);
    out.emplace_back(from_core(ferrule::Tensor(type)));
    for (size_t d = 0; d < type.shape.rank(); ++d)
      if (type.shape.dim(d).symbol && symbol_axis < 0) symbol_axis = int(d);
  }
  const ferrule::Status status = c.row->eval(call, pointers, want);
  host::Result r;
  if (c.row->form == ferrule::Form::pointwise) {
    std::vector<host::Tensor> in;
    for (const auto& t : inputs) in.push_back(*t);
    r = run_pointwise(plugin, c.row->id, from_core(c.attributes), in, out[0]);
  } else {
    r = run_op(plugin, c.row->id, from_core(c.attributes), inputs, out, {}, symbol_axis);
  }
  if (!status.ok()) {
    EXPECT_NE(r.error, "") << c.at << ": want a failure";
    return;
  }
  ASSERT_EQ(r.error, "") << c.at;
  for (size_t i = 0; i < want.size(); ++i) {
    const host::Tensor reference = from_core(want[i]);
    compare(c, i, symbol_axis >= 0 ? written_part(r.outputs[i], reference.shape) : r.outputs[i],
            reference);
  }
}

class Golden : public testing::TestWithParam<std::string> {};
TEST_P(Golden, holds_on_the_cpu) {
  for (const char* isa : {"best", "generic"})
    for (const ferrule::GoldenCase& c : ferrule::read_golden_file(GetParam()))
      check(c, host::cpu(isa));
}
INSTANTIATE_TEST_SUITE_P(Files, Golden, testing::ValuesIn(ferrule::golden_files()),
                         [](const auto& info) {
                           std::string name = info.param.substr(info.param.rfind('/') + 1);
                           for (char& ch : name)
                             if (!std::isalnum(static_cast<unsigned char>(ch))) ch = '_';
                           return name;
                         });

}  // namespace
