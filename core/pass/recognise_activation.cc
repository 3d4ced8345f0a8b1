// sigmoid, silu, softplus, mish, hard_sigmoid and hard_swish, written out.
//
// log(1 + exp(x)) overflows where softplus does not, so it counts only behind the threshold with
// which exporters guard it.
#include "core/pass/match.h"

namespace ferrule {
namespace {

// Slots: 0 x, 1 slope, 2 offset.
Pattern x() { return any(0); }
Pattern product(Pattern a, Pattern b) { return pat(FRL_OP_mul, {std::move(a), std::move(b)}); }
Pattern sum(Pattern a, Pattern b) { return pat(FRL_OP_add, {std::move(a), std::move(b)}); }
Pattern over(Pattern a, Pattern b) { return pat(FRL_OP_div, {std::move(a), std::move(b)}); }
Pattern exp(Pattern p) { return pat(FRL_OP_exp, {std::move(p)}); }

template <OpId op>
Result<ValueId> become(Match& m) {
  return m.graph.emit(op, {m[0]});
}

// ---- by exponentials ----

Pattern one_plus_exp_minus() {
  return sum(exp(one_of({pat(FRL_OP_neg, {x()}), product(x(), lit(-1))})), lit(1));
}
Pattern log_one_plus(Pattern p) {
  return one_of({pat(FRL_OP_log1p, {p}), pat(FRL_OP_log, {sum(p, lit(1))})});
}

const Rule kSigmoids[] = {
    {one_of({over(lit(1), one_plus_exp_minus()), pat(FRL_OP_reciprocal, {one_plus_exp_minus()})}),
     become<FRL_OP_sigmoid>},
    {over(x(), one_plus_exp_minus()), become<FRL_OP_silu>},
    {sum(one_of({pat(FRL_OP_relu, {x()}), pat(FRL_OP_max, {x(), lit(0)})}),
         pat(FRL_OP_log1p, {exp(pat(FRL_OP_neg, {pat(FRL_OP_abs, {x()})}))})),
     become<FRL_OP_softplus>},
    // Beyond 20 the logarithm is x to the last digit of 32 bits.
    {pat(FRL_OP_select, {pat(FRL_OP_greater, {x(), lit(20)}), x(), log_one_plus(exp(x()))}),
     [](Match& m) -> Result<ValueId> {
       if (m.graph.type(m[0]).type == Type::f64) return kNoValue;
       return become<FRL_OP_softplus>(m);
     }},
};
const Rule kProducts[] = {
    {product(x(), pat(FRL_OP_sigmoid, {x()})), become<FRL_OP_silu>},
    {product(x(), pat(FRL_OP_tanh, {pat(FRL_OP_softplus, {x()})})), become<FRL_OP_mish>},
};

// ---- by clamps ----

Pattern between_0_and(double high, Pattern p) {
  return one_of({pat(FRL_OP_min, {pat(FRL_OP_max, {p, lit(0)}), lit(high)}),
                 pat(FRL_OP_min, {pat(FRL_OP_relu, {p}), lit(high)}),
                 pat(FRL_OP_max, {pat(FRL_OP_min, {p, lit(high)}), lit(0)})});
}
Pattern sixth(Pattern p) { return one_of({over(p, lit(6)), product(p, about(1.0 / 6))}); }
Pattern clamped() { return between_0_and(6, sum(x(), lit(3))); }

Result<ValueId> hard_sigmoid(Match& m, double slope, double offset) {
  return m.graph.emit(FRL_OP_hard_sigmoid,
                      Attributes(FRL_OP_hard_sigmoid)
                          .set_f(FRL_AT_hard_sigmoid_alpha, slope)
                          .set_f(FRL_AT_hard_sigmoid_beta, offset),
                      {m[0]});
}

const Rule kClamps[] = {
    {sixth(product(x(), clamped())), become<FRL_OP_hard_swish>},
    {product(sixth(x()), clamped()), become<FRL_OP_hard_swish>},
    {product(x(), sixth(clamped())), become<FRL_OP_hard_swish>},
    {sixth(clamped()), [](Match& m) { return hard_sigmoid(m, 1.0 / 6, 0.5); }},
    {between_0_and(1, sum(product(x(), number(1)), number(2))),
     [](Match& m) { return hard_sigmoid(m, m.number(1), m.number(2)); }},
};
const Rule kSwishes[] = {
    {product(x(), as(1, pat(FRL_OP_hard_sigmoid, {x()}))),
     [](Match& m) -> Result<ValueId> {
       const Attributes& a = m.maker(1).attributes;
       const double off = a.f(FRL_AT_hard_sigmoid_alpha) * 6 - 1;
       if (a.f(FRL_AT_hard_sigmoid_beta) != 0.5 || off > 1e-6 || off < -1e-6) return kNoValue;
       return become<FRL_OP_hard_swish>(m);
     }},
};

}  // namespace

extern const Pass recognise_activation = {
    .name = "recognise_activation",
    .doc = "sigmoid, silu, softplus, mish, hard_sigmoid and hard_swish, written out",
    .run = rewrite_in_turn<kSigmoids, kProducts, kClamps, kSwishes>,
};

}  // namespace ferrule
