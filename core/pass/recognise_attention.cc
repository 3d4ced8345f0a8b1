// attention, written out: softmax(q k^T, scaled and masked) v. Keys that are not written as a
// transpose stay: turning them back would cost what the kind saves.
#include <cmath>

#include "core/pass/attention_parts.h"
#include "core/pass/match.h"

namespace ferrule {
namespace {

constexpr uint32_t kQ = 0, kKeys = 1, kV = 2, kMask = 3, kFill = 4, kKeep = 5, kDrop = 6, kCap = 7,
                   kCapped = 8, kSoftmax = 9, kTurned = 10, kFirstFactor = 11, kPlaces = 3;

// p, or p times or over a number, in the slots of that place.
Pattern scaled(Pattern p, uint32_t place) {
  const uint32_t times = kFirstFactor + 2 * place;
  return one_of({pat(FRL_OP_mul, {p, number(times)}), pat(FRL_OP_div, {p, number(times + 1)}), p});
}
double scale_of(const Match& m) {
  double scale = 1;
  for (uint32_t slot = kFirstFactor; slot < kFirstFactor + 2 * kPlaces; slot += 2) {
    if (m.has(slot)) scale *= m.number(slot);
    if (m.has(slot + 1)) scale /= m.number(slot + 1);
  }
  return scale;
}

// Keras multiplies keys by queries and turns the scores.
Pattern scores() {
  const Pattern q = scaled(any(kQ), 0), k = scaled(any(kKeys), 1);
  return scaled(one_of({pat(FRL_OP_matmul, {q, k}),
                        as(kTurned, pat(FRL_OP_transpose, {pat(FRL_OP_matmul, {k, q})}))}),
                2);
}
Pattern capped() {
  return one_of({pat(FRL_OP_mul, {pat(FRL_OP_tanh, {pat(FRL_OP_div, {scores(), number(kCapped)})}),
                                  number(kCap)}),
                 scores()});
}
Pattern masked(Pattern p) {
  return one_of({pat(FRL_OP_add, {p, any(kMask)}),
                 pat(FRL_OP_select, {any(kKeep), p, number(kFill)}),
                 pat(FRL_OP_select, {any(kDrop), number(kFill), p}), p});
}
Pattern weights() {
  const Pattern p = masked(capped());
  return maybe(FRL_OP_cast, as(kSoftmax, pat(FRL_OP_softmax, {maybe(FRL_OP_cast, p)})));
}

// One type all along, or 16 bits with the softmax between casts to 32 bits and back.
bool types_fit(const Match& m) {
  const Type type = m.graph.type(m.graph.node(m.root).results[0]).type;
  const Type inner = m.graph.type(m[kSoftmax]).type;
  return inner == type || (inner == Type::f32 && size_bytes(type) == 2);
}

Result<Mask> mask_of(Match& m) {
  if (m.has(kMask)) return Mask{Mask::additive, m[kMask]};
  if (!m.has(kFill)) return Mask{};
  const bool keeps = m.has(kKeep);
  return filled_mask(m.graph, m[keeps ? kKeep : kDrop], keeps, m[kFill]);
}

Result<ValueId> attention(Match& m) {
  const bool turned = m.has(kTurned);
  double scale = scale_of(m), cap = m.has(kCap) ? m.number(kCap) : 0;
  if (!types_fit(m) || m.maker(kSoftmax).attributes.i(FRL_AT_softmax_axis) != -1 || scale == 0 ||
      (turned && !swaps_last(m.maker(kTurned))) || (m.has(kCap) && m.number(kCapped) != cap))
    return kNoValue;
  FRL_LET(const ValueId other, transposed(m.graph, m[turned ? kQ : kKeys]));
  FRL_LET(const Mask mask, mask_of(m));
  if (other == kNoValue || mask.kind == Mask::other) return kNoValue;
  const ValueId q = turned ? other : m[kQ], k = turned ? m[kKeys] : other;
  const double usual = std::sqrt(double(m.graph.shape(q).back()));
  if (std::abs(scale * usual - 1) < 1e-6) scale = 0;  // the default
  std::vector<ValueId> operands = {q, k, m[kV]};
  if (mask.operand != kNoValue) operands.push_back(mask.operand);
  return m.graph.emit(FRL_OP_attention,
                      Attributes(FRL_OP_attention)
                          .set_i(FRL_AT_attention_mask, mask.kind)
                          .set_f(FRL_AT_attention_scale, scale)
                          .set_f(FRL_AT_attention_soft_cap, cap),
                      std::move(operands));
}

const Rule kRules[] = {{pat(FRL_OP_matmul, {weights(), any(kV)}), attention}};

}  // namespace

extern const Pass recognise_attention = {
    .name = "recognise_attention",
    .doc = "attention with and without a mask, written out",
    .run = rewrite_in_turn<kRules>,
};

}  // namespace ferrule
