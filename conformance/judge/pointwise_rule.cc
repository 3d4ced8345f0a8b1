// Bounds of POINTWISE ops.
#include <algorithm>
#include <array>

#include "conformance/judge/bounded.h"

namespace ferrule::conformance {
namespace {

enum class CeilingForm : uint8_t { plain, composed, shifted };

struct Ceiling {
  OpId op;
  double ulps, narrow_ulps;
  CeilingForm form;
};

constexpr Ceiling kCeilings[] = {
#define CEILING(op, ulps, narrow_ulps, form) {FRL_OP_##op, ulps, narrow_ulps, CeilingForm::form},
#include "conformance/judge/ceilings.def"
#undef CEILING
};

// An op without a row: one rounding.
Ceiling ceiling_of(OpId op) {
  for (const Ceiling& row : kCeilings)
    if (row.op == op) return row;
  return {op, 0.5, 0.5, CeilingForm::plain};
}

// How far the op's own result may be off, in units in the last place.
double own_ulps(const Ceiling& ceiling, const Licence& licence, Type type) {
  const double most = type == wide_type(type) ? ceiling.ulps : ceiling.narrow_ulps;
  const double claimed = licence.unit == FRL_ERROR_EXACT ? 0.5 : std::max(licence.amount, 0.5);
  return std::min(most, claimed);
}

// Operands at the corners (and half way) of what they may be.
using Corner = std::array<double, 3>;
std::vector<Corner> corners(size_t n_operands) {
  if (n_operands == 1) return {{-1}, {1}, {-0.5}, {0.5}};
  return {{-1, -1}, {-1, 1}, {1, -1}, {1, 1}, {-1, 0}, {1, 0}, {0, -1}, {0, 1}};
}

// Elements of an operand that broadcasts to the result.
struct Reader {
  const Bounded& x;
  Strides strides;
  Reader(const Bounded& operand, const Shape& shape)
      : x(operand), strides(broadcast_strides(operand.value.shape(), shape)) {}
};

// How far `other` is from v; what differs in class is infinitely far.
double distance(double v, double other) {
  if (std::isnan(v) || std::isnan(other))
    return std::isnan(v) && std::isnan(other) ? 0.0 : kInfinite;
  if (v == 0 && other == 0) return std::signbit(v) == std::signbit(other) ? 0 : kLooseZero;
  if (v == other) return 0;
  return std::fabs(v - other);
}

// Where corners do not tell: waves, and steps and poles between them. `seen` is what they told.
double beyond_corners(OpId op, double a, double ea, double b, double eb, double seen) {
  switch (op) {
    case FRL_OP_sin:
    case FRL_OP_cos:
      return std::isnan(a) || std::isinf(ea) ? seen : std::min(ea, 2.0);
    case FRL_OP_tan:
      return ea > 0 && std::floor((a - ea) / M_PI - 0.5) != std::floor((a + ea) / M_PI - 0.5)
                 ? kInfinite
                 : seen;
    case FRL_OP_reciprocal:
      return ea > 0 && std::fabs(a) <= ea ? kInfinite : seen;
    case FRL_OP_div:
      return eb > 0 && std::fabs(b) <= eb ? kInfinite : seen;
    case FRL_OP_pow:  // of a negative number: only by whole ones
      return eb > 0 && a - ea < 0 ? kInfinite : seen;
    case FRL_OP_mod:
    case FRL_OP_fmod:
      if (eb > 0 && std::fabs(b) <= eb) return kInfinite;
      return ea > 0 || eb > 0 ? std::max(seen, std::fabs(b) + eb) : seen;
    default:
      return seen;
  }
}

// What the operands' errors do to the result: the largest change at any corner.
Result<Tensor> passed_on(const NodeCall& call, const Tensor& value) {
  std::vector<double> worst(size_t(value.n_elements()), 0.0);
  for (const Corner& corner : corners(call.operands.size())) {
    size_t number = 0;
    FRL_LET(const auto moved, evaluate_with(call, [&](const Bounded& x) {
              const double at = corner[number++];
              if (x.is_exact() || !is_float(x.type.type)) return x.value;
              return tabulate(x.value.shape(), [&](int64_t i) {
                return x.error_at(i) == 0 ? x.at(i) : x.at(i) + at * x.error_at(i);
              });
            }));
    for (size_t i = 0; i < worst.size(); ++i) {
      const double d =
          is_float(value.element())
              ? distance(value.at_f64(int64_t(i)), moved[0].at_f64(int64_t(i)))
              : (value.at_i64(int64_t(i)) == moved[0].at_i64(int64_t(i)) ? 0.0 : kInfinite);
      worst[i] = std::max(worst[i], d);
    }
  }
  const Reader a(call.in(0), value.shape()), b(call.in(call.operands.size() - 1), value.shape());
  if (is_float(value.element()) && is_float(a.x.type.type)) {
    size_t i = 0;
    for (Odometer at(value.shape()); at.more(); at.next(), ++i) {
      const int64_t ia = at.offset(a.strides), ib = at.offset(b.strides);
      worst[i] = beyond_corners(call.node.op, a.x.at(ia), a.x.error_at(ia), b.x.at(ib),
                                b.x.error_at(ib), worst[i]);
    }
  }
  // NaN that need not be one stays NaN at every corner.
  for (size_t k = 0; k < call.operands.size(); ++k) {
    const Reader x(call.in(k), value.shape());
    if (x.x.is_exact() || !is_float(x.x.type.type)) continue;
    size_t i = 0;
    for (Odometer at(value.shape()); at.more(); at.next(), ++i) {
      const int64_t ix = at.offset(x.strides);
      if (std::isnan(x.x.at(ix)) && std::isinf(x.x.error_at(ix))) worst[i] = kInfinite;
    }
  }
  return tabulate(value.shape(), [&](int64_t i) { return worst[size_t(i)]; });
}

Bounds bound_select(const NodeCall& call) {
  FRL_LET(auto results, evaluate_call(call));
  Bounded y{call.results[0], std::move(results[0]), {}};
  if (call.is_exact()) return std::vector<Bounded>{std::move(y)};
  const Shape& shape = y.value.shape();
  const Reader c(call.in(0), shape), a(call.in(1), shape), b(call.in(2), shape);
  Tensor error(TensorType{Type::f64, shape});
  int64_t i = 0;
  for (Odometer at(shape); at.more(); at.next(), ++i) {
    const int64_t ic = at.offset(c.strides), ia = at.offset(a.strides), ib = at.offset(b.strides);
    const bool first = c.x.value.as<bool>()[size_t(ic)];
    double e = first ? a.x.error_at(ia) : b.x.error_at(ib);
    if (c.x.error_at(ic) > 0)
      e = is_float(y.type.type)
              ? std::max(e, distance(a.x.at(ia), b.x.at(ib)) + a.x.error_at(ia) + b.x.error_at(ib))
              : kInfinite;
    error.set_f64(i, e);
  }
  y.error = std::move(error);
  return std::vector<Bounded>{std::move(y)};
}

// Whether the double that the reference gave is the exact result of an exactly rounded op.
std::vector<bool> exactly_computed(const NodeCall& call, const Tensor& value) {
  std::vector<bool> out(size_t(value.n_elements()),
                        call.node.op == FRL_OP_cast && is_float(call.in(0).type.type));
  const OpId op = call.node.op;
  if (op != FRL_OP_add && op != FRL_OP_sub && op != FRL_OP_mul) return out;
  const Reader a(call.in(0), value.shape()), b(call.in(1), value.shape());
  size_t i = 0;
  for (Odometer at(value.shape()); at.more(); at.next(), ++i) {
    const double x = a.x.at(at.offset(a.strides)),
                 y = b.x.at(at.offset(b.strides)) * (op == FRL_OP_sub ? -1 : 1);
    const double v = value.at_f64(int64_t(i));
    if (op == FRL_OP_mul) {
      out[i] = std::fma(x, y, -v) == 0;
      continue;
    }
    const double shifted =
        v - x;  // Knuth, The Art of Computer Programming 2, 4.2.2: what v leaves out
    out[i] = (x - (v - shifted)) + (y - shifted) == 0;
  }
  return out;
}

void round_correctly(const NodeCall& call, Bounded& y) {
  const std::vector<bool> exact = exactly_computed(call, y.value);
  Bounded sure = y, unsure = y;
  round_result(sure, call.licence, true);
  round_result(unsure, call.licence, false);
  Tensor value(y.value.type());
  const Tensor error = tabulate(y.value.shape(), [&](int64_t i) {
    const Bounded& from = exact[size_t(i)] ? sure : unsure;
    value.set_f64(i, from.at(i));
    return from.error_at(i);
  });
  y.value = std::move(value);
  if (!sure.is_exact() || !unsure.is_exact()) y.error = error;
}

// The number whose last place is the unit of the error.
double unit_at(const NodeCall& call, CeilingForm form, double v, double a) {
  if (form != CeilingForm::shifted) return std::fabs(v);
  if (call.node.op == FRL_OP_hard_sigmoid)
    return std::max({std::fabs(v), std::fabs(call.node.attributes.f(0) * a),
                     std::fabs(call.node.attributes.f(1))});
  return std::max(std::fabs(v), std::fabs(a) / 2);
}

void add_ulps(const NodeCall& call, const Ceiling& ceiling, double ulps, Bounded& y) {
  const Type type = call.licence.precision(y.type.type);
  const FloatFormat format = format_of(type);
  if (type == Type::f64) ulps += ceiling.form == CeilingForm::plain ? 1 : 3;  // of the reference
  const Reader a(call.in(0), y.value.shape());
  Strides dense = row_major(y.value.shape());
  std::vector<double> own(size_t(y.value.n_elements()));
  for (Odometer at(y.value.shape()); at.more(); at.next()) {
    const int64_t i = at.offset(dense);
    const double v = y.at(i), x = a.x.at(at.offset(a.strides));
    if (!std::isfinite(v) || (v == 0 && x == 0)) continue;  // exact, the sign too
    own[size_t(i)] = ulps * format.ulp(unit_at(call, ceiling.form, v, x) + y.error_at(i));
    const double tiny = format.min_normal() * std::max(1.0, std::fabs(x));
    if (ceiling.form == CeilingForm::plain) continue;
    if (std::fabs(v) <= 2 * tiny) own[size_t(i)] += tiny;
    if (8 * std::fabs(v) >= format.overflow()) own[size_t(i)] = kInfinite;  // a step may overflow
  }
  add_error(y, [&](int64_t i) { return own[size_t(i)]; });
}

}  // namespace

bool rounds(OpId op) { return op != FRL_OP_select && ceiling_of(op).ulps > 0; }

Bounds bound_pointwise(const NodeCall& call) {
  if (call.node.op == FRL_OP_select) return bound_select(call);
  FRL_LET(auto results, evaluate_call(call));
  Bounded y{call.results[0], std::move(results[0]), {}};
  if (!call.is_exact()) {
    FRL_LET(y.error, passed_on(call, y.value));
  }
  if (is_float(y.type.type)) {
    const Ceiling ceiling = ceiling_of(call.node.op);
    const double ulps = own_ulps(ceiling, call.licence, call.licence.precision(y.type.type));
    if (ulps > 0.5)
      add_ulps(call, ceiling, ulps, y);
    else if (ulps > 0)
      round_correctly(call, y);
    // Of two zeros max and min may give either; whose sign a remainder of 0 has, no row says.
    if (call.node.op == FRL_OP_max || call.node.op == FRL_OP_min || call.node.op == FRL_OP_mod)
      add_error(y, [&](int64_t i) { return y.at(i) == 0 ? kLooseZero : 0.0; });
  }
  return std::vector<Bounded>{std::move(y)};
}

}  // namespace ferrule::conformance
