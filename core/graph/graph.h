// Graph: typed SSA nodes in topological order, with positional, named outputs.
//
// A region is a node whose op is a kind. A CLOSED kind's body is expand(node); an OPEN kind and a
// CONTROL op carry their bodies, which are graphs of their own that see only their inputs.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/op/op.h"

namespace ferrule {

enum class ValueId : uint32_t {};
enum class NodeId : uint32_t {};
enum class SourceId : uint32_t {};
constexpr ValueId kNoValue{UINT32_MAX};  // an optional operand that is missing
constexpr NodeId kNoNode{UINT32_MAX};

constexpr size_t index(ValueId id) { return size_t(id); }
constexpr size_t index(NodeId id) { return size_t(id); }

enum class Role : uint8_t { computed, input, parameter, state, literal };

// A node of the model, as its author named it.
struct Source {
  std::string name;
  std::string op;
  bool operator==(const Source&) const = default;
};

// An extent that is not known when the graph is built.
struct Symbol {
  std::string name;
  int64_t min = 0, max = 0, multiple = 1;
  bool written = false;  // by the kernel of the node that makes it, else given at submit
};

struct Value {
  TensorType type;
  Role role = Role::computed;
  NodeId maker = kNoNode;  // of computed values
  uint32_t result = 0;     // which of the maker's results
  std::string name;        // of inputs, parameters and states; elsewhere the model's, or empty
  Tensor known;            // of parameters and literals
};

class Graph;
using Body = std::shared_ptr<const Graph>;

struct Node {
  OpId op = 0;
  Attributes attributes;
  std::vector<ValueId> operands;
  std::vector<ValueId> results;
  std::vector<Body> bodies;
  std::vector<SourceId> sources;  // sorted
  std::string kind_name;          // of a vendor's kind; empty otherwise
  int32_t device = -1;            // number among the placement's devices; -1 not placed
};

struct Output {
  ValueId value = kNoValue;
  std::string name;
  bool droppable = false;  // the caller allows that it comes back as absent
  bool absent = false;     // it does: its value has no elements
};

// "Output `output` is the next value of state leaf `leaf`."
struct StatePair {
  ValueId leaf;
  size_t output;
};

class Graph {
 public:
  explicit Graph(std::string name = {}) : name_(std::move(name)) {}

  // Leaves, in the order in which bodies bind them.
  ValueId add_input(const TensorType& type, std::string name);
  ValueId add_state(const TensorType& type, std::string name);
  ValueId add_parameter(Tensor known, std::string name);
  ValueId add_literal(Tensor known);
  uint32_t add_symbol(Symbol symbol);  // what Dim::symbol names: 1, 2, ...
  // A body's shapes name the symbols of the graph around it.
  void share_symbols(const Graph& other) { symbols_ = other.symbols_; }

  // Appends a node; result types come from infer_results(), the bodies or the expansion.
  //   errors  invalid_argument from the op's shape rule
  Result<NodeId> emit_node(OpId op, Attributes attributes, std::vector<ValueId> operands,
                           std::vector<Body> bodies = {});
  // The same for a node of which one result is wanted.
  Result<ValueId> emit(OpId op, Attributes attributes, std::vector<ValueId> operands,
                       uint32_t result = 0);
  Result<ValueId> emit(OpId op, std::vector<ValueId> operands) {
    return emit(op, Attributes(op), std::move(operands));
  }
  void add_output(ValueId value, std::string name, bool droppable = false);
  void add_state_pair(StatePair pair) { state_pairs_.push_back(pair); }

  // Nodes emitted from now on come from these nodes of the model.
  SourceId add_source(Source source);
  void set_sources(std::vector<SourceId> sources) { current_sources_ = std::move(sources); }
  // Nodes emitted from now on are placed on this device.
  void set_device(int32_t device) { current_device_ = device; }

  // From now on every use of `old`, as operand or output, is a use of `by`. The types are equal.
  // Takes effect in compact(); until then resolve() tells.
  void replace(ValueId old, ValueId by);
  ValueId resolve(ValueId value) const;

