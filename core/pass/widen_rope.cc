// A rotary embedding of the first elements of an axis takes in those behind them, which stay as
// they are.
#include "core/pass/match.h"

namespace ferrule {
namespace {

constexpr uint32_t kX = 0, kTurned = 1, kRest = 2, kRope = 3;

Result<ValueId> partial(Match& m) {
  const Node rope = m.maker(kRope);
  const Shape& turned = m.shape(kTurned);
  const auto starts = [&](uint32_t slot) {
    const Attributes& a = m.maker(slot).attributes;
    const auto& steps = a.list(FRL_AT_slice_steps);
    return steps.empty() || steps.back() == 1 ? a.list(FRL_AT_slice_starts).back() : -1;
  };
  const bool follows = starts(kTurned) == 0 && starts(kRest) == turned.back() &&
                       2 * m.graph.shape(rope.operands[1]).back() == turned.back();
  if (!follows) return kNoValue;
  return m.graph.emit(FRL_OP_rope, rope.attributes, {m[kX], rope.operands[1], rope.operands[2]});
}

Pattern cut(uint32_t slot) { return as(slot, pat(FRL_OP_slice, {any(kX)})); }

const Rule kRules[] = {
    {pat(FRL_OP_concat, {as(kRope, pat(FRL_OP_rope, {cut(kTurned)})), cut(kRest)}), partial},
};

}  // namespace

extern const Pass widen_rope = {
    .name = "widen_rope",
    .doc = "rotary embeddings take in the elements that they leave as they are",
    .run = rewrite_in_turn<kRules>,
};

}  // namespace ferrule
