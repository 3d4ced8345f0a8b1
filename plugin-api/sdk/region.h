// A typed, read-only view of a region block. Everything is decoded on demand and by value, so a
// block from a newer or older core reads the same (rule R2 of frl_plugin.h).
#pragma once

#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "plugin-api/frl_plugin.h"

namespace frl {

// ---- the op table ----

struct AttributeRow {
  uint32_t op, slot;
  char type;  // 'I' i64, 'F' f64, 'S' bytes, 'L' list
  double fallback;
};
inline constexpr AttributeRow kAttributeRows[] = {
#define FRL_OP(id, name, form, min_in, max_in, results, bodies, expression)
#define FRL_ATTR(op, slot, name, type, fallback) \
  {FRL_OP_##op, slot, #type[0], static_cast<double>(fallback)},
#include "plugin-api/frl_ops.def"
#undef FRL_OP
#undef FRL_ATTR
};

enum class Form : uint8_t { POINTWISE, PLAIN, CONTROL, CLOSED, OPEN };
struct OpRow {
  uint32_t id;
  const char* name;
  Form form;
  uint32_t min_inputs, max_inputs, n_results;  // max_inputs 255: any number
};
inline constexpr OpRow kOpRows[] = {
#define FRL_OP(id, name, form, min_in, max_in, results, bodies, expression) \
  {id, #name, Form::form, min_in, max_in, results},
#define FRL_ATTR(op, slot, name, type, fallback)
#include "plugin-api/frl_ops.def"
#undef FRL_OP
#undef FRL_ATTR
};

// Null for ids of vendors and for ids newer than this SDK.
constexpr const OpRow* find_op(uint32_t id) {
  return id >= 1 && id < FRL_OP_END ? &kOpRows[id - 1] : nullptr;
}
constexpr const char* op_name(uint32_t id) { return find_op(id) ? find_op(id)->name : "?"; }
constexpr double attribute_fallback(uint32_t op, uint32_t slot) {
  for (const AttributeRow& row : kAttributeRows)
    if (row.op == op && row.slot == slot) return row.fallback;
  return 0;
}

// ---- element types ----

// Bytes of one element; 0 for types that are only reserved.
constexpr int64_t element_bytes(uint32_t type) {
  constexpr int64_t kBytes[] = {0, 8, 4, 2, 2, 1, 2, 4, 8, 1, 2, 4, 8, 1};
  return type < std::size(kBytes) ? kBytes[type] : 0;
}
constexpr bool is_float(uint32_t type) { return type >= FRL_F64 && type <= FRL_BF16; }

// ---- the view ----

using Extents = std::array<int64_t, FRL_MAX_RANK>;

// A tensor of the region. A default-made one stands for an optional operand that is missing.
struct Value {
  uint32_t id = FRL_NO_VALUE;
  uint32_t type = FRL_ANY_TYPE;
  uint32_t rank = 0;
  uint32_t flags = 0;
  uint32_t align_bytes = 0;
  uint32_t alias = 0;  // 1 + the input whose memory it must share
  Extents extents{};   // outermost first; upper bounds where there are symbols
  Extents strides{};   // elements; region inputs and outputs only
  std::array<uint32_t, FRL_MAX_RANK> symbols{};  // 1 + row, 0 exact
  std::span<const std::byte> literal;            // elements; a single one is a splat

  bool present() const { return id != FRL_NO_VALUE; }
  bool is_literal() const { return flags & FRL_VALUE_LITERAL; }
  bool is_parameter() const { return flags & FRL_VALUE_PARAMETER; }
  std::span<const int64_t> shape() const { return {extents.data(), rank}; }
  // Axis from the end, as attributes name it: -1 is the last.
  int64_t extent(int64_t axis) const { return extents[static_cast<size_t>(rank + axis)]; }
  int64_t n_elements() const {
    int64_t n = 1;
    for (uint32_t d = 0; d < rank; ++d) n *= extents[d];
    return n;
  }
  int64_t bytes() const { return n_elements() * element_bytes(type); }
  // Row-major without gaps.
  bool is_dense() const {
    int64_t want = 1;
    for (uint32_t d = rank; d-- > 0; want *= extents[d])
      if (extents[d] != 1 && strides[d] != want) return n_elements() == 0;
    return true;
  }
};

class Region;

// Attributes of a node or of the region's kind, defaults filled in from the op table.
class Attributes {
 public:
  Attributes(const frl_region* block, uint32_t op, uint32_t first, uint32_t n)
      : block_(block), op_(op), first_(first), n_(n) {}

  int64_t i(uint32_t slot) const {
    return slot < n_ ? at(slot).i : static_cast<int64_t>(attribute_fallback(op_, slot));
  }
  double f(uint32_t slot) const { return slot < n_ ? at(slot).f : attribute_fallback(op_, slot); }
  std::vector<int64_t> list(uint32_t slot) const {
    if (slot >= n_) return {};
    const frl_attribute a = at(slot);
    std::vector<int64_t> out(a.n);
    for (uint32_t k = 0; k < a.n; ++k) FRL_ROW(&out[k], block_, ints, a.at + k);
    return out;
  }
  std::string_view text(uint32_t slot) const {
    if (slot >= n_) return {};
    const frl_attribute a = at(slot);
    return {reinterpret_cast<const char*>(block_) + block_->text.at + a.at, a.n};
  }

 private:
  frl_attribute at(uint32_t slot) const {
    frl_attribute out;
    FRL_ROW(&out, block_, attributes, first_ + slot);
    return out;
  }
  const frl_region* block_;
  uint32_t op_, first_, n_;
};

struct Node {
  uint32_t op;
  std::vector<uint32_t> operands;  // values; FRL_NO_VALUE where an optional one is missing
  std::vector<uint32_t> results;   // values
  Attributes attributes;
  uint32_t first_body, n_bodies;
};

struct Body {
  std::vector<uint32_t> inputs, outputs;  // values
  uint32_t first_node, n_nodes;
};

// An operand of the op or kind that the region is: an argument of the kernel, or a literal.
struct Operand {
  Value value;
  int argument = -1;  // place in Call::args; -1: missing, or the elements are value.literal

  bool present() const { return value.present(); }
};

class Region {
 public:
  // Borrows the block, which the core has verified.
  explicit Region(const frl_region* block) : block_(block), body_(body(0)) {
    operands_ = is_lone_node() ? node(body_.first_node).operands : body_.inputs;
    arguments_.assign(n_values(), -1);
    int place = 0;
    for (uint32_t input : body_.inputs)
      if (input != FRL_NO_VALUE) {
        if (arguments_[input] < 0) arguments_[input] = place;
        ++place;
      }
  }

  uint32_t kind() const { return block_->kind; }
  uint32_t compute() const { return block_->compute; }
  const frl_region* block() const { return block_; }
  std::span<const std::byte> bytes() const {
    return {reinterpret_cast<const std::byte*>(block_), block_->bytes};
  }

  // Of the kind. A lone node may carry them itself.
  Attributes attributes() const {
    if (block_->n_attributes == 0 && is_lone_node()) return node(body_.first_node).attributes;
    return {block_, block_->kind, block_->first_attribute, block_->n_attributes};
  }
  int64_t attribute_i(uint32_t slot) const { return attributes().i(slot); }
  double attribute_f(uint32_t slot) const { return attributes().f(slot); }
  std::vector<int64_t> attribute_list(uint32_t slot) const { return attributes().list(slot); }

  size_t n_inputs() const { return body_.inputs.size(); }
  size_t n_outputs() const { return body_.outputs.size(); }
  Value input(size_t i) const { return value(body_.inputs[i]); }
  Value output(size_t i) const { return value(body_.outputs[i]); }

  // Operand i of the op or kind, wherever it comes from.
  Operand operand(size_t i) const {
    if (i >= operands_.size() || operands_[i] == FRL_NO_VALUE) return {};
    return operand_of(value(operands_[i]));
  }
  // Any value that a node uses: an argument of the kernel, a literal, or neither (argument -1).
  Operand operand_of(const Value& v) const { return {v, v.present() ? arguments_[v.id] : -1}; }
  size_t n_operands() const { return operands_.size(); }
  // Result i of the op or kind; missing if the region does not give it out.
  Operand result(size_t i) const {
    if (!is_lone_node())
      return i < body_.outputs.size() ? Operand{output(i), output_argument(i)} : Operand{};
    const std::vector<uint32_t> ids = node(body_.first_node).results;
    for (size_t k = 0; i < ids.size() && k < body_.outputs.size(); ++k)
      if (body_.outputs[k] == ids[i]) return {value(ids[i]), output_argument(k)};
    return {};
  }

  // Places in Call::args.
  int output_argument(size_t i) const { return static_cast<int>(n_present_inputs() + i); }
  int extents_argument() const {
    return n_symbols(true) ? static_cast<int>(n_present_inputs() + body_.outputs.size()) : -1;
  }
  size_t n_present_inputs() const {
    size_t n = 0;
    for (uint32_t id : body_.inputs) n += id != FRL_NO_VALUE;
    return n;
  }

  Body body(uint32_t number) const {
    frl_body b;
    FRL_ROW(&b, block_, bodies, number);
    return {list(b.first_input, b.n_inputs), list(b.first_output, b.n_outputs), b.first_node,
            b.n_nodes};
  }
  uint32_t n_values() const { return block_->values.n; }
  uint32_t n_nodes() const { return body_.n_nodes; }  // of the region's own body
  Node node(uint32_t number) const {
    frl_node n;
    FRL_ROW(&n, block_, nodes, number);
    std::vector<uint32_t> results(n.n_results);
    for (uint32_t i = 0; i < n.n_results; ++i) results[i] = n.first_result + i;
    return {n.op,         list(n.first_operand, n.n_operands),
            results,      {block_, n.op, n.first_attribute, n.n_attributes},
            n.first_body, n.n_bodies};
  }
  Value value(uint32_t id) const;

  uint32_t n_symbols(bool written) const {
    uint32_t n = 0;
    for (uint32_t i = 0; i < block_->symbols.n; ++i) n += (symbol(i).written != 0) == written;
    return n;
  }
  frl_symbol symbol(uint32_t number) const {
    frl_symbol s;
    FRL_ROW(&s, block_, symbols, number);
    return s;
  }

 private:
  bool is_lone_node() const {
    const OpRow* row = find_op(block_->kind);
    if (!row || row->form == Form::CLOSED || row->form == Form::OPEN || body_.n_nodes != 1)
      return false;
    frl_node n;
    FRL_ROW(&n, block_, nodes, body_.first_node);
    return n.op == block_->kind;
  }
  std::vector<uint32_t> list(uint32_t first, uint32_t n) const {
    std::vector<uint32_t> out(n);
    for (uint32_t i = 0; i < n; ++i) FRL_ROW(&out[i], block_, lists, first + i);
    return out;
  }

  const frl_region* block_;
  Body body_;
  std::vector<uint32_t> operands_;  // of the op or kind
  std::vector<int> arguments_;      // by value: place in Call::args, -1 none
};

inline Value Region::value(uint32_t id) const {
  Value out;
  if (id == FRL_NO_VALUE) return out;
  frl_value v;
  FRL_ROW(&v, block_, values, id);
  out.id = id, out.type = v.type, out.rank = v.rank <= FRL_MAX_RANK ? v.rank : 0;
  out.flags = v.flags, out.align_bytes = v.align_bytes, out.alias = v.alias;
  for (uint32_t d = 0; d < out.rank; ++d) {
    frl_dim dim;
    FRL_ROW(&dim, block_, dims, v.first_dim + d);
    out.extents[d] = dim.extent, out.strides[d] = dim.stride, out.symbols[d] = dim.symbol;
  }
  if (v.flags & FRL_VALUE_LITERAL)
    out.literal = {reinterpret_cast<const std::byte*>(block_) + block_->text.at + v.literal_at,
                   v.literal_n};
  return out;
}

}  // namespace frl