  // Carries out replacements, drops nodes and leaves that no output needs (inputs and states stay),
  // sorts nodes topologically (stable) and renumbers everything. Ids from before are void.
  void compact();

  const std::string& name() const { return name_; }
  size_t n_values() const { return values_.size(); }
  size_t n_nodes() const { return nodes_.size(); }
  const Value& value(ValueId id) const { return values_[index(id)]; }
  Value& value(ValueId id) { return values_[index(id)]; }
  const Node& node(NodeId id) const { return nodes_[index(id)]; }
  Node& node(NodeId id) { return nodes_[index(id)]; }
  const TensorType& type(ValueId id) const { return values_[index(id)].type; }
  const Shape& shape(ValueId id) const { return values_[index(id)].type.shape; }
  std::span<const Node> nodes() const { return nodes_; }
  std::span<const Value> values() const { return values_; }
  std::span<const ValueId> inputs() const { return inputs_; }  // inputs and states
  std::span<const Output> outputs() const { return outputs_; }
  std::span<Output> outputs() { return outputs_; }
  std::span<const StatePair> state_pairs() const { return state_pairs_; }
  std::span<const Symbol> symbols() const { return symbols_; }
  std::span<const Source> all_sources() const { return sources_; }
  const Source& source(SourceId id) const { return sources_[size_t(id)]; }

  const Node* maker(ValueId id) const;      // null for leaves
  const Tensor* known(ValueId id) const;    // of parameters and literals, else null
  const Tensor* literal(ValueId id) const;  // of literals only, else null
  std::optional<ValueId> find_input(std::string_view name) const;

  // How often each value is used: once for each operand place and once for each output.
  std::vector<uint32_t> count_uses() const;
  // "conv1 (Conv), relu1 (Relu)": the model nodes that a node stands for.
  std::string source_text(const Node& node) const;

 private:
  ValueId add_value(Value value);
  Result<std::vector<TensorType>> infer_node(OpId op, const Attributes& attributes,
                                             const std::vector<ValueId>& operands,
                                             const std::vector<Body>& bodies);
  std::vector<NodeId> topological_order() const;

  std::string name_;
  std::vector<Value> values_;
  std::vector<Node> nodes_;
  std::vector<ValueId> inputs_;
  std::vector<Output> outputs_;
  std::vector<StatePair> state_pairs_;
  std::vector<Symbol> symbols_;
  std::vector<Source> sources_;
  std::vector<SourceId> current_sources_;
  int32_t current_device_ = -1;
  std::vector<ValueId> replaced_;  // by value; kNoValue: itself
};

// Everything that must hold between passes: ids in range, order, types as inferred, unique leaf
// names, arity, body signatures, outputs present.
//   errors  internal, with the node at fault
Status verify(const Graph& graph);

// The body of a CLOSED kind: inputs in the order of the operands (missing ones left out).
//   errors  invalid_argument where the kind's operands do not fit
Result<Graph> expand(OpId kind, const Attributes& attributes,
                     std::span<const TensorType* const> operands);

// The body of any region node: its own, or its expansion.
Result<Body> region_body(const Graph& graph, const Node& node);

// Copies `body` into `graph` with its inputs bound to `operands`; the body's outputs there.
Result<std::vector<ValueId>> inline_body(Graph& graph, const Graph& body,
                                         std::span<const ValueId> operands);

// Reference evaluation of a whole graph, nested bodies included. `inputs` in the order of
// graph.inputs(); the outputs in order.
//   errors  those of the ops, with the model node's name in front
Result<std::vector<Tensor>> evaluate(const Graph& graph, std::span<const Tensor> inputs);

// The text form, readable by parse_graph. Large parameters are written as a hash of their bytes
// (which does not read back).
std::string to_text(const Graph& graph);
//   errors  invalid_argument with the line
Result<Graph> parse_graph(std::string_view text);

}  // namespace ferrule
