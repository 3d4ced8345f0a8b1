// Building and rewriting; see graph.h.
#include "core/graph/graph.h"

#include <cassert>

#include "core/base/text.h"

namespace ferrule {

ValueId Graph::add_value(Value value) {
  values_.push_back(std::move(value));
  replaced_.push_back(kNoValue);
  return ValueId(values_.size() - 1);
}

ValueId Graph::add_input(const TensorType& type, std::string name) {
  const ValueId id = add_value({.type = type, .role = Role::input, .name = std::move(name)});
  inputs_.push_back(id);
  return id;
}

ValueId Graph::add_state(const TensorType& type, std::string name) {
  const ValueId id = add_value({.type = type, .role = Role::state, .name = std::move(name)});
  inputs_.push_back(id);
  return id;
}

ValueId Graph::add_parameter(Tensor known, std::string name) {
  const TensorType type = known.type();
  return add_value(
      {.type = type, .role = Role::parameter, .name = std::move(name), .known = std::move(known)});
}

ValueId Graph::add_literal(Tensor known) {
  const TensorType type = known.type();
  return add_value({.type = type, .role = Role::literal, .known = std::move(known)});
}

uint32_t Graph::add_symbol(Symbol symbol) {
  symbols_.push_back(std::move(symbol));
  return uint32_t(symbols_.size());
}

SourceId Graph::add_source(Source source) {
  sources_.push_back(std::move(source));
  return SourceId(sources_.size() - 1);
}

Result<NodeId> Graph::emit_node(OpId op, Attributes attributes, std::vector<ValueId> operands,
                                std::vector<Body> bodies) {
  for (ValueId& operand : operands)
    if (operand != kNoValue) operand = resolve(operand);
  FRL_LET(auto types, infer_node(op, attributes, operands, bodies));
  const NodeId id{uint32_t(nodes_.size())};
  std::vector<ValueId> results;
  uint32_t written = 0;  // a node writes at most one extent, which may stand in several results
  for (TensorType& type : types) {
    for (size_t axis = 0; axis < type.shape.rank(); ++axis) {
      Dim dim = type.shape.dim(axis);
      if (dim.symbol != kWrittenSymbol) continue;
      if (!written) written = add_symbol({.max = dim.extent, .written = true});
      dim.symbol = written;
      type.shape.set(axis, dim);
    }
    const auto result = uint32_t(results.size());
    results.push_back(add_value({.type = type, .maker = id, .result = result}));
  }
  nodes_.push_back({op,
                    std::move(attributes),
                    std::move(operands),
                    std::move(results),
                    std::move(bodies),
                    current_sources_,
                    {},
                    current_device_});
  return id;
}

Result<ValueId> Graph::emit(OpId op, Attributes attributes, std::vector<ValueId> operands,
                            uint32_t result) {
  FRL_LET(const NodeId id, emit_node(op, std::move(attributes), std::move(operands)));
  return node(id).results[result];
}

void Graph::add_output(ValueId value, std::string name, bool droppable) {
  outputs_.push_back({value, std::move(name), droppable});
}

void Graph::replace(ValueId old, ValueId by) {
  by = resolve(by);
  assert(type(old) == type(by));
  if (by != old) replaced_[index(old)] = by;
}

ValueId Graph::resolve(ValueId value) const {
  while (replaced_[index(value)] != kNoValue) value = replaced_[index(value)];
  return value;
}

const Node* Graph::maker(ValueId id) const {
  const Value& v = value(id);
  return v.maker == kNoNode ? nullptr : &node(v.maker);
}

const Tensor* Graph::known(ValueId id) const {
  const Value& v = value(id);
  return v.role == Role::parameter || v.role == Role::literal ? &v.known : nullptr;
}

const Tensor* Graph::literal(ValueId id) const {
  const Value& v = value(id);
  return v.role == Role::literal ? &v.known : nullptr;
}

std::optional<ValueId> Graph::find_input(std::string_view name) const {
  for (ValueId id : inputs_)
    if (value(id).name == name) return id;
  return {};
}

std::vector<uint32_t> Graph::count_uses() const {
  std::vector<uint32_t> uses(values_.size());
  for (const Node& node : nodes_)
    for (ValueId operand : node.operands)
      if (operand != kNoValue) ++uses[index(resolve(operand))];
  for (const Output& output : outputs_) ++uses[index(resolve(output.value))];
  return uses;
}

std::string Graph::source_text(const Node& node) const {
  std::string out;
  for (SourceId id : node.sources) {
    if (!out.empty()) out += ", ";
    out += cat(source(id).name.empty() ? "unnamed" : source(id).name, " (", source(id).op, ")");
  }
  return out.empty() ? std::string(node.kind_name.empty() ? op_row(node.op).name : node.kind_name)
                     : out;
}

// Live nodes, each after the makers of its operands; otherwise in the order in which they stand.
std::vector<NodeId> Graph::topological_order() const {
  enum Mark : uint8_t { unseen, open, done };
  std::vector<Mark> marks(nodes_.size(), unseen);
  std::vector<bool> live(nodes_.size());
  std::vector<NodeId> order, stack;
  // Liveness first, so that the stable order below visits live nodes only.
  const auto reach = [&](ValueId id) {
    const NodeId maker = value(resolve(id)).maker;
    if (maker == kNoNode || live[index(maker)]) return;
    live[index(maker)] = true;
    stack.push_back(maker);
  };
  for (const Output& output : outputs_) reach(output.value);
  while (!stack.empty()) {
    const NodeId id = stack.back();
    stack.pop_back();
    for (ValueId operand : node(id).operands)
      if (operand != kNoValue) reach(operand);
  }
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (!live[i] || marks[i] == done) continue;
    stack.push_back(NodeId(i));
    while (!stack.empty()) {
      const NodeId id = stack.back();
      if (marks[index(id)] == done) {
        stack.pop_back();
        continue;
      }
      const bool returning = marks[index(id)] == open;
      marks[index(id)] = returning ? done : open;
      if (returning) {
        order.push_back(id);
        stack.pop_back();
        continue;
      }
      const auto& operands = node(id).operands;
      for (auto it = operands.rbegin(); it != operands.rend(); ++it) {
        if (*it == kNoValue) continue;
        const NodeId maker = value(resolve(*it)).maker;
        if (maker != kNoNode && marks[index(maker)] == unseen) stack.push_back(maker);
      }
    }
  }
  return order;
}

