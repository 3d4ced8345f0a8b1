// Writing region blocks.
#include "core/graph/block.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "core/base/text.h"
#include "core/op/walk.h"

namespace ferrule {
namespace {

constexpr uint64_t kMostBytes = 64u << 20;

class Encoder {
 public:
  Encoder(const Graph& graph, std::span<const Placed> operands, std::span<const Placed> results)
      : graph_(graph),
        operands_(operands.begin(), operands.end()),
        results_(results.begin(), results.end()) {}

  Result<Block> run(const Node& node, uint32_t compute) {
    const OpRow* row = find_op(node.op);
    symbols(graph_);
    bodies_.emplace_back();
    const bool alone = row && row->form != Form::closed && row->form != Form::open;
    if (alone) {
      bodies_[0] = lone_node(node);
    } else if (node.op == FRL_OP_batch) {
      // The body is one slice's; its inputs and outputs lie as the whole tensors do.
      for (size_t i = 0; i < operands_.size(); ++i) spell_out(operands_[i], node.operands[i]);
      for (size_t r = 0; r < results_.size(); ++r) spell_out(results_[r], node.results[r]);
      bodies_[0] = region(*node.bodies[0], node);
    } else {
      FRL_LET(const Body body, region_body(graph_, node));
      bodies_[0] = region(*body, node);
    }
    const uint32_t first = uint32_t(attributes_.size());
    const uint32_t n = alone ? 0 : attributes(node);
    return finish(node.op, first, n, compute);
  }

 private:
  void symbols(const Graph& graph) {
    for (const Symbol& s : graph.symbols())
      symbols_.push_back({s.min, s.max, s.multiple, s.written, 0});
  }

  void spell_out(Placed& placed, ValueId id) const {
    const Shape& shape = graph_.shape(id);
    const Strides dense = row_major(shape);
    if (placed.strides.empty()) placed.strides.assign(dense.begin(), dense.begin() + shape.rank());
  }

  uint32_t value(const TensorType& type, const Placed* placed, const Tensor* literal) {
    frl_value v{};
    v.type = uint8_t(type.type);
    v.rank = uint8_t(type.shape.rank());
    v.first_dim = uint32_t(dims_.size());
    int64_t stride = 1;
    dims_.resize(dims_.size() + v.rank);
    for (size_t axis = v.rank; axis-- > 0;) {
      const Dim& dim = type.shape.dim(axis);
      frl_dim& out = dims_[v.first_dim + axis];
      out = {dim.extent, 0, dim.symbol, 0};
      if (placed) out.stride = placed->strides.empty() ? stride : placed->strides[axis];
      stride *= dim.extent;
    }
    if (placed) {
      v.align_bytes = placed->align_bytes;
      v.flags = uint16_t((placed->parameter ? FRL_VALUE_PARAMETER : 0) |
                         (placed->state ? FRL_VALUE_STATE : 0));
    }
    if (literal && literal->type().size_bytes() <= kMostLiteralBytes) {
      v.flags |= FRL_VALUE_LITERAL;
      v.literal_at = uint32_t(text_.size());
      v.literal_n = uint32_t(literal->bytes().size());
      const auto* bytes = reinterpret_cast<const char*>(literal->bytes().data());
      text_.insert(text_.end(), bytes, bytes + v.literal_n);
      text_.resize(align_up(text_.size(), 8));
    }
    values_.push_back(v);
    return uint32_t(values_.size() - 1);
  }

  // Appends a row; its results' values have been made side by side from `first_result` on.
  void node_row(const Node& node, const std::vector<uint32_t>& operands, uint32_t first_result) {
    frl_node row{};
    row.op = node.op;
    row.first_operand = list(operands), row.n_operands = uint32_t(operands.size());
    row.first_result = first_result, row.n_results = uint32_t(node.results.size());
    row.first_attribute = uint32_t(attributes_.size());
    row.n_attributes = attributes(node);
    nodes_.push_back(row);
  }

