#include "core/model/block.h"

#include "core/base/text.h"

namespace ferrule {
namespace {

constexpr int64_t kLiteralBytes = 64 << 10;

}  // namespace

const TensorType& Val::type() const {
  static const TensorType nothing;
  return ok() ? block->graph().type(id) : nothing;
}

int64_t Val::dim(int64_t axis) const {
  if (axis < 0) axis += rank();
  return axis >= 0 && axis < rank() ? shape()[size_t(axis)] : 0;
}

std::vector<int64_t> Val::dims() const {
  std::vector<int64_t> out;
  for (const Dim& dim : shape().dims()) out.push_back(dim.extent);
  return out;
}

bool ImportBlock::fold(OpId op, const Attributes& attributes, const std::vector<ValueId>& operands,
                       std::vector<Val>* results) {
  if (!is_light(op) || operands.empty()) return false;
  std::vector<const Tensor*> tensors;
  std::vector<const TensorType*> types;
  for (const ValueId id : operands) {
    const Tensor* literal = id == kNoValue ? nullptr : graph_.literal(id);
    if (!literal && id != kNoValue) return false;
    tensors.push_back(literal);
    types.push_back(literal ? &literal->type() : nullptr);
  }
  if (!tensors[0]) return false;
  const OpCall call{op_row(op), attributes, types};
  const auto inferred = infer_results(call);
  if (!inferred.ok()) return false;
  int64_t n_bytes = 0;
  for (const TensorType& type : *inferred) {
    if (type.size_bytes() > kLiteralBytes) return false;
    n_bytes += type.size_bytes();
  }
  if (state_.made_bytes + n_bytes > state_.request.limits.made_bytes / 4) return false;
  std::vector<Tensor> made;
  for (const TensorType& type : *inferred) made.emplace_back(type);
  // One that cannot be evaluated stays a node and fails when it runs, if it ever does.
  if (!call.row.eval(call, tensors, made).ok()) return false;
  state_.made_bytes += n_bytes;
  for (Tensor& tensor : made) results->push_back(at(graph_.add_literal(std::move(tensor))));
  return true;
}

std::vector<Val> ImportBlock::emit_all(OpId op, Attributes attributes, std::vector<Val> operands,
                                       std::vector<Body> bodies) {
  const uint32_t n_results = op_row(op).n_results;
  std::vector<Val> results;
  if (failed()) return std::vector<Val>(n_results);
  std::vector<ValueId> ids;
  for (const Val& operand : operands) ids.push_back(operand.id);
  while (!ids.empty() && ids.back() == kNoValue) ids.pop_back();
  if (bodies.empty() && fold(op, attributes, ids, &results)) return results;
  if (int64_t(graph_.n_nodes()) > 4 * state_.request.limits.n_nodes) {
    fail(
        Status(Code::out_of_limits, cat("want at most ", state_.request.limits.n_nodes, " nodes")));
    return std::vector<Val>(n_results);
  }
  auto node = graph_.emit_node(op, std::move(attributes), std::move(ids), std::move(bodies));
  if (!node.ok()) {
    fail(std::move(node).status());
    return std::vector<Val>(n_results);
  }
  for (const ValueId id : graph_.node(*node).results) results.push_back(at(id));
  return results;
}

Val ImportBlock::emit(OpId op, Attributes attributes, std::vector<Val> operands, size_t result) {
  const std::vector<Val> results = emit_all(op, std::move(attributes), std::move(operands));
  return result < results.size() ? results[result] : Val{this, kNoValue};
}

Val ImportBlock::literal(Tensor known) {
  if (failed()) return {this, kNoValue};
  return at(graph_.add_literal(std::move(known)));
}

Val ImportBlock::scalar(Type type, double value) {
  if (failed() || type == Type::none) return {this, kNoValue};
  return literal(Tensor::scalar(type, value));
}

bool ImportBlock::may_make(int64_t n_bytes) {
  const int64_t most = state_.request.limits.made_bytes;
  if (!failed() && n_bytes <= most - state_.made_bytes) return state_.made_bytes += n_bytes, true;
  fail(Status(Code::out_of_limits, cat("want at most ", most, " bytes of computed tensors")));
  return false;
}

Val ImportBlock::made(Tensor known, const std::string& name) {
  if (known.type().size_bytes() <= kLiteralBytes) return literal(std::move(known));
  return parameter(std::move(known), name);
}

Val ImportBlock::parameter(Tensor known, const std::string& name) {
  if (failed()) return {this, kNoValue};
  if (outer_) return bring(outer_->parameter(std::move(known), name));
  std::string unique = name;
  while (state_.parameter_names.contains(unique))
    unique = cat(name, "#", ++state_.parameter_names[name]);
  state_.parameter_names[unique];
  return at(graph_.add_parameter(std::move(known), unique));
}

Val ImportBlock::bring(Val value) {
  if (failed() || value.block == this || !value.ok()) return {this, failed() ? kNoValue : value.id};
  if (!outer_) {
    fail(Status(Code::internal, "a value of an inner block is used outside of it"));
    return {this, kNoValue};
  }
  const Val near = outer_->bring(value);
  if (!near.ok()) {
    fail(outer_->status());
    return {this, kNoValue};
  }
  const auto [found, is_new] = captures_.emplace(uint32_t(near.id), kNoValue);
  if (!is_new) return at(found->second);
  if (const Tensor* known = outer_->graph().literal(near.id)) {
    found->second = graph_.add_literal(*known);
    return at(found->second);
  }
  if (!near.shape().is_exact()) {
    fail(Status(Code::unsupported,
                cat("a body uses a value of data-dependent shape ", to_string(near.type()))));
    return {this, kNoValue};
  }
  found->second = graph_.add_input(near.type(), cat("outer", captured_.size()));
  captured_.push_back(near.id);
  return at(found->second);
}

}  // namespace ferrule
