// The importer's inside: names and their scopes, the nodes of a model, and the rules that import
// them.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/model/block.h"
#include "core/model/emit.h"
#include "core/model/wire.h"

namespace ferrule {

// What a name of the model stands for. Sequences and optionals exist at import only.
struct Entry {
  enum class Kind : uint8_t { tensor, sequence, absent };
  Kind kind = Kind::tensor;
  Val value;
  std::shared_ptr<const std::vector<Entry>> items;

  static Entry of(Val value) { return {Kind::tensor, value, nullptr}; }
  static Entry sequence(std::vector<Entry> items) {
    return {Kind::sequence, {}, std::make_shared<const std::vector<Entry>>(std::move(items))};
  }
};

// One body of nodes that shares opset imports and attribute values: the model's graph, or one call
// of a function.
struct Frame {
  const std::vector<onnx::OpsetProto>* opsets;
  std::map<std::string_view, const onnx::AttributeProto*> attributes;  // of the call
  std::string prefix;  // of node names: the call's own name and '/'
};

// The names of one graph of the model, inside those of the graph around it.
struct Scope {
  Scope* outer;
  ImportBlock* block;
  const Frame* frame;
  int depth;  // of bodies and calls around it
  std::unordered_map<std::string_view, Entry> names;
  std::unordered_map<std::string_view, const onnx::TensorProto*>
      tensors;  // initialisers, not yet used
  std::unordered_map<std::string_view, const onnx::SparseProto*> sparse;
  std::unordered_map<std::string_view, const onnx::ValueProto*> declared;  // values inside
  // What the graph says of its initialisers and of the values inside.
  void enter(const onnx::GraphProto& graph);
};

class Importer;
class ModelNode;

struct ImportRow {
  const char* domain;  // "" is ai.onnx
  const char* op;
  int64_t since, until;  // opsets
  void (*rule)(ModelNode& node);
  const char* arity;       // inputs>results, by opset: see check_arity
  const char* attributes;  // the names it may have, one space between
  OpId arg = 0;            // for rules that serve several ops
  bool symbols = false;    // its inputs may have data-dependent extents
};
constexpr int64_t kEver = 1 << 20;

// Null if no row is for this op in this opset.
const ImportRow* find_row(std::string_view domain, std::string_view op, int64_t opset);
// One for each family of rules.
std::span<const ImportRow> math_rows(), shape_rows(), index_rows(), reduce_rows(), constant_rows(),
    conv_rows(), resize_rows(), norm_rows(), attention_rows(), einsum_rows(), rnn_rows(),
    quant_rows(), loss_rows(), signal_rows(), control_rows(), loop_rows(), sequence_rows();

// The version of a domain in these imports; 0 if it is not imported.
int64_t opset_of(const std::vector<onnx::OpsetProto>& opsets, std::string_view domain);

// What contradicts itself in one graph, function or node, bodies not looked into.
//   errors  invalid_argument
Status check_opsets(const std::vector<onnx::OpsetProto>& opsets);
Status check_graph(const onnx::GraphProto& graph);
Status check_function(const onnx::FunctionProto& function);
Status check_node(const onnx::NodeProto& node, const ImportRow* row, int64_t opset);
std::string entry_text(const Entry& entry);
// A value that is not what the model declares; where it declares nothing, all fits.
// Extents of values inside are open: tools that change a model's batch leave old ones behind.
enum class Extents { open, held };
Status check_declared(const char* what, const onnx::ValueProto& declared, const Entry& entry,
                      Extents extents = Extents::open);
// The given shape if it fits, or the declared one if none is given.
Result<Shape> input_shape(const onnx::ValueProto& input, const Shape* given);

// The functions of a model, by name.
class Functions {
 public:
  explicit Functions(const onnx::ModelProto& model);
  // The one that a node calls; null for an op.
  const onnx::FunctionProto* find(const onnx::NodeProto& node) const;

 private:
  std::unordered_multimap<std::string_view, const onnx::FunctionProto*> by_name_;
};

// How deep bodies and calls of functions may be nested, together.
constexpr int kMostNested = 64;

// Everything in the whole model that no rule is for, in one error.
//   errors  also out_of_limits where the nodes are more with each call of a function written out
Status survey(const Model& model, const Functions& functions, int64_t most_nodes);

// The nodes that `wanted` needs, each after those whose results it uses.
//   errors  invalid_argument for cycles
Result<std::vector<uint32_t>> schedule(std::span<const onnx::NodeProto> nodes,
                                       std::span<const std::string_view> wanted);

class Importer {
 public:
  Importer(const Model& model, const ImportRequest& request);

  // The whole model, into root().
  Status run();
  ImportBlock& root() { return root_; }
  ImportState& state() { return state_; }

