// gelu and gelu_tanh, written out: x times half of 1 + erf or 1 + tanh, multiplied in any order.
#include "core/pass/match.h"

namespace ferrule {
namespace {

constexpr double kRootHalf = 0.70710678118654752440, kRootTwo = 1.41421356237309504880;
// Of the tanh form: sqrt(2 / pi), the share of the cube, and their product.
constexpr double kOuter = 0.79788456080286535588, kCubic = 0.044715, kFolded = kOuter * kCubic;

Pattern x() { return any(0); }
Pattern product(Pattern a, Pattern b) { return pat(FRL_OP_mul, {std::move(a), std::move(b)}); }
Pattern sum(Pattern a, Pattern b) { return pat(FRL_OP_add, {std::move(a), std::move(b)}); }
Pattern halved(Pattern p) { return one_of({product(p, lit(0.5)), pat(FRL_OP_div, {p, lit(2)})}); }
Pattern square() { return one_of({product(x(), x()), pat(FRL_OP_pow, {x(), lit(2)})}); }
Pattern cube() { return one_of({pat(FRL_OP_pow, {x(), lit(3)}), product(square(), x())}); }
// c x^2 and c x^3; constants stand anywhere in a product.
Pattern squared_times(double c) {
  return one_of({product(square(), about(c)), product(product(x(), about(c)), x())});
}
Pattern cubed_times(double c) {
  return one_of({product(cube(), about(c)), product(squared_times(c), x()),
                 product(product(x(), about(c)), square())});
}

Pattern erf_of_x() {
  return pat(FRL_OP_erf,
             {one_of({product(x(), about(kRootHalf)), pat(FRL_OP_div, {x(), about(kRootTwo)})})});
}
Pattern tanh_of_x() {
  const Pattern outer = product(x(), about(kOuter));
  return pat(FRL_OP_tanh,
             {one_of({product(sum(x(), cubed_times(kCubic)), about(kOuter)),
                      product(outer, sum(squared_times(kCubic), lit(1))),
                      product(product(x(), sum(squared_times(kCubic), lit(1))), about(kOuter)),
                      product(x(), sum(squared_times(kFolded), about(kOuter))),
                      sum(outer, cubed_times(kFolded))})});
}

// x / 2 * (1 + f), in the orders in which it is written.
Pattern gate(const Pattern& f) {
  const Pattern one = sum(f, lit(1));
  return one_of({product(halved(x()), one), halved(product(x(), one)), product(x(), halved(one)),
                 product(x(), sum(halved(f), lit(0.5)))});
}

const Rule kRules[] = {
    {gate(erf_of_x()), [](Match& m) { return m.graph.emit(FRL_OP_gelu, {m[0]}); }},
    {gate(tanh_of_x()), [](Match& m) { return m.graph.emit(FRL_OP_gelu_tanh, {m[0]}); }},
};

}  // namespace

extern const Pass recognise_gelu = {
    .name = "recognise_gelu",
    .doc = "gelu by erf and by tanh, written out",
    .run = rewrite_in_turn<kRules>,
};

}  // namespace ferrule
