// ImportBlock: one graph under construction, and the values in it. The first error sticks: after
// it, every operation gives a value that is none, so rules read like formulas and are asked once,
// at the end.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/graph/graph.h"
#include "core/model/import.h"

namespace ferrule {

class ImportBlock;

// A value of a block, or none (a missing operand, or after an error).
struct Val {
  ImportBlock* block = nullptr;
  ValueId id = kNoValue;

  bool ok() const { return id != kNoValue; }
  const TensorType& type() const;  // of no type if there is no value
  Type element() const { return type().type; }
  const Shape& shape() const { return type().shape; }
  int64_t rank() const { return int64_t(shape().rank()); }
  // Negative axes count from the end; 0 where there is no such axis.
  int64_t dim(int64_t axis) const;
  std::vector<int64_t> dims() const;
  int64_t n_elements() const { return shape().n_elements(); }
};

// What all blocks of one import share.
struct ImportState {
  const Model& model;
  const ImportRequest& request;
  std::vector<std::string> wanted, read;  // each name once
  std::map<std::string, int> parameter_names;
  int64_t n_nodes = 0;
  int64_t made_bytes = 0;
};

// Ops whose work is bounded by the bytes that they touch.
constexpr bool is_light(OpId op) { return op >= 1 && op <= FRL_OP_topk; }

class ImportBlock {
 public:
  ImportBlock(ImportState& state, ImportBlock* outer, std::string name)
      : state_(state), outer_(outer), graph_(std::move(name)) {}
  ImportBlock(const ImportBlock&) = delete;
  ImportBlock& operator=(const ImportBlock&) = delete;

  Graph& graph() { return graph_; }
  const Graph& graph() const { return graph_; }
  ImportBlock* outer() const { return outer_; }
  ImportState& state() { return state_; }
  const Status& status() const { return status_; }
  bool failed() const { return !status_.ok(); }
  void fail(Status status) {
    if (!failed()) status_ = std::move(status);
  }
  void clear() { status_ = {}; }

  Val at(ValueId id) { return {this, id}; }
  // A node, all its results. Operands that are literals and small are evaluated on the spot.
  std::vector<Val> emit_all(OpId op, Attributes attributes, std::vector<Val> operands,
                            std::vector<Body> bodies = {});
  Val emit(OpId op, Attributes attributes, std::vector<Val> operands, size_t result = 0);
  Val emit(OpId op, std::vector<Val> operands) {
    return emit(op, Attributes(op), std::move(operands));
  }

  Val literal(Tensor known);
  Val scalar(Type type, double value);
  Val of_i64(const std::vector<int64_t>& values) { return literal(Tensor::of_i64(values)); }
  // Computed elements: a literal if small, else a parameter of the outermost block.
  Val made(Tensor known, const std::string& name);
  Val parameter(Tensor known, const std::string& name);
  // True if so many more bytes may be made; else the block has failed.
  bool may_make(int64_t n_bytes);

  // A value of this block or of one around it, in this block.
  Val bring(Val value);
  // The values of outer() that inputs of this block stand for, in the order of the inputs.
  const std::vector<ValueId>& captured() const { return captured_; }

  // The elements of a value, from literals, parameters (recorded as read) and given inputs.
  //   want    inputs without a value are recorded as wanted
  //   errors  unsupported if they depend on data or control flow
  Result<Tensor> value(Val value, bool want);

 private:
  bool fold(OpId op, const Attributes& attributes, const std::vector<ValueId>& operands,
            std::vector<Val>* results);
  Result<Tensor> leaf_value(ValueId id, bool want);
  Status evaluate_node(const Node& node);

  ImportState& state_;
  ImportBlock* outer_;
  Graph graph_;
  Status status_;
  std::vector<ValueId> captured_;
  std::unordered_map<uint32_t, ValueId> captures_;  // from values of outer_ to inputs of this block
  std::unordered_map<uint32_t, Tensor> values_;     // evaluated so far
};

}  // namespace ferrule