  // A graph of the model in `block`, seeing the names of `outer`; what its outputs stand for.
  Result<std::vector<Entry>> run_graph(const onnx::GraphProto& graph, Scope& outer,
                                       ImportBlock& block, std::vector<Entry> inputs);
  // What a name stands for, in the scope's own block.
  Result<Entry> find(std::string_view name, Scope& scope);

 private:
  // Adds to the work done so far.
  Status count(int64_t n_more);
  Status add_inputs(Scope& scope);
  Status run_nodes(std::span<const onnx::NodeProto> nodes, std::span<const std::string_view> wanted,
                   Scope& scope);
  Status run_node(const onnx::NodeProto& node, Scope& scope);
  Status run_rule(const onnx::NodeProto& node, Scope& scope, const std::string& name);
  Status call(const onnx::FunctionProto& function, const onnx::NodeProto& node, Scope& scope,
              const std::string& name);
  Result<Entry> initializer(std::string_view name, Scope& scope, bool* found);
  Entry localised(const Entry& entry, ImportBlock& block);

  const Model& model_;
  Functions functions_;
  ImportState state_;
  ImportBlock root_;
};

// A node of the model as its rule sees it. Getters that do not find what they must fail the node
// and give something harmless.
class ModelNode {
 public:
  ModelNode(Importer& importer, Scope& scope, const onnx::NodeProto& proto, const ImportRow& row,
            int64_t opset, std::string name);

  Importer& importer() { return importer_; }
  Scope& scope() { return scope_; }
  ImportBlock& block() { return *scope_.block; }
  const ImportRow& row() const { return row_; }
  int64_t opset() const { return opset_; }
  const std::string& name() const { return name_; }
  // The nodes emitted next come from this one.
  void mark_source();

  bool failed() const { return scope_.block->failed(); }
  void fail(const std::string& what, Code code = Code::invalid_argument);
  void fail(Status status) { scope_.block->fail(std::move(status)); }
  void unsupported(const std::string& what) { fail(what, Code::unsupported); }
  // Fails with "want ..., got <the inputs' types>" unless it holds.
  bool want(bool holds, const std::string& what);

  size_t n_in() const { return proto_.inputs.size(); }
  bool has(size_t i) const;
  Val in(size_t i);     // must be there
  Val maybe(size_t i);  // none if it is missing
  Entry entry(size_t i);
  // The elements of an input that the graph's structure depends on.
  Tensor known(size_t i);
  Ints known_ints(size_t i);
  double known_number(size_t i, double fallback);
  int64_t known_integer(size_t i, int64_t fallback);
  // The elements of a value if they are known already; nothing fails and nothing is asked for.
  bool try_known(Val value, Tensor* out);
  // The same, but inputs of the model are asked for, and then the node fails.
  bool knowable(Val value, Tensor* out);
  bool asks() { return !block().state().wanted.empty(); }
  // An attempt that failed leaves no error in the blocks around it.
  void forget();

  size_t n_out() const { return proto_.outputs.size(); }
  bool wants(size_t i) const { return i < proto_.outputs.size() && !proto_.outputs[i].empty(); }
  void out(size_t i, Val value);
  void out(size_t i, Entry entry);
  std::string out_name(size_t i) const;

  const onnx::AttributeProto* attribute(std::string_view name, onnx::AttributeType type);
  bool has_attribute(std::string_view name) const { return find_attribute(name) != nullptr; }
  size_t n_attributes() const { return proto_.attributes.size(); }
  int64_t i(std::string_view name, int64_t fallback);
  int64_t need_i(std::string_view name);
  double f(std::string_view name, double fallback);
  Ints ints(std::string_view name);
  std::vector<double> reals(std::string_view name);
  std::string text(std::string_view name, const char* fallback);
  std::vector<std::string> texts(std::string_view name);
  // A body with so many inputs and outputs; fails and gives null for another.
  const onnx::GraphProto* graph(std::string_view name, size_t n_inputs, size_t n_outputs);
  // Which of `names` the text attribute is; fails for another one.
  int64_t choice(std::string_view name, const char* fallback, std::span<const char* const> names);
  // An axis as one from 0 to rank - 1; fails outside of -rank .. rank - 1.
  int64_t axis(int64_t given, int64_t rank);
  // The same for each, in the order given; fails for one that is there twice, and gives none.
  Ints axes(const Ints& given, int64_t rank);
  // The same from the attribute "axis".
  int64_t axis_attribute(int64_t fallback, int64_t rank) { return axis(i("axis", fallback), rank); }
  // `axis` of ops that cut the axes in two, 0 .. rank from the start; 1 where it is missing.
  int64_t split_attribute(int64_t rank);
  // The core's type for a data type; fails if it has none.
  Type type_of(int64_t data_type);

 private:
  Tensor known_scalar(size_t i);
  const onnx::AttributeProto* find_attribute(std::string_view name) const;

  Importer& importer_;
  Scope& scope_;
  const onnx::NodeProto& proto_;
  const ImportRow& row_;
  int64_t opset_;
  std::string name_;
};

}  // namespace ferrule
