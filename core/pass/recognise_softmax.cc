// softmax and log_softmax, written out, and casts from 16 bits and back around them.
//
// Only with the maximum subtracted: exp(x) / sum(exp(x)) overflows where softmax does not.
#include "core/pass/match.h"

namespace ferrule {
namespace {

constexpr uint32_t kX = 0, kLargest = 1, kExp = 2, kSum = 3, kOff = 4, kWide = 5;

// The one axis over which a node reduces and which it keeps; 0: it does another thing.
int64_t axis_of(const Node& node, OpId by) {
  const auto& axes = node.attributes.list(FRL_AT_reduce_axes);
  const bool fits = axes.size() == 1 && node.attributes.i(FRL_AT_reduce_by) == by &&
                    node.attributes.i(FRL_AT_reduce_keep);
  return fits ? axes[0] : 0;
}

Result<ValueId> emit(Match& m, OpId op, uint32_t axis_slot) {
  const int64_t axis = axis_of(m.maker(kLargest), FRL_OP_max);
  if (axis == 0 || axis_of(m.maker(kSum), FRL_OP_add) != axis) return kNoValue;
  return m.graph.emit(op, Attributes(op).set_i(axis_slot, axis), {m[kX]});
}
Result<ValueId> softmax(Match& m) { return emit(m, FRL_OP_softmax, FRL_AT_softmax_axis); }
Result<ValueId> log_softmax(Match& m) {
  return emit(m, FRL_OP_log_softmax, FRL_AT_log_softmax_axis);
}

// Devices sum 16-bit softmaxes in 32 bits.
Result<ValueId> without_casts(Match& m) {
  const Node softmax = m.maker(kWide);
  if (m.graph.type(m[kWide]).type != Type::f32 || size_bytes(m.graph.type(m[kX]).type) != 2)
    return kNoValue;
  return m.graph.emit(softmax.op, softmax.attributes, {m[kX]});
}

Pattern off() {
  return as(kOff, pat(FRL_OP_sub, {any(kX), as(kLargest, pat(FRL_OP_reduce, {any(kX)}))}));
}
Pattern sum(Pattern p) { return as(kSum, pat(FRL_OP_reduce, {std::move(p)})); }
Pattern exponential() { return as(kExp, pat(FRL_OP_exp, {off()})); }

const Rule kRules[] = {
    {pat(FRL_OP_div, {exponential(), sum(any(kExp))}), softmax},
    {pat(FRL_OP_mul, {exponential(), pat(FRL_OP_reciprocal, {sum(any(kExp))})}), softmax},
    {pat(FRL_OP_sub, {off(), pat(FRL_OP_log, {sum(pat(FRL_OP_exp, {any(kOff)}))})}), log_softmax},
};
const Rule kCasts[] = {
    {pat(FRL_OP_cast, {as(kWide, pat(FRL_OP_softmax, {pat(FRL_OP_cast, {any(kX)})}))}),
     without_casts},
    {pat(FRL_OP_cast, {as(kWide, pat(FRL_OP_log_softmax, {pat(FRL_OP_cast, {any(kX)})}))}),
     without_casts},
};

}  // namespace

extern const Pass recognise_softmax = {
    .name = "recognise_softmax",
    .doc = "softmax and its logarithm, written out, and casts around them",
    .run = rewrite_in_turn<kRules, kCasts>,
};

}  // namespace ferrule
