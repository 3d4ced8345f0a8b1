// Reference evaluation of POINTWISE ops.
#include <cmath>
#include <cstring>

#include "core/op/pointwise.h"
#include "core/op/rules.h"
#include "core/op/walk.h"
#include "core/op/wide.h"

namespace ferrule {
namespace {

// Truncated; by 0 is 0. The lowest value over -1 wraps to itself.
template <class W>
W divide(W a, W b) {
  if (b == 0) return 0;
  if (std::is_signed_v<W> && b == W(-1)) return W(0 - uint64_t(a));
  return W(a / b);
}

// a - b * (a / b), and the same with the sign of b.
template <class W>
W remainder(W a, W b) {
  return b == 0 ? W(0) : W(uint64_t(a) - uint64_t(b) * uint64_t(divide(a, b)));
}
template <class W>
W modulo(W a, W b) {
  const W r = remainder(a, b);
  return r != 0 && (r < 0) != (b < 0) ? W(r + b) : r;
}

template <class W>
W power(W a, W b) {
  if (std::is_signed_v<W> && b < 0) {
    if (a == W(-1)) return b & 1 ? W(-1) : W(1);
    return a == 1;
  }
  uint64_t out = 1, square = uint64_t(a);
  for (uint64_t bits = uint64_t(b); bits; bits >>= 1, square *= square)
    if (bits & 1) out *= square;
  return W(out);
}

// Integer functions; `bits` is the width of the element type.
template <class W>
using IntFunction = W (*)(W a, W b, int bits);

template <class W>
struct IntRow {
  OpId op;
  IntFunction<W> fn;
};

#define INT_ROW(name, ...)                                                               \
  {                                                                                      \
    FRL_OP_##name,                                                                       \
        []([[maybe_unused]] W a, [[maybe_unused]] W b, [[maybe_unused]] int bits) -> W { \
          return W(__VA_ARGS__);                                                         \
        }                                                                                \
  }

template <class W>
constexpr IntRow<W> kIntRows[] = {
    INT_ROW(neg, 0 - uint64_t(a)),
    INT_ROW(abs, a < 0 ? 0 - uint64_t(a) : uint64_t(a)),
    INT_ROW(sign, (a > 0) - (a < 0)),
    INT_ROW(relu, a > 0 ? a : W(0)),
    INT_ROW(logical_not, !a),
    INT_ROW(bit_not, ~a),
    INT_ROW(add, wide_add(a, b)),
    INT_ROW(sub, uint64_t(a) - uint64_t(b)),
    INT_ROW(mul, wide_mul(a, b)),
    INT_ROW(div, divide(a, b)),
    INT_ROW(mod, modulo(a, b)),
    INT_ROW(fmod, remainder(a, b)),
    INT_ROW(pow, power(a, b)),
    INT_ROW(max, wide_max(a, b)),
    INT_ROW(min, wide_min(a, b)),
    INT_ROW(prelu, a < 0 ? wide_mul(a, b) : a),
    INT_ROW(logical_and, (a && b)),
    INT_ROW(logical_or, a || b),
    INT_ROW(logical_xor, !a != !b),
    INT_ROW(bit_and, (a & b)),
    INT_ROW(bit_or, a | b),
    INT_ROW(bit_xor, a ^ b),
    INT_ROW(shift_left, uint64_t(b) < uint64_t(bits) ? uint64_t(a) << b : 0),
    INT_ROW(shift_right, uint64_t(b) < uint64_t(bits) ? uint64_t(a) >> b : 0),
};
#undef INT_ROW

// result[i] = fn(a[i], b[i]) with both broadcast; b is read as zeros where there is one operand.
template <class W, class R, class Fn>
std::vector<R> apply(Operands operands, const Shape& shape, Fn&& fn) {
  const std::vector<W> a = load<W>(*operands[0]);
  const std::vector<W> b = operands.size() > 1 ? load<W>(*operands[1]) : std::vector<W>{W(0)};
  const Shape b_shape = operands.size() > 1 ? operands[1]->shape() : Shape{};
  const std::array strides = {broadcast_strides(operands[0]->shape(), shape),
                              broadcast_strides(b_shape, shape)};
  const int64_t step_a = step_of(shape, strides[0]), step_b = step_of(shape, strides[1]);
  std::vector<R> out(static_cast<size_t>(shape.n_elements()));
  walk_rows(shape, strides, [&](const std::array<int64_t, 2>& at, int64_t result, int64_t n) {
    for (int64_t i = 0; i < n; ++i)
      out[size_t(result + i)] = fn(a[size_t(at[0] + i * step_a)], b[size_t(at[1] + i * step_b)]);
  });
  return out;
}

template <class W>
using Comparison = bool (*)(W a, W b);

template <class W>
Comparison<W> comparison(OpId op) {
  switch (op) {
    case FRL_OP_less:
      return [](W a, W b) { return a < b; };
    case FRL_OP_less_equal:
      return [](W a, W b) { return a <= b; };
    case FRL_OP_greater:
      return [](W a, W b) { return a > b; };
    case FRL_OP_greater_equal:
      return [](W a, W b) { return a >= b; };
    case FRL_OP_equal:
      return [](W a, W b) { return a == b; };
    case FRL_OP_not_equal:
      return [](W a, W b) { return a != b; };
    default:
      return [](W a, W) { return a != a; };  // is_nan
  }
}

// An integer beyond 2^53 as a double with the same rounding to a float of 51 bits or fewer: the
// bits that a double cannot hold are kept as one sticky bit.
double with_sticky_bit(uint64_t size, bool negative) {
  const double out =
      size >> 53 ? std::ldexp(double(size >> 11 | ((size & 2047) != 0)), 11) : double(size);
  return negative ? -out : out;
}

template <class T, class W>
T cast_to(W x) {
  if constexpr (std::is_same_v<W, double>)
    return convert_to<T>(x);
  else if constexpr (std::is_same_v<T, bool>)
    return x != 0;
  else if constexpr (std::is_arithmetic_v<T>)
    return static_cast<T>(x);
  else
    return convert_to<T>(with_sticky_bit(x < 0 ? 0 - uint64_t(x) : uint64_t(x), x < 0));
}

}  // namespace

Status eval_copy(const OpCall&, Operands operands, Results results) {
  if (results[0].n_elements() > 0)
    std::memcpy(results[0].mutable_data(), operands[0]->bytes().data(),
                operands[0]->bytes().size());
  return {};
}

Status eval_cast(const OpCall&, Operands operands, Results results) {
  with_wide(operands[0]->element(), [&]<class W>(W) {
    const std::vector<W> in = load<W>(*operands[0]);
    with_type(results[0].element(), [&]<class T>(T) {
      const auto out = results[0].mutable_as<T>();
      for (size_t i = 0; i < out.size(); ++i) out[i] = cast_to<T>(in[i]);
    });
  });
  return {};
}

Status eval_pointwise(const OpCall& call, Operands operands, Results results) {
  const OpId op = call.row.id;
  const Type type = operands[0]->element();
  if (is_float(type)) {
    const FloatFunction fn = float_function(op);
    const RealAttributes attributes(call.attributes);
    store(apply<double, double>(operands, results[0].shape(),
                                [&](double a, double b) { return fn(a, b, attributes.p); }),
          results[0]);
    return {};
  }
  const int bits = type == Type::boolean ? 1 : int(size_bytes(type)) * 8;
  const auto run = [&]<class W>(W) {
    for (const IntRow<W>& row : kIntRows<W>)
      if (row.op == op)
        store(
            apply<W, W>(operands, results[0].shape(), [&](W a, W b) { return row.fn(a, b, bits); }),
            results[0]);
  };
  if (is_signed_int(type))
    run(int64_t{});
  else
    run(uint64_t{});
  return {};
}

Status eval_compare(const OpCall& call, Operands operands, Results results) {
  const Shape& shape = results[0].shape();
  if (call.row.id == FRL_OP_is_inf) {
    const bool negative = call.attributes.f(FRL_AT_is_inf_negative) != 0;
    const bool positive = call.attributes.f(FRL_AT_is_inf_positive) != 0;
    store(apply<double, uint64_t>(
              operands, shape,
              [&](double a, double) { return std::isinf(a) && (a < 0 ? negative : positive); }),
          results[0]);
    return {};
  }
  with_wide(operands[0]->element(), [&]<class W>(W) {
    store(apply<W, uint64_t>(operands, shape, comparison<W>(call.row.id)), results[0]);
  });
  return {};
}

Status eval_select(const OpCall&, Operands operands, Results results) {
  const Shape& shape = results[0].shape();
  const std::array strides = {broadcast_strides(operands[0]->shape(), shape),
                              broadcast_strides(operands[1]->shape(), shape),
                              broadcast_strides(operands[2]->shape(), shape)};
  const auto condition = operands[0]->as<bool>();
  with_type(results[0].element(), [&]<class T>(T) {
    const auto a = operands[1]->as<T>(), b = operands[2]->as<T>();
    const auto out = results[0].mutable_as<T>();
    walk_rows(shape, strides, [&](const std::array<int64_t, 3>& at, int64_t result, int64_t n) {
      for (int64_t i = 0; i < n; ++i) {
        const bool first = condition[size_t(at[0] + i * step_of(shape, strides[0]))];
        out[size_t(result + i)] = first ? a[size_t(at[1] + i * step_of(shape, strides[1]))]
                                        : b[size_t(at[2] + i * step_of(shape, strides[2]))];
      }
    });
  });
  return {};
}

}  // namespace ferrule
