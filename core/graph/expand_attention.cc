// Attention, alone, between its projections, in a whole layer, and its gradients.
#include <cmath>

#include "core/base/text.h"
#include "core/graph/body.h"

namespace ferrule {
namespace {

enum Mask : int64_t { kNone, kCausal, kAdditive, kBoolean };

// How scores become weights: attributes, and the mask operand where there is one.
struct Scoring {
  Term mask;
  int64_t kind = kNone, window = 0;
  double scale = 0, soft_cap = 0;
};

// Causal queries are aligned to the end of the keys: query i of s stands at key i + t - s of t.
Tensor visible(Type type, int64_t s, int64_t t, bool causal, int64_t window) {
  Tensor mask(TensorType{type, Shape{s, t}});
  for (int64_t i = 0; i < s; ++i)
    for (int64_t j = 0; j < t; ++j) {
      const int64_t behind = i + t - s - j;
      if ((causal && behind < 0) || (window > 0 && behind > window))
        mask.set_f64(i * t + j, -INFINITY);
    }
  return mask;
}

Term masked(Term scores, const Scoring& how) {
  BodyBuilder& b = *scores.in;
  const Type type = scores.type();
  const Shape shape = scores.shape();
  if (!b.want(how.kind >= kNone && how.kind <= kBoolean, "mask kind", "0 to 3", cat(how.kind)) ||
      !b.want(how.kind < kAdditive || how.mask.ok(), cat("mask kind ", how.kind), "a mask operand",
              "nothing") ||
      !b.want(how.window >= 0, "window", "0 or more", cat(how.window)))
    return scores;
  if (how.kind == kCausal || how.window > 0) {
    const int64_t s = scores.extent(-2), t = scores.extent(-1);
    if (!b.want(s == 0 || t <= INT32_MAX / s, "a causal mask", "at most 2^31 places",
                cat(s, " times ", t)))
      return scores;
    scores = scores + b.literal(visible(type, s, t, how.kind == kCausal, how.window));
  }
  if (how.kind == kAdditive) scores = scores + cast(how.mask, type);
  if (how.kind == kBoolean)
    scores = b.emit(FRL_OP_select, {how.mask, scores, b.number(type, -INFINITY)});
  b.want(scores.shape() == shape, "mask", cat("one that broadcasts to ", to_string(shape)),
         to_string(scores.shape()));
  return scores;
}

double scale_of(const Scoring& how, Term q) {
  return how.scale != 0 ? how.scale : 1 / std::sqrt(double(q.extent(-1)));
}

// Scores as they are softmaxed; `capped` those before the mask, divided by the cap.
Term score(Term q, Term k, const Scoring& how, Term* capped = nullptr) {
  Term scores = matmul(q, swap_last(k)) * scale_of(how, q);
  if (how.soft_cap != 0) {
    const Term t = apply(FRL_OP_tanh, scores / how.soft_cap);
    if (capped) *capped = t;
    scores = t * how.soft_cap;
  }
  return masked(scores, how);
}

Term attend(Term q, Term k, Term v, const Scoring& how) {
  BodyBuilder& b = *q.in;
  const Type type = q.type(), inner = wide(type);
  if (!b.want(q.rank() >= 2 && k.rank() == q.rank() && v.rank() == q.rank(), "q, k and v",
              "one rank, 2 or more", cat("ranks ", q.rank(), ", ", k.rank(), " and ", v.rank())))
    return q;
  const Term scores = score(cast(q, inner), cast(k, inner), how);
  return cast(matmul(softmax(scores), cast(v, inner)), type);
}

Term with_bias(Term x, Term bias) {
  if (!bias.ok()) return x;
  x.in->want(bias.rank() == 1 && bias.extent(-1) == x.extent(-1), "bias",
             cat("[", x.extent(-1), "]"), to_string(bias.shape()));
  return x + bias;
}

// [.., s, heads * d] as [.., heads, s, d], and back.
Term by_head(Term x, int64_t heads) {
  std::vector<int64_t> shape, order;
  for (int64_t axis = -x.rank(); axis < -1; ++axis) shape.push_back(x.extent(axis));
  shape.push_back(heads), shape.push_back(x.extent(-1) / heads);
  for (int64_t axis = -x.rank() - 1; axis < -3; ++axis) order.push_back(axis);
  order.insert(order.end(), {-2, -3, -1});
  return transpose(reshape(x, shape), order);
}
Term by_position(Term x) {
  std::vector<int64_t> shape, order;
  for (int64_t axis = -x.rank(); axis < -3; ++axis)
    shape.push_back(x.extent(axis)), order.push_back(axis);
  shape.push_back(x.extent(-2)), shape.push_back(x.extent(-3) * x.extent(-1));
  order.insert(order.end(), {-2, -3, -1});
  return reshape(transpose(x, order), shape);
}

struct Projections {
  Term qkv_w, qkv_b, out_w, out_b;
};

// 16-bit floats are widened once, at the door.
std::vector<Term> widened(BodyBuilder& b, size_t n) {
  std::vector<Term> out;
  const Type type = b.operand(0).type();
  for (size_t i = 0; i < n; ++i) {
    const Term x = b.operand(i);
    out.push_back(x.ok() && x.type() == type ? cast(x, wide(type)) : x);
  }
  return out;
}

Term attention_block(Term x, const Projections& p, int64_t heads, const Scoring& how) {
  BodyBuilder& b = *x.in;
  const int64_t h = p.qkv_w.extent(-1) / 3;
  if (!b.want(x.rank() >= 2, "x", "2 axes or more", to_string(x.shape())) ||
      !b.want(p.qkv_w.rank() == 2 && p.qkv_w.extent(-1) % 3 == 0, "qkv_w", "[c, 3h]",
              to_string(p.qkv_w.shape())) ||
      !b.want(heads >= 1 && h % heads == 0, "heads", cat("a divisor of ", h), cat(heads)))
    return x;
  const Term qkv = with_bias(matmul(x, p.qkv_w), p.qkv_b);
  Term parts[3];
  for (int64_t i = 0; i < 3; ++i) parts[i] = by_head(slice_last(qkv, i * h, h), heads);
  const Term mixed = attend(parts[0], parts[1], parts[2], how);
  return with_bias(matmul(by_position(mixed), p.out_w), p.out_b);
}

}  // namespace

Terms expand_attention(BodyBuilder& b) {
  const Attributes& a = b.attributes;
  return {attend(b.operand(0), b.operand(1), b.operand(2),
                 {b.operand(3), a.i(FRL_AT_attention_mask), a.i(FRL_AT_attention_window),
                  a.f(FRL_AT_attention_scale), a.f(FRL_AT_attention_soft_cap)})};
}

Terms expand_attention_block(BodyBuilder& b) {
  const Attributes& a = b.attributes;
  const Terms in = widened(b, 6);
  const Scoring how{in[3], a.i(FRL_AT_attention_block_mask), 0, a.f(FRL_AT_attention_block_scale)};
  const Term y =
      attention_block(in[0], {in[1], in[4], in[2], in[5]}, a.i(FRL_AT_attention_block_heads), how);
  return {cast(y, b.operand(0).type())};
}

Terms expand_transformer_layer(BodyBuilder& b) {
  const Attributes& a = b.attributes;
  const Terms in = widened(b, 14);
  const double epsilon = a.f(FRL_AT_transformer_layer_epsilon);
  const Scoring how{in[13], a.i(FRL_AT_transformer_layer_mask), 0,
                    a.f(FRL_AT_transformer_layer_scale)};
  const int64_t activation = a.i(FRL_AT_transformer_layer_activation);
  const OpRow* row = activation > 0 ? find_op(OpId(activation)) : nullptr;
  if (!b.want(row && row->form == Form::pointwise && row->max_operands == 1, "activation",
              "a pointwise op with one operand", cat(activation)))
    return {in[0]};
  const auto norm = [&](Term y, Term residual, size_t scale) {
    b.want(y.shape() == residual.shape(), "residual", to_string(y.shape()),
           to_string(residual.shape()));
    return affine(normalise(y + residual, {-1}, epsilon, true), in[scale], in[scale + 1]);
  };
  const Term attended = attention_block(in[0], {in[1], in[3], in[2], in[4]},
                                        a.i(FRL_AT_transformer_layer_heads), how);
  const Term first = norm(attended, in[0], 5);
  const Term hidden = apply(row->id, with_bias(matmul(first, in[7]), in[8]));
  return {cast(norm(with_bias(matmul(hidden, in[9]), in[10]), first, 11), b.operand(0).type())};
}

// With P = softmax(S): dV = P^T dY, dS = P (dP - sum(dP P)) with dP = dY V^T, dQ = dS K, dK = dS^T
// Q.
Terms expand_attention_backward(BodyBuilder& b) {
  const Attributes& a = b.attributes;
  const Type type = b.operand(0).type(), inner = wide(type);
  const Term q = cast(b.operand(0), inner), k = cast(b.operand(1), inner),
             v = cast(b.operand(2), inner), dy = cast(b.operand(3), inner);
  const Scoring how{b.operand(4), a.i(FRL_AT_attention_backward_mask),
                    a.i(FRL_AT_attention_backward_window), a.f(FRL_AT_attention_backward_scale),
                    a.f(FRL_AT_attention_backward_soft_cap)};
  if (!b.want(
          q.rank() >= 2 && k.rank() == q.rank() && v.rank() == q.rank() && dy.rank() == q.rank(),
          "q, k, v and gradient", "one rank, 2 or more", to_string(dy.shape())))
    return {q, k, v};
  Term capped = b.none();
  const Term weights = softmax(score(q, k, how, &capped));
  const Term dweights = matmul(dy, swap_last(v));
  b.want(dweights.shape() == weights.shape(), "gradient", "the shape of attention's result",
         to_string(dy.shape()));
  Term dscores = weights * (dweights - sum(dweights * weights, {-1}));
  if (how.soft_cap != 0) dscores = dscores * (1 - capped * capped);
  const Term scaled = dscores * scale_of(how, q);
  const Terms out = {cast(matmul(scaled, k), type), cast(matmul(swap_last(scaled), q), type),
                     cast(matmul(swap_last(weights), dy), type)};
  for (size_t i = 0; i < 3; ++i)
    b.want(out[i].shape() == b.operand(i).shape(), "q, k and v", "the same leading axes",
           to_string(b.operand(i).shape()));
  return out;
}

}  // namespace ferrule