  frl_body lone_node(const Node& node) {
    std::vector<uint32_t> inputs, outputs;
    for (size_t i = 0; i < node.operands.size(); ++i) {
      const ValueId id = node.operands[i];
      inputs.push_back(id == kNoValue ? FRL_NO_VALUE
                                      : value(graph_.type(id), &operands_[i], graph_.literal(id)));
    }
    for (size_t r = 0; r < node.results.size(); ++r)
      outputs.push_back(value(graph_.type(node.results[r]), &results_[r], nullptr));
    std::vector<frl_body> inner;
    for (const Body& body : node.bodies) inner.push_back(nested(*body));
    const auto first = uint32_t(nodes_.size());
    node_row(node, inputs, outputs[0]);
    nodes_.back().first_body = inner.empty() ? 0 : uint32_t(bodies_.size());
    nodes_.back().n_bodies = uint32_t(inner.size());
    bodies_.insert(bodies_.end(), inner.begin(), inner.end());
    return {
        first, 1, list(inputs), uint32_t(inputs.size()), list(outputs), uint32_t(outputs.size())};
  }

  // The region's own body: inputs are the node's operands, missing ones marked.
  frl_body region(const Graph& body, const Node& node) {
    std::vector<uint32_t> numbers(body.n_values(), FRL_NO_VALUE), inputs;
    size_t from = 0;
    for (size_t i = 0; i < node.operands.size(); ++i) {
      if (node.operands[i] == kNoValue) {
        inputs.push_back(FRL_NO_VALUE);
        continue;
      }
      const ValueId id = body.inputs()[from++];
      // A slice of a literal is not known as one.
      const Tensor* literal = node.op == FRL_OP_batch ? nullptr : graph_.literal(node.operands[i]);
      numbers[index(id)] = value(body.type(id), &operands_[i], literal);
      inputs.push_back(numbers[index(id)]);
    }
    std::map<ValueId, size_t> outputs;  // the first place of each value among the outputs
    for (size_t r = 0; r < body.outputs().size(); ++r) outputs.emplace(body.outputs()[r].value, r);
    return body_row(body, numbers, inputs, &outputs);
  }

  frl_body nested(const Graph& body) {
    std::vector<uint32_t> numbers(body.n_values(), FRL_NO_VALUE), inputs;
    for (ValueId id : body.inputs()) {
      numbers[index(id)] = value(body.type(id), nullptr, nullptr);
      inputs.push_back(numbers[index(id)]);
    }
    return body_row(body, numbers, inputs, nullptr);
  }

  frl_body body_row(const Graph& body, std::vector<uint32_t>& numbers,
                    const std::vector<uint32_t>& inputs, const std::map<ValueId, size_t>* outputs) {
    for (size_t i = 0; i < body.n_values(); ++i)
      if (const Tensor* known = body.literal(ValueId(i)))
        numbers[i] = value(known->type(), nullptr, known);
    // Nested bodies first: a body's nodes lie side by side.
    std::vector<uint32_t> first_nested;
    for (const Node& node : body.nodes()) {
      std::vector<frl_body> inner;
      for (const Body& b : node.bodies) inner.push_back(nested(*b));
      first_nested.push_back(uint32_t(bodies_.size()));
      bodies_.insert(bodies_.end(), inner.begin(), inner.end());
    }
    const auto first = uint32_t(nodes_.size());
    for (size_t i = 0; i < body.n_nodes(); ++i) {
      const Node& node = body.node(NodeId(i));
      for (ValueId result : node.results) {
        const Placed* placed = nullptr;
        if (outputs && outputs->count(result)) placed = &results_[outputs->at(result)];
        numbers[index(result)] = value(body.type(result), placed, nullptr);
      }
      std::vector<uint32_t> operands;
      for (ValueId id : node.operands)
        operands.push_back(id == kNoValue ? FRL_NO_VALUE : numbers[index(id)]);
      node_row(node, operands, numbers[index(node.results[0])]);
      nodes_.back().n_bodies = uint32_t(node.bodies.size());
      if (!node.bodies.empty()) nodes_.back().first_body = first_nested[i];
    }
    std::vector<uint32_t> results;
    for (const Output& output : body.outputs()) results.push_back(numbers[index(output.value)]);
    return {first,         uint32_t(body.n_nodes()), list(inputs), uint32_t(inputs.size()),
            list(results), uint32_t(results.size())};
  }

