// swiglu, written out: one half of the last axis times silu of the other.
#include "core/pass/match.h"

namespace ferrule {
namespace {

constexpr uint32_t kX = 0, kUp = 1, kGate = 2;

// Which half of its operand's last axis a slice is, 0 or 1; 2: neither.
int half_of(const Graph& graph, const Node& slice) {
  const Shape &from = graph.shape(slice.operands[0]), &to = graph.shape(slice.results[0]);
  if (from.rank() == 0 || !from.is_exact() || from.back() != 2 * to.back()) return 2;
  for (size_t axis = 0; axis + 1 < from.rank(); ++axis)
    if (from[axis] != to[axis]) return 2;
  const auto& steps = slice.attributes.list(FRL_AT_slice_steps);
  if (!steps.empty() && steps.back() != 1) return 2;
  const int64_t start = slice.attributes.list(FRL_AT_slice_starts).back();
  return start == 0 ? 0 : start == to.back() ? 1 : 2;
}

Result<ValueId> swiglu(Match& m) {
  const int up = half_of(m.graph, m.maker(kUp)), gate = half_of(m.graph, m.maker(kGate));
  if (up + gate != 1) return kNoValue;
  return m.graph.emit(
      FRL_OP_swiglu, Attributes(FRL_OP_swiglu).set_i(FRL_AT_swiglu_gate_first, gate == 0), {m[kX]});
}

Pattern part(uint32_t slot) { return as(slot, pat(FRL_OP_slice, {any(kX)})); }

const Rule kRules[] = {
    {pat(FRL_OP_mul, {part(kUp), pat(FRL_OP_silu, {part(kGate)})}), swiglu},
};

}  // namespace

extern const Pass recognise_swiglu;
const Pass recognise_swiglu = {
    .name = "recognise_swiglu",
    .doc = "one half of a tensor times silu of the other, written out",
    .when = [](const PassContext&) { return std::string(); },
    .run = [](Graph& g, PassContext&) { return rewrite(g, kRules, Inner::swallows); },
};

}  // namespace ferrule