void Graph::compact() {
  const std::vector<NodeId> order = topological_order();
  std::vector<bool> keep(values_.size());
  const auto mark = [&](ValueId id) {
    if (id != kNoValue) keep[index(resolve(id))] = true;
  };
  for (ValueId id : inputs_) keep[index(id)] = true;
  for (NodeId id : order) {
    for (ValueId operand : node(id).operands) mark(operand);
    for (ValueId result : node(id).results) keep[index(result)] = true;
  }
  for (const Output& output : outputs_) mark(output.value);

  std::vector<ValueId> renamed(values_.size(), kNoValue);
  std::vector<Value> values;
  for (size_t i = 0; i < values_.size(); ++i) {
    if (!keep[i]) continue;
    renamed[i] = ValueId(values.size());
    values.push_back(std::move(values_[i]));
  }
  const auto rename = [&](ValueId& id) {
    if (id != kNoValue) id = renamed[index(resolve(id))];
  };
  std::vector<Node> nodes;
  for (NodeId id : order) {
    Node node = std::move(nodes_[index(id)]);
    for (ValueId& operand : node.operands) rename(operand);
    for (ValueId& result : node.results) {
      result = renamed[index(result)];  // a replaced result is still this node's
      values[index(result)].maker = NodeId(nodes.size());
    }
    nodes.push_back(std::move(node));
  }
  for (Output& output : outputs_) rename(output.value);
  for (ValueId& id : inputs_) id = renamed[index(id)];
  for (StatePair& pair : state_pairs_) pair.leaf = renamed[index(pair.leaf)];
  values_ = std::move(values);
  nodes_ = std::move(nodes);
  replaced_.assign(values_.size(), kNoValue);
}

}  // namespace ferrule