  uint32_t attributes(const Node& node) {
    for (const AttributeRow& row : attribute_rows(node.op)) {
      const Attribute& slot = node.attributes[row.slot];
      frl_attribute out{slot.i, slot.f, 0, 0};
      if (row.kind == AttributeKind::list) {
        out.at = uint32_t(ints_.size()), out.n = uint32_t(slot.list.size());
        ints_.insert(ints_.end(), slot.list.begin(), slot.list.end());
      } else if (row.kind == AttributeKind::text) {
        out.at = uint32_t(text_.size()), out.n = uint32_t(slot.text.size());
        text_.insert(text_.end(), slot.text.begin(), slot.text.end());
      }
      attributes_.push_back(out);
    }
    return uint32_t(attribute_rows(node.op).size());
  }

  uint32_t list(const std::vector<uint32_t>& ids) {
    lists_.insert(lists_.end(), ids.begin(), ids.end());
    return uint32_t(lists_.size() - ids.size());
  }

  template <class T>
  frl_table put(const std::vector<T>& rows) {
    const uint64_t at = words_.size() * 8;
    words_.resize(words_.size() + (rows.size() * sizeof(T) + 7) / 8, 0);
    if (!rows.empty())
      std::memcpy(reinterpret_cast<char*>(words_.data()) + at, rows.data(),
                  rows.size() * sizeof(T));
    return {uint32_t(at), uint32_t(rows.size()), uint32_t(sizeof(T))};
  }

  Result<Block> finish(OpId kind, uint32_t first_attribute, uint32_t n_attributes,
                       uint32_t compute) {
    const uint64_t size = values_.size() * sizeof(frl_value) + dims_.size() * sizeof(frl_dim) +
                          nodes_.size() * sizeof(frl_node) + text_.size() + lists_.size() * 4 +
                          ints_.size() * 8;
    if (size > kMostBytes)
      return Status(Code::out_of_limits,
                    cat("region: want a block of at most ", kMostBytes, " bytes, got ", size));
    frl_region r{};
    r.head = {sizeof r, FRL_TAG_REGION};
    r.kind = kind;
    r.first_attribute = n_attributes ? first_attribute : 0, r.n_attributes = n_attributes;
    r.compute = compute;
    // A region of exact shapes takes and writes no extents, whatever the graph around it has.
    if (std::none_of(dims_.begin(), dims_.end(), [](const frl_dim& d) { return d.symbol != 0; }))
      symbols_.clear();
    words_.assign((sizeof r + 7) / 8, 0);
    r.bodies = put(bodies_), r.nodes = put(nodes_), r.values = put(values_), r.dims = put(dims_);
    r.symbols = put(symbols_), r.attributes = put(attributes_), r.lists = put(lists_);
    r.ints = put(ints_), r.text = put(text_);
    r.bytes = uint32_t(words_.size() * 8);
    std::memcpy(words_.data(), &r, sizeof r);
    return Block(std::move(words_));
  }

  const Graph& graph_;
  std::vector<Placed> operands_, results_;
  std::vector<frl_body> bodies_;
  std::vector<frl_node> nodes_;
  std::vector<frl_value> values_;
  std::vector<frl_dim> dims_;
  std::vector<frl_symbol> symbols_;
  std::vector<frl_attribute> attributes_;
  std::vector<uint32_t> lists_;
  std::vector<int64_t> ints_;
  std::vector<char> text_;
  std::vector<uint64_t> words_;
};

}  // namespace

Result<Block> encode_region(const Graph& graph, const Node& node, std::span<const Placed> operands,
                            std::span<const Placed> results, uint32_t compute) {
  return Encoder(graph, operands, results).run(node, compute);
}

}  // namespace ferrule
