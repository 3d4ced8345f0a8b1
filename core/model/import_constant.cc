// Ops whose results depend on attributes and shapes alone, and Dropout.
#include <algorithm>
#include <cmath>

#include "core/base/text.h"
#include "core/model/importer.h"

namespace ferrule {
namespace {

using onnx::AttributeType;

constexpr int64_t kSmallBytes = 64;

Tensor of_reals(const std::vector<double>& values, const Shape& shape) {
  Tensor out(TensorType{Type::f32, shape});
  for (size_t i = 0; i < values.size(); ++i) out.set_f64(int64_t(i), values[i]);
  return out;
}

// Tensors in attributes are weights as often as they are axes: floats of any size but a few bytes
// become parameters.
Val constant_of(ModelNode& n, Tensor tensor) {
  const bool is_weight = is_float(tensor.element()) && tensor.bytes().size() > kSmallBytes;
  return is_weight ? n.block().parameter(std::move(tensor), n.out_name(0))
                   : n.block().made(std::move(tensor), n.out_name(0));
}

void constant(ModelNode& n) {
  if (n.n_attributes() > 1) return n.fail(cat("want one value, got ", n.n_attributes()));
  const Model& model = n.block().state().model;
  const auto give = [&](Result<Tensor> tensor) {
    if (!tensor.ok()) return n.fail(std::move(tensor).status());
    n.out(0, constant_of(n, *tensor));
  };
  if (const auto* value = n.attribute("value", AttributeType::tensor))
    return give(model.tensor(*value->tensor));
  if (const auto* value = n.attribute("sparse_value", AttributeType::sparse))
    return give(model.tensor(*value->sparse));
  if (n.has_attribute("value_float")) return give(of_reals({n.f("value_float", 0)}, {}));
  if (n.has_attribute("value_int"))
    return give(Tensor::of_i64(Ints{n.i("value_int", 0)}).reshaped({}));
  if (n.has_attribute("value_ints")) return give(Tensor::of_i64(n.ints("value_ints")));
  if (n.has_attribute("value_floats")) {
    const auto values = n.reals("value_floats");
    return give(of_reals(values, Shape{int64_t(values.size())}));
  }
  n.unsupported("want a value of numbers, got none or text");
}

// One element, spread over a shape; nothing large is made.
void constant_of_shape(ModelNode& n) {
  Tensor value = Tensor::scalar(Type::f32, 0);
  if (const auto* given = n.attribute("value", AttributeType::tensor)) {
    auto read = n.block().state().model.tensor(*given->tensor);
    if (!read.ok()) return n.fail(std::move(read).status());
    value = *read;
  }
  if (!n.want(value.n_elements() == 1, "a value of one element")) return;
  const Ints dims = n.known_ints(0);
  if (!n.failed()) n.out(0, broadcast_to(n.block().literal(value.reshaped({})), dims));
}

void shape_of(ModelNode& n) {
  const Val x = n.in(0);
  const int64_t rank = x.rank();
  const auto clamp = [&](int64_t at) { return std::clamp<int64_t>(from_start(at, rank), 0, rank); };
  const int64_t start = clamp(n.i("start", 0)), end = clamp(n.i("end", rank));
  const Ints dims = x.dims();
  if (start >= end) return n.out(0, n.block().of_i64({}));
  n.out(0, n.block().of_i64(Ints(dims.begin() + start, dims.begin() + end)));
}

void size_of(ModelNode& n) {
  n.out(0, n.block().literal(Tensor::of_i64(Ints{n.in(0).n_elements()}).reshaped({})));
}

void range(ModelNode& n) {
  const Tensor start = n.known(0), limit = n.known(1), step = n.known(2);
  if (n.failed()) return;
  for (const Tensor* each : {&start, &limit, &step})
    if (!n.want(each->n_elements() == 1 && each->element() == start.element(),
                "three numbers of one type"))
      return;
  const double delta = step.at_f64(0);
  double n_steps = std::ceil((limit.at_f64(0) - start.at_f64(0)) / delta);
  if (is_int(start.element()) && step.at_i64(0) != 0) {  // whole, without rounding
    const auto apart = [](int64_t from, int64_t to) { return uint64_t(to) - uint64_t(from); };
    const int64_t from = start.at_i64(0), to = limit.at_i64(0), by = step.at_i64(0);
    const uint64_t way = by > 0 ? apart(from, to) : apart(to, from),
                   size = by > 0 ? uint64_t(by) : -uint64_t(by);
    n_steps = (by > 0) == (to > from) && to != from ? double(way / size + (way % size != 0)) : 0;
  }
  if (delta == 0 || std::isnan(n_steps)) return n.fail("step: want a number other than 0");
  if (n_steps > 1e9)
    return n.fail(cat("want at most 10^9 elements, got ", n_steps), Code::out_of_limits);
  const auto count = std::max<int64_t>(int64_t(n_steps), 0);
  if (!n.block().may_make(count * size_bytes(start.element()))) return;
  Tensor out(TensorType{start.element(), Shape{count}});
  const bool exact = start.element() == Type::i64;
  for (int64_t i = 0; i < count; ++i)
    if (exact)
      out.mutable_as<int64_t>()[size_t(i)] =
          int64_t(uint64_t(start.at_i64(0)) + uint64_t(i) * uint64_t(step.at_i64(0)));
    else
      out.set_f64(i, start.at_f64(0) + double(i) * delta);
  n.out(0, n.block().made(std::move(out), n.out_name(0)));
}

void eye_like(ModelNode& n) {
  const Val x = n.in(0);
  if (!n.want(x.rank() == 2, "a matrix")) return;
  const Type type = n.has_attribute("dtype") ? n.type_of(n.i("dtype", 1)) : x.element();
  const int64_t k = n.i("k", 0), rows = x.dim(0), columns = x.dim(1);
  if (n.failed() ||
      !n.block().may_make(rows * columns > INT32_MAX ? INT64_MAX / 2
                                                     : rows * columns * size_bytes(type)))
    return;
  Tensor out(TensorType{type, Shape{rows, columns}});
  for (int64_t row = 0; row < rows; ++row)
    if (k < columns && k > -rows && row + k >= 0 && row + k < columns)
      out.set_f64(row * columns + row + k, 1);
  n.out(0, n.block().made(std::move(out), n.out_name(0)));
}

// Inference: the input itself, and a mask that keeps everything.
void dropout(ModelNode& n) {
  const Val x = n.in(0);
  const bool training =
      n.opset() >= 12 ? n.has(2) && n.known_number(2, 0) != 0 : n.opset() < 7 && !n.i("is_test", 0);
  const double ratio =
      n.opset() >= 12 ? (training ? n.known_number(1, 0.5) : 0) : n.f("ratio", 0.5);
  if (n.failed()) return;
  if (training && n.opset() >= 12 && ratio != 0)
    return n.unsupported("training mode draws random numbers");
  n.out(0, x);
  const Type mask = n.opset() < 10 ? x.element() : Type::boolean;
  if (n.wants(1)) n.out(1, broadcast_to(n.block().scalar(mask, 1), x.dims()));
}

constexpr ImportRow kRows[] = {
    {"", "Constant", 1, kEver, constant, "0>1",
     "value sparse_value value_float value_floats value_int value_ints value_string value_strings"},
    {"", "ConstantOfShape", 9, kEver, constant_of_shape, "1>1", "value"},
    {"", "Shape", 1, kEver, shape_of, "1>1", "start end"},
    {"", "Size", 1, kEver, size_of, "1>1", ""},
    {"", "Range", 11, kEver, range, "3>1", ""},
    {"", "EyeLike", 9, kEver, eye_like, "1>1", "dtype k"},
    {"", "Dropout", 1, kEver, dropout, "1>2 12:1..3>2", "ratio is_test seed"},
};

}  // namespace

std::span<const ImportRow> constant_rows() { return kRows; }

}  // namespace ferrule
