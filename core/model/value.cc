// Elements of values on demand: the cone of nodes above a value, by the reference evaluation.
#include <algorithm>

#include "core/base/text.h"
#include "core/model/block.h"

namespace ferrule {
namespace {

// A value that is asked for becomes part of the key under which an executable is kept.
constexpr int64_t kMostWantedBytes = 1 << 20;

void add_once(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

}  // namespace

Result<Tensor> ImportBlock::leaf_value(ValueId id, bool want) {
  const Value& value = graph_.value(id);
  if (value.role == Role::literal) return value.known;
  if (value.role == Role::parameter) {
    add_once(state_.read, value.name);
    return value.known;
  }
  if (outer_) {
    for (const auto& [from, to] : captures_)
      if (to == id) return outer_->value(outer_->at(ValueId(from)), want);
    return Status(Code::unsupported, "a shape depends on a value that a loop carries");
  }
  if (const auto given = state_.request.values.find(value.name);
      given != state_.request.values.end()) {
    if (given->second.type() == value.type) return given->second;
    return Status(Code::invalid_argument,
                  cat("value of input '", value.name, "': want ", to_string(value.type), ", got ",
                      to_string(given->second.type())));
  }
  if (want && value.type.size_bytes() <= kMostWantedBytes) add_once(state_.wanted, value.name);
  return Status(Code::unsupported,
                cat("a shape depends on the elements of input '", value.name, "'"));
}

Status ImportBlock::evaluate_node(const Node& node) {
  const OpRow* row = find_op(node.op);
  if (!row || !row->eval)
    return Status(Code::unsupported,
                  cat("a shape depends on what ", graph_.source_text(node), " computes"));
  std::vector<const Tensor*> operands;
  std::vector<const TensorType*> types;
  for (const ValueId id : node.operands) {
    operands.push_back(id == kNoValue ? nullptr : &values_.at(uint32_t(id)));
    types.push_back(operands.back() ? &operands.back()->type() : nullptr);
  }
  const OpCall call{*row, node.attributes, types};
  FRL_LET(const auto inferred, infer_results(call));
  std::vector<Tensor> results;
  // What sums over a window or a row may work long on few elements.
  const int64_t most = state_.request.limits.value_elements >> (is_light(node.op) ? 0 : 8);
  for (const TensorType& type : inferred) {
    if (type.shape.n_elements() > most)
      return Status(Code::out_of_limits, cat("a shape depends on ", to_string(type),
                                             ": want at most ", most, " elements"));
    if (!may_make(type.size_bytes())) return status_;
    results.emplace_back(type);
  }
  FRL_TRY(row->eval(call, operands, results).within(graph_.source_text(node)));
  for (size_t i = 0; i < results.size(); ++i)
    values_[uint32_t(node.results[i])] = std::move(results[i]);
  return {};
}

Result<Tensor> ImportBlock::value(Val asked, bool want) {
  if (failed()) return status_;
  std::vector<ValueId> open = {asked.id};
  std::vector<uint32_t> cone;  // nodes, in no order
  std::unordered_map<uint32_t, bool> seen;
  while (!open.empty()) {
    const ValueId id = open.back();
    open.pop_back();
    if (id == kNoValue || values_.contains(uint32_t(id))) continue;
    const Node* node = graph_.maker(id);
    if (!node) {
      FRL_LET(values_[uint32_t(id)], leaf_value(id, want));
      continue;
    }
    const auto number = uint32_t(graph_.value(id).maker);
    if (!seen.emplace(number, true).second) continue;
    cone.push_back(number);
    open.insert(open.end(), node->operands.begin(), node->operands.end());
  }
  // Nodes are emitted after the makers of their operands, so their numbers are an order.
  std::sort(cone.begin(), cone.end());
  for (const uint32_t number : cone) FRL_TRY(evaluate_node(graph_.node(NodeId(number))));
  return values_.at(uint32_t(asked.id));
}

}  // namespace ferrule
