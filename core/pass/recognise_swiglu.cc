// swiglu, written out: one half of the last axis times silu of the other.
#include "core/pass/match.h"
#include "core/pass/regions.h"

namespace ferrule {
namespace {

constexpr uint32_t kX = 0, kUp = 1, kGate = 2;

Result<ValueId> swiglu(Match& m) {
  const auto up = half_of(m.graph, m[kUp]), gate = half_of(m.graph, m[kGate]);
  if (!up || !gate || *up + *gate != 1) return kNoValue;
  return m.graph.emit(FRL_OP_swiglu,
                      Attributes(FRL_OP_swiglu).set_i(FRL_AT_swiglu_gate_first, *gate == 0),
                      {m[kX]});
}

Pattern part(uint32_t slot) { return as(slot, pat(FRL_OP_slice, {any(kX)})); }

const Rule kRules[] = {
    {pat(FRL_OP_mul, {part(kUp), pat(FRL_OP_silu, {part(kGate)})}), swiglu},
};

}  // namespace

extern const Pass recognise_swiglu = {
    .name = "recognise_swiglu",
    .doc = "one half of a tensor times silu of the other, written out",
    .run = rewrite_in_turn<kRules>,
};

}  // namespace ferrule
