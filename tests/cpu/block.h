// Builds region blocks by hand.
#pragma once

#include "tests/cpu/tensor.h"

namespace host {

struct Attribute {
  int64_t i = 0;
  double f = 0;
  Shape list;
  Attribute(int64_t v) : i(v) {}
  Attribute(int v) : i(v) {}
  Attribute(uint32_t v) : i(v) {}
  Attribute(double v) : f(v) {}
  Attribute(Shape v) : list(std::move(v)) {}
};
using Attributes = std::vector<Attribute>;

class Block {
 public:
  Block() : bodies_(1) {}
  uint32_t symbol(int64_t max, bool written) {
    symbols_.push_back({0, max, 1, written, 0});
    return uint32_t(symbols_.size());
  }
  // Axis `axis` gets the symbol; strides (elements) are dense unless given.
  uint32_t value(int type, const Shape& shape, uint16_t flags = 0, Shape strides = {},
                 int symbol_axis = -1, uint32_t symbol = 0) {
    if (strides.empty()) {
      strides.resize(shape.size());
      int64_t s = 1;
      for (size_t d = shape.size(); d-- > 0; s *= shape[d]) strides[d] = s;
    }
    values_.push_back(
        {uint8_t(type), uint8_t(shape.size()), flags, uint32_t(dims_.size()), 64, 0, 0, 0});
    for (size_t d = 0; d < shape.size(); ++d)
      dims_.push_back({shape[d], strides[d], int(d) == symbol_axis ? symbol : 0, 0});
    return uint32_t(values_.size() - 1);
  }
  uint32_t literal(const Tensor& t) {
    const uint32_t v = value(t.type, t.shape, FRL_VALUE_LITERAL);
    text_.resize((text_.size() + 7) / 8 * 8);
    values_[v].literal_at = uint32_t(text_.size()), values_[v].literal_n = uint32_t(t.bytes.size());
    text_.insert(text_.end(), t.bytes.begin(), t.bytes.end());
    return v;
  }
  void node(uint32_t op, const std::vector<uint32_t>& operands, uint32_t first_result,
            uint32_t n_results, const Attributes& attributes = {}) {
    nodes_.push_back(
        {op, list(operands), uint32_t(operands.size()), first_result, n_results, 0, 0, 0, 0});
    put_attributes(attributes, &nodes_.back().first_attribute, &nodes_.back().n_attributes);
  }
  uint32_t node1(uint32_t op, const std::vector<uint32_t>& operands, int type, const Shape& shape,
                 const Attributes& attributes = {}) {
    const uint32_t v = value(type, shape);
    node(op, operands, v, 1, attributes);
    return v;
  }
  const frl_region* finish(uint32_t kind, const std::vector<uint32_t>& inputs,
                           const std::vector<uint32_t>& outputs,
                           const Attributes& attributes = {}) {
    bodies_[0] = {0,
                  uint32_t(nodes_.size()),
                  list(inputs),
                  uint32_t(inputs.size()),
                  list(outputs),
                  uint32_t(outputs.size())};
    frl_region r{};
    r.head = {sizeof r, FRL_TAG_REGION}, r.kind = kind, r.compute = FRL_COMPUTE_IEEE;
    put_attributes(attributes, &r.first_attribute, &r.n_attributes);
    bytes_.assign((sizeof r + 7) / 8, 0);
    r.bodies = put(bodies_), r.nodes = put(nodes_), r.values = put(values_), r.dims = put(dims_);
    r.symbols = put(symbols_), r.attributes = put(attributes_), r.lists = put(lists_);
    r.ints = put(ints_), r.text = put(text_);
    r.bytes = uint32_t(bytes_.size() * 8);
    std::memcpy(bytes_.data(), &r, sizeof r);
    return reinterpret_cast<const frl_region*>(bytes_.data());
  }

 private:
  void put_attributes(const Attributes& attributes, uint32_t* first, uint32_t* n) {
    *first = uint32_t(attributes_.size()), *n = uint32_t(attributes.size());
    for (const Attribute& a : attributes) {
      attributes_.push_back({a.i, a.f, uint32_t(ints_.size()), uint32_t(a.list.size())});
      ints_.insert(ints_.end(), a.list.begin(), a.list.end());
    }
  }
  uint32_t list(const std::vector<uint32_t>& ids) {
    lists_.insert(lists_.end(), ids.begin(), ids.end());
    return uint32_t(lists_.size() - ids.size());
  }
  template <class T>
  frl_table put(const std::vector<T>& rows) {
    const auto at = uint32_t(bytes_.size() * 8);
    bytes_.resize(bytes_.size() + (rows.size() * sizeof(T) + 7) / 8, 0);
    if (!rows.empty())
      std::memcpy(reinterpret_cast<char*>(bytes_.data()) + at, rows.data(),
                  rows.size() * sizeof(T));
    return {at, uint32_t(rows.size()), uint32_t(sizeof(T))};
  }
  std::vector<frl_body> bodies_;
  std::vector<frl_node> nodes_;
  std::vector<frl_value> values_;
  std::vector<frl_dim> dims_;
  std::vector<frl_symbol> symbols_;
  std::vector<frl_attribute> attributes_;
  std::vector<uint32_t> lists_;
  std::vector<int64_t> ints_;
  std::vector<std::byte> text_;
  std::vector<uint64_t> bytes_;
};

}  // namespace host
