// Bodies of CLOSED kinds under construction. Terms are read like the formulas they stand for; the
// first error sticks, and what follows it does nothing.
#pragma once

#include "core/graph/graph.h"

namespace ferrule {

class BodyBuilder;

// A value of a body, or none.
struct Term {
  BodyBuilder* in = nullptr;
  ValueId id = kNoValue;

  bool ok() const { return id != kNoValue; }
  Type type() const;
  const Shape& shape() const;  // [] of none
  int64_t rank() const { return int64_t(shape().rank()); }
  int64_t extent(int64_t from_end) const;  // 1 where there is no such axis
};

class BodyBuilder {
 public:
  BodyBuilder(const Attributes& given, std::string name) : attributes(given), graph(name) {}

  const Attributes& attributes;
  Graph graph;
  std::vector<Term> operands;  // none where missing

  Term operand(size_t i) { return i < operands.size() ? operands[i] : Term{this, kNoValue}; }
  Term none() { return {this, kNoValue}; }
  Term emit(OpId op, Attributes attributes, std::initializer_list<Term> operands);
  Term emit(OpId op, std::initializer_list<Term> operands) {
    return emit(op, Attributes(op), operands);
  }
  Term sibling(Term x, uint32_t result);  // another result of the node that made x
  Term number(Type type, double value) { return literal(Tensor::scalar(type, value)); }
  Term literal(Tensor known) { return {this, graph.add_literal(std::move(known))}; }

  // Keeps an error unless `fits`; the error is "WHAT: want WANT, got GOT".
  bool want(bool fits, std::string_view what, std::string_view wanted, std::string_view got);
  const Status& status() const { return status_; }

 private:
  Status status_;
};

Term operator+(Term a, Term b);
Term operator-(Term a, Term b);
Term operator*(Term a, Term b);
Term operator/(Term a, Term b);
Term operator+(Term a, double b);
Term operator-(double a, Term b);
Term operator*(Term a, double b);
Term operator/(Term a, double b);

Term apply(OpId pointwise, Term x);
Term cast(Term x, Type to);
Term reduce(OpId by, Term x, std::vector<int64_t> axes, bool keep = true);
Term sum(Term x, std::vector<int64_t> axes);
Term mean(Term x, const std::vector<int64_t>& axes);
Term softmax(Term x);
Term matmul(Term a, Term b);
Term reshape(Term x, std::vector<int64_t> shape);
Term broadcast(Term x, const Shape& shape);
Term transpose(Term x, std::vector<int64_t> order);
Term swap_last(Term x);  // the last two axes
// Elements begin, begin + step, .. of the last axis, n of them.
Term slice_last(Term x, int64_t begin, int64_t n, int64_t step = 1);
Term concat_last(Term a, Term b);

std::vector<int64_t> trailing_axes(int64_t n);

// Expansions; the results in order.
using Terms = std::vector<Term>;
Terms expand_attention(BodyBuilder& b);
Terms expand_attention_block(BodyBuilder& b);
Terms expand_transformer_layer(BodyBuilder& b);
Terms expand_attention_backward(BodyBuilder& b);
Terms expand_layer_norm(BodyBuilder& b);
Terms expand_rms_norm(BodyBuilder& b);
Terms expand_residual_layer_norm(BodyBuilder& b);
Terms expand_residual_rms_norm(BodyBuilder& b);
Terms expand_ada_layer_norm(BodyBuilder& b);
Terms expand_group_norm(BodyBuilder& b);
Terms expand_layer_norm_backward(BodyBuilder& b);
Terms expand_rms_norm_backward(BodyBuilder& b);
Terms expand_quantise(BodyBuilder& b);
Terms expand_dequantise(BodyBuilder& b);
Terms expand_fake_quantise(BodyBuilder& b);
Terms expand_matmul_quantised(BodyBuilder& b);
Terms expand_dot_general(BodyBuilder& b);

// Shared by norms of other kinds: scale and shift may be none.
Term normalise(Term x, const std::vector<int64_t>& axes, double epsilon, bool centred);
Term affine(Term y, Term scale, Term shift);

}  // namespace ferrule
