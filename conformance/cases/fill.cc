// Data for operands: seeded, the same on every machine.
#include <cmath>
#include <cstring>
#include <random>

#include "conformance/cases/recipe.h"
#include "conformance/judge/number.h"

namespace ferrule::conformance {
namespace {

// Where data of a function lie: |x| or x, then scaled and moved.
struct Domain {
  OpId op;
  bool positive;
  double scale, shift;  // of numbers of moderate size
  double most;          // largest magnitude before the shift
};
constexpr Domain kDomains[] = {
    {FRL_OP_log, true, 1, 0, 1e9},       {FRL_OP_sqrt, true, 1, 0, 1e9},
    {FRL_OP_rsqrt, true, 1, 0, 1e9},     {FRL_OP_log1p, true, 1, -0.5, 1e9},
    {FRL_OP_asin, false, 0.1, 0, 1},     {FRL_OP_acos, false, 0.1, 0, 1},
    {FRL_OP_atanh, false, 0.1, 0, 0.99}, {FRL_OP_acosh, true, 1, 1, 1e9},
    {FRL_OP_pow, true, 0.5, 0.125, 5},   {FRL_OP_exp, false, 1, 0, 9},
    {FRL_OP_expm1, false, 1, 0, 9},      {FRL_OP_sinh, false, 1, 0, 9},
    {FRL_OP_cosh, false, 1, 0, 9},
};

class Source {
 public:
  explicit Source(uint64_t seed) : random_(seed) {}
  uint64_t bits() { return random_(); }
  double unit() { return double(random_() >> 11) * 0x1p-53; }  // [0, 1)
  double sign() { return random_() & 1 ? 1 : -1; }
  int64_t below(int64_t n) { return n > 0 ? int64_t(random_() % uint64_t(n)) : 0; }

