// rope, written out: halves or pairs of the last axis turned by angles.
//
// Either x * cos + turned(x) * sin, with tables that hold each angle twice, or both parts of each
// pair on their own and put together again. What of the last axis follows behind is not turned.
#include "core/pass/match.h"
#include "core/pass/rope_parts.h"

namespace ferrule {

extern const Pass merge_equal;

namespace {

constexpr uint32_t kX = 0, kCos = 1, kSin = 2, kFirst = 3, kSecond = 4, kJoin = 5, kPairs = 6,
                   kFirstCut = 7, kSecondCut = 8;

Pattern strided(uint32_t part) { return as(part, pat(FRL_OP_slice, {any(kX)})); }
// Out of [.., n, 2]: by an index, or by a slice whose axis is dropped.
Pattern picked(uint32_t part, uint32_t cut, Pattern pairs) {
  return one_of({as(part, pat(FRL_OP_gather, {pairs})),
                 as(part, pat(FRL_OP_reshape, {as(cut, pat(FRL_OP_slice, {pairs}))}))});
}
Pattern pairs() { return as(kPairs, pat(FRL_OP_reshape, {any(kX)})); }

bool are_parts(const Match& m, Twos twos) {
  const auto fits = [&](uint32_t part, uint32_t cut, int64_t number) {
    return is_part(m.graph, m.maker(m.has(cut) ? cut : part), m.shape(kX), twos, m.has(kPairs),
                   number);
  };
  return fits(kFirst, kFirstCut, 0) && fits(kSecond, kSecondCut, 1);
}
// One after the other along the last axis; of pairs, one beside the other.
bool are_joined(const Match& m, Twos twos) {
  const Node& join = m.maker(kJoin);
  const Shape& shape = m.shape(kJoin);
  return join.attributes.i(FRL_AT_concat_axis) == -1 &&
         (twos == Twos::halves || (shape.back() == 2 && shape.rank() == m.shape(kX).rank() + 1));
}

// ---- the two ways to turn ----

Result<ValueId> emit_rope(Match& m, Twos twos, ValueId cosine, ValueId sine) {
  return m.graph.emit(FRL_OP_rope,
                      Attributes(FRL_OP_rope).set_i(FRL_AT_rope_interleaved, twos == Twos::pairs),
                      {m[kX], cosine, sine});
}
template <Twos twos>
Result<ValueId> by_tables(Match& m) {
  if (!are_parts(m, twos) || !are_joined(m, twos) ||
      !holds_twice(m.graph, m[kCos], twos, m.read_parameters) ||
      !holds_twice(m.graph, m[kSin], twos, m.read_parameters))
    return kNoValue;
  FRL_LET(const ValueId cosine, taken_once(m.graph, m[kCos], twos));
  FRL_LET(const ValueId sine, taken_once(m.graph, m[kSin], twos));
  return emit_rope(m, twos, cosine, sine);
}
template <Twos twos>
Result<ValueId> by_parts(Match& m) {
  const int64_t n = m.shape(kX).rank() ? m.shape(kX).back() / 2 : 0;
  for (uint32_t table : {kCos, kSin})
    if (m.shape(table).rank() == 0 || m.shape(table).back() != n) return kNoValue;
  if (!are_parts(m, twos) || !are_joined(m, twos)) return kNoValue;
  return emit_rope(m, twos, m[kCos], m[kSin]);
}

Pattern times(Pattern a, Pattern b) { return pat(FRL_OP_mul, {std::move(a), std::move(b)}); }
Pattern whole(Pattern turned) {
  return pat(FRL_OP_add, {times(any(kX), any(kCos)), times(std::move(turned), any(kSin))});
}
Pattern joined(Pattern a, Pattern b) {
  return as(kJoin, pat(FRL_OP_concat, {std::move(a), std::move(b)}));
}
Pattern beside(Pattern a, Pattern b) {
  return pat(FRL_OP_reshape,
             {joined(pat(FRL_OP_reshape, {std::move(a)}), pat(FRL_OP_reshape, {std::move(b)}))});
}
Pattern minus(Pattern p) { return pat(FRL_OP_neg, {std::move(p)}); }
Pattern real(Pattern a, Pattern b) {
  return pat(FRL_OP_sub, {times(std::move(a), any(kCos)), times(std::move(b), any(kSin))});
}
Pattern other(Pattern a, Pattern b) {
  return pat(FRL_OP_add, {times(std::move(b), any(kCos)), times(std::move(a), any(kSin))});
}

const Rule kRules[] = {
    {whole(joined(minus(strided(kSecond)), strided(kFirst))), by_tables<Twos::halves>},
    {whole(beside(minus(strided(kSecond)), strided(kFirst))), by_tables<Twos::pairs>},
    {whole(beside(minus(picked(kSecond, kSecondCut, pairs())),
                  picked(kFirst, kFirstCut, any(kPairs)))),
     by_tables<Twos::pairs>},
    {joined(real(strided(kFirst), strided(kSecond)), other(any(kFirst), any(kSecond))),
     by_parts<Twos::halves>},
    {beside(real(strided(kFirst), strided(kSecond)), other(any(kFirst), any(kSecond))),
     by_parts<Twos::pairs>},
    {beside(real(picked(kFirst, kFirstCut, pairs()), picked(kSecond, kSecondCut, any(kPairs))),
            other(any(kFirst), any(kSecond))),
     by_parts<Twos::pairs>},
};
// Tables are shared by layers, and so are their halves.
Result<bool> run(Graph& graph, PassContext& context) {
  FRL_LET(const bool changed, rewrite(graph, kRules, Inner::swallows, context.read_parameters));
  if (!changed) return false;
  graph.compact();
  FRL_TRY(merge_equal.run(graph, context).status());
  return true;
}

}  // namespace

extern const Pass recognise_rope = {
    .name = "recognise_rope",
    .doc = "rotary embeddings, written out",
    .run = run,
};

}  // namespace ferrule
