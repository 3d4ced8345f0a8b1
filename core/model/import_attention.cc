// Attention and rotary embedding of opset 23.
#include <algorithm>
#include <cmath>

#include "core/base/text.h"
#include "core/model/importer.h"

namespace ferrule {
namespace {

// [b, s, heads * d] becomes [b, heads, s, d]; four axes stay.
Val by_head(Val x, int64_t heads) {
  if (x.rank() != 3) return x;
  return transpose(reshape(x, {x.dim(0), x.dim(1), heads, heads > 0 ? x.dim(2) / heads : 0}),
                   {0, 2, 1, 3});
}

// Query i of s sees keys up to i + past; the place of the first key is 0.
Tensor visible(int64_t s, int64_t t, int64_t past) {
  Tensor out(TensorType{Type::boolean, Shape{s, t}});
  for (int64_t i = 0; i < s; ++i)
    for (int64_t j = 0; j < std::min(t, i + past + 1); ++j) out.set_f64(i * t + j, 1);
  return out;
}

struct Attention {
  Val q, k, v;  // [b, kv heads, s * group, d] where heads share keys, else [b, heads, s, d]
  Val mask;     // boolean or additive, broadcasts to [b, heads, s, t]; none if there is none
  bool causal = false;
  double scale = 1, softcap = 0;
};

Val to_additive(Val mask, Type type) {
  if (mask.element() != Type::boolean) return cast(mask, type);
  ImportBlock& block = *mask.block;
  return select(mask, block.scalar(type, 0), block.scalar(type, -INFINITY));
}

// The kind that devices know, for all that it can say.
Val as_kind(ImportBlock& block, const Attention& a) {
  Attributes attributes(FRL_OP_attention);
  attributes.set_f(FRL_AT_attention_scale, a.scale);
  attributes.set_i(FRL_AT_attention_mask, a.causal                            ? 1
                                          : !a.mask.ok()                      ? 0
                                          : a.mask.element() == Type::boolean ? 3
                                                                              : 2);
  return block.emit(FRL_OP_attention, attributes, {a.q, a.k, a.v, a.mask});
}

// Every step on its own; `stages` are what qk_matmul_output_mode counts.
Val written_out(const Attention& a, std::vector<Val>* stages) {
  stages->push_back(matmul(a.q, swap_last(a.k)) * a.scale);
  stages->push_back(a.mask.ok() ? stages->back() + to_additive(a.mask, a.q.element())
                                : stages->back());
  const Val capped =
      a.softcap > 0 ? apply(FRL_OP_tanh, stages->back() / a.softcap) * a.softcap : stages->back();
  stages->push_back(capped);
  stages->push_back(softmax(capped, -1));
  return matmul(stages->back(), a.v);
}

// The two kinds of mask and the causal one, as one.
void add_masks(ModelNode& n, Attention& a, int64_t past, bool plain) {
  if (n.has(3)) a.mask = n.in(3);
  if (!n.i("is_causal", 0)) return;
  const int64_t s = a.q.dim(2), t = a.k.dim(2);
  // The kind aligns the last query with the last key.
  a.causal = plain && !a.mask.ok() && t - s == past;
  if (a.causal) return;
  if (s > INT32_MAX || t > INT32_MAX || !n.block().may_make(s * t)) return;
  const Val triangle = n.block().made(visible(s, t, past), n.out_name(0));
  if (!a.mask.ok())
    a.mask = triangle;
  else if (a.mask.element() == Type::boolean)
    a.mask = apply(FRL_OP_logical_and, a.mask, triangle);
  else
    a.mask = a.mask + to_additive(triangle, a.mask.element());
}

void attention(ModelNode& n) {
  const Val q = n.in(0);
  const bool flat = q.rank() == 3;
  Attention a;
  a.mask = {&n.block(), kNoValue};
  const int64_t q_heads = flat ? n.need_i("q_num_heads") : q.dim(1),
                kv_heads = flat ? n.need_i("kv_num_heads") : n.in(1).dim(1);
  const auto splits = [&](Val x, int64_t heads) {
    return x.rank() == q.rank() && heads > 0 && (!flat || x.dim(2) % heads == 0);
  };
  const bool fits = (flat || q.rank() == 4) && splits(q, q_heads) && splits(n.in(1), kv_heads) &&
                    splits(n.in(2), kv_heads) && q_heads % kv_heads == 0;
  if (!n.want(fits, "q, k and v of three or four axes, q heads a multiple of kv heads")) return;
  a.q = by_head(q, q_heads), a.k = by_head(n.in(1), kv_heads), a.v = by_head(n.in(2), kv_heads);
  int64_t past = 0;
  if (n.has(4) && n.has(5)) {
    past = n.in(4).dim(2);
    a.k = concat({n.in(4), a.k}, 2), a.v = concat({n.in(5), a.v}, 2);
  }
  n.out(1, a.k);
  n.out(2, a.v);
  a.scale = n.f("scale", 1 / std::sqrt(double(a.q.dim(3))));
  a.softcap = n.f("softcap", 0);
  const bool plain = a.softcap == 0 && !n.wants(3);
  add_masks(n, a, past, plain);
  if (n.failed()) return;
  const Ints full = {a.q.dim(0), q_heads, a.q.dim(2), a.v.dim(3)};
  const int64_t group = q_heads / kv_heads;
  if (group > 1) {  // heads that share keys stand beside them: [b, kv heads, group, s, d]
    a.q = reshape(a.q, {a.q.dim(0), kv_heads, group, a.q.dim(2), a.q.dim(3)});
    a.k = unsqueeze(a.k, {2}), a.v = unsqueeze(a.v, {2});
    if (a.mask.ok() && a.mask.rank() >= 3) {
      const int64_t heads = a.mask.dim(-3);
      Ints dims = a.mask.dims();
      dims.erase(dims.end() - 3);
      dims.insert(dims.end() - 2, {heads == 1 ? 1 : kv_heads, heads == 1 ? 1 : group});
      a.mask = reshape(a.mask, dims);
    }
  }
  std::vector<Val> stages;
  Val y = plain ? as_kind(n.block(), a) : written_out(a, &stages);
  y = reshape(y, full);
  if (flat) y = reshape(transpose(y, {0, 2, 1, 3}), {full[0], full[2], q_heads * full[3]});
  n.out(0, y);
  const int64_t mode = n.i("qk_matmul_output_mode", 0);
  if (!n.wants(3)) return;
  if (mode < 0 || mode > 3) return n.fail(cat("qk_matmul_output_mode: want 0 to 3, got ", mode));
  n.out(3, reshape(stages[size_t(mode)], {full[0], q_heads, full[2], a.k.dim(-2)}));
}

// Pairs of elements turned by an angle for each position.
void rotary_embedding(ModelNode& n) {
  const Val given = n.in(0);
  const int64_t heads = n.i("num_heads", 0);
  const bool flat = given.rank() == 3;
  if (!n.want(given.rank() == 4 || (flat && heads > 0 && given.dim(2) % heads == 0),
              "four axes, or three and num_heads"))
    return;
  const Val x = by_head(given, heads);
  const int64_t width = x.dim(3), asked = n.i("rotary_embedding_dim", 0),
                turned = asked > 0 ? asked : width;
  if (!n.want(turned % 2 == 0 && turned <= width, "an even number of elements to turn")) return;
  Val cosine = n.in(1), sine = n.in(2);
  if (n.has(3)) cosine = gather(cosine, n.in(3), 0), sine = gather(sine, n.in(3), 0);
  if (!n.want(cosine.rank() == 3 && cosine.dims() == sine.dims() && cosine.dim(2) == turned / 2,
              "angles [b, s, d / 2]"))
    return;
  cosine = unsqueeze(cosine, {1}), sine = unsqueeze(sine, {1});
  const Val part = slice(x, 3, 0, turned);
  const bool interleaved = n.i("interleaved", 0) != 0;
  const int64_t half = turned / 2;
  const Val a = interleaved ? slice(part, 3, 0, half, 2) : slice(part, 3, 0, half);
  const Val b = interleaved ? slice(part, 3, 1, half, 2) : slice(part, 3, half, half);
  const Val real = cosine * a - sine * b, imaginary = sine * a + cosine * b;
  Val y = interleaved
              ? reshape(concat({unsqueeze(real, {4}), unsqueeze(imaginary, {4})}, 4), part.dims())
              : concat({real, imaginary}, 3);
  if (turned < width) y = concat({y, slice(x, 3, turned, width - turned)}, 3);
  n.out(0, flat ? reshape(transpose(y, {0, 2, 1, 3}), given.dims()) : y);
}

constexpr ImportRow kRows[] = {
    {"", "Attention", 23, kEver, attention, "3..6>4",
     "is_causal kv_num_heads q_num_heads qk_matmul_output_mode scale softcap softmax_precision"},
    {"", "RotaryEmbedding", 23, kEver, rotary_embedding, "3..4>1",
     "interleaved num_heads rotary_embedding_dim"},
};

}  // namespace

std::span<const ImportRow> attention_rows() { return kRows; }

}  // namespace ferrule