 private:
  std::mt19937_64 random_;
};

double float_data(Source& s, OpId domain) {
  double x = s.sign() * std::ldexp(0.5 + s.unit() / 2, int(s.below(7)) - 3);
  for (const Domain& d : kDomains)
    if (d.op == domain) {
      x = std::min(std::fabs(x) * d.scale, d.most) * (d.positive || x > 0 ? 1 : -1);
      x += d.shift;
    }
  return x;
}

// The whole range of exponents that sums and products of a few still fit in.
double float_wide(Source& s, Type type, OpId domain) {
  const FloatFormat format = format_of(type);
  const int most = -format.min_exponent / 3;
  double x = s.sign() * std::ldexp(0.5 + s.unit() / 2, int(s.below(2 * most + 1)) - most);
  for (const Domain& d : kDomains)
    if (d.op == domain && d.positive) x = std::fabs(x) + (d.shift > 0 ? d.shift : 0);
  return x;
}

double special_number(Source& s, Type type) {
  const FloatFormat f = format_of(type);
  const double denormal = std::ldexp(1, f.min_exponent - f.digits);
  const double numbers[] = {NAN,
                            INFINITY,
                            -INFINITY,
                            0.0,
                            -0.0,
                            denormal,
                            -denormal,
                            f.min_normal(),
                            -f.min_normal(),
                            f.min_normal() - denormal,
                            f.largest,
                            -f.largest,
                            1,
                            -1,
                            0.5,
                            -0.5,
                            1.5,
                            2,
                            -2.5,
                            3};
  return numbers[s.below(int64_t(std::size(numbers)))];
}

int64_t low_of(Type type) {
  return is_signed_int(type) ? -(int64_t{1} << (8 * size_bytes(type) - 1)) : 0;
}

void put_integer(Tensor& out, int64_t i, uint64_t bits) {
  std::memcpy(out.mutable_data() + i * size_bytes(out.element()), &bits,
              size_t(size_bytes(out.element())));
}

void fill_integers(Tensor& out, Style style, Source& s) {
  const Type type = out.element();
  const int64_t n = out.n_elements(), hot = s.below(n);
  const bool is_signed = is_signed_int(type);
  for (int64_t i = 0; i < n; ++i) {
    int64_t v = 0;
    switch (style) {
      case Style::wide:
        v = int64_t(s.bits());
        break;
      case Style::ramp:
        v = is_signed ? i % 61 - 30 : i % 61;
        break;
      case Style::one_hot:
        v = i == hot;
        break;
      case Style::alternating:
        v = is_signed && i % 2 ? -1 - i % 5 : 1 + i % 5;
        break;
      case Style::special: {
        const uint64_t top = uint64_t{1} << (8 * size_bytes(type) - 1);
        const int64_t edges[] = {
            low_of(type),         is_signed ? int64_t(top - 1) : -1, -1, 0, 1, 2,
            8 * size_bytes(type), 8 * size_bytes(type) - 1,          3};
        v = edges[s.below(int64_t(std::size(edges)))];
        break;
      }
      default:
        v = is_signed ? s.below(19) - 9 : s.below(10);
    }
    put_integer(out, i, uint64_t(v));
  }
}

void fill_bools(Tensor& out, Style style, Source& s) {
  const int64_t hot = s.below(out.n_elements());
  for (int64_t i = 0; i < out.n_elements(); ++i)
    put_integer(out, i,
                style == Style::ramp          ? i % 3 == 0
                : style == Style::one_hot     ? i == hot
                : style == Style::alternating ? i % 2
                                              : s.bits() >> 7 & 1);
}

void fill_floats(Tensor& out, Style style, Source& s, OpId domain) {
  const int64_t n = out.n_elements(), hot = s.below(n);
  for (int64_t i = 0; i < n; ++i) {
    double v = 0;
    switch (style) {
      case Style::data:
        v = float_data(s, domain);
        break;
      case Style::wide:
        v = float_wide(s, out.element(), domain);
        break;
      case Style::ramp:
        v = double(i % 61 - 30) / 4;
        break;
      case Style::one_hot:
        v = i == hot ? 1.5 : 0;
        break;
      case Style::alternating:
        v = (i % 2 ? -1 : 1) * (1 + double(i % 7) / 8);
        break;
      case Style::negative_zero:
        v = -0.0;
        break;
      case Style::special:
        v = special_number(s, out.element());
        break;
    }
    out.set_f64(i, v);
  }
}

void fill_indices(Tensor& out, const OperandSpec& spec, Source& s) {
  const int64_t row = out.shape().rank() ? out.shape().back() : 1;
  for (int64_t i = 0; i < out.n_elements(); ++i) {
    // Unique ones walk from a chosen place; some are counted from the end.
    const int64_t step =
        spec.fill == Fill::unique
            ? (i / std::max<int64_t>(row, 1) * 3 + i % std::max<int64_t>(row, 1)) % spec.limit
            : s.below(spec.limit);
    const int64_t v = spec.fill == Fill::length ? 1 + step
                      : s.bits() % 4 == 0       ? step - spec.limit
                                                : step;
    put_integer(out, i, uint64_t(v));
  }
}

}  // namespace

const char* style_name(Style style) {
  constexpr const char* kNames[] = {"data",        "wide",          "ramp",   "one_hot",
                                    "alternating", "negative_zero", "special"};
  return kNames[size_t(style)];
}

Tensor fill(const TensorType& type, Style style, uint64_t seed, OpId domain) {
  Tensor out(type);
  Source s(seed);
  if (is_float(type.type))
    fill_floats(out, style, s, domain);
  else if (type.type == Type::boolean)
    fill_bools(out, style, s);
  else
    fill_integers(out, style, s);
  return out;
}

std::vector<Tensor> inputs_of(const Subject& subject, const Graph& graph, Style style,
                              uint64_t seed) {
  std::vector<Tensor> out;
  for (ValueId id : graph.inputs()) {
    const size_t number = std::stoul(graph.value(id).name);
    const OperandSpec& spec = subject.operands[number];
    const uint64_t own = seed + 0x9e3779b97f4a7c15 * (number + 1);
    Tensor tensor(graph.type(id));
    Source s(own);
    switch (spec.fill) {
      case Fill::style: {
        // Only the first operand of pow is a magnitude; its exponents are any.
        const OpId domain =
            subject.op == FRL_OP_pow && number == 1 ? OpId(FRL_OP_NONE) : subject.op;
        tensor = fill(graph.type(id), style, own, domain);
        break;
      }
      case Fill::given:
        for (size_t i = 0; i < spec.values.size(); ++i) tensor.set_f64(int64_t(i), spec.values[i]);
        break;
      case Fill::unit:
        for (int64_t i = 0; i < tensor.n_elements(); ++i) tensor.set_f64(i, 2.5 * s.unit() - 1.25);
        break;
      case Fill::small:
        for (int64_t i = 0; i < tensor.n_elements(); ++i) tensor.set_f64(i, 0.25 + s.unit());
        break;
      default:
        fill_indices(tensor, spec, s);
    }
    out.push_back(std::move(tensor));
  }
  return out;
}

uint64_t seed_of(std::string_view name, uint64_t seed) {
  return hash_bytes(name.data(), name.size()) ^ seed * 0x9e3779b97f4a7c15;
}

}  // namespace ferrule::conformance
