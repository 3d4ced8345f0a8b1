// Checking region blocks that come from somebody else.
#include <vector>

#include "core/base/text.h"
#include "core/graph/block.h"

namespace ferrule {
namespace {

constexpr uint32_t kMostNested = 16;

Status fault(std::string text) { return Status(Code::invalid_argument, "block: " + text); }

bool within(uint64_t first, uint64_t n, uint64_t size) {
  return first <= size && n <= size - first;
}

class Checker {
 public:
  explicit Checker(Bytes bytes) : bytes_(bytes) {}

  Status run() {
    FRL_TRY(head());
    FRL_TRY(tables());
    FRL_TRY(values());
    FRL_TRY(attributes());
    defined_.assign(r_.values.n, false);
    seen_.assign(r_.bodies.n, false);
    if (r_.bodies.n == 0) return fault("want a body, got none");
    return body(0, 0);
  }

 private:
  template <class T>
  T row(const frl_table& table, uint64_t i) const {
    T out;
    frl_row(&out, sizeof out, reinterpret_cast<const char*>(bytes_.data()) + table.at, table.stride,
            i);
    return out;
  }
  // Lists never hold fewer than 4 bytes a row, so a row of one is safe to read.
  uint32_t id(uint64_t i) const { return row<uint32_t>(r_.lists, i); }

  Status head() {
    if (bytes_.size() < sizeof(frl_head) || reinterpret_cast<uintptr_t>(bytes_.data()) % 8)
      return fault("want at least a head, 8-byte aligned");
    frl_head given;
    std::memcpy(&given, bytes_.data(), sizeof given);
    if (given.tag != FRL_TAG_REGION)
      return fault(cat("want tag ", int(FRL_TAG_REGION), ", got ", given.tag));
    if (given.size < sizeof(frl_region) || given.size > bytes_.size())
      return fault(cat("want a head of ", sizeof(frl_region), " bytes or more, got ", given.size));
    std::memcpy(&r_, bytes_.data(), sizeof r_);
    if (r_.bytes % 8 || r_.bytes < given.size || r_.bytes > bytes_.size())
      return fault(cat("want a multiple of 8 up to ", bytes_.size(), " bytes, got ", r_.bytes));
    return {};
  }

  Status tables() const {
    const struct {
      const char* name;
      frl_table table;
      uint64_t row_bytes;
    } kTables[] = {{"bodies", r_.bodies, sizeof(frl_body)},
                   {"nodes", r_.nodes, sizeof(frl_node)},
                   {"values", r_.values, sizeof(frl_value)},
                   {"dims", r_.dims, sizeof(frl_dim)},
                   {"symbols", r_.symbols, sizeof(frl_symbol)},
                   {"attributes", r_.attributes, sizeof(frl_attribute)},
                   {"lists", r_.lists, 4},
                   {"ints", r_.ints, 8},
                   {"text", r_.text, 1}};
    for (const auto& t : kTables) {
      if (t.table.n == 0) continue;
      if (t.table.at % 8 || t.table.stride < t.row_bytes ||
          !within(t.table.at, uint64_t(t.table.n) * t.table.stride, r_.bytes))
        return fault(cat(t.name, ": want a table inside the block"));
    }
    if (r_.text.n && r_.text.stride != 1) return fault("text: want a stride of 1");
    return {};
  }

  Status values() const {
    for (uint32_t i = 0; i < r_.symbols.n; ++i) {
      const auto s = row<frl_symbol>(r_.symbols, i);
      if (s.min < 0 || s.max < s.min || s.multiple < 1)
        return fault(cat("symbol ", i, ": want 0 <= min <= max and a multiple of 1 or more"));
    }
    for (uint32_t i = 0; i < r_.values.n; ++i) {
      const auto v = row<frl_value>(r_.values, i);
      if (v.type > FRL_F8E5M2) return fault(cat("value ", i, ": want a type, got ", v.type));
      if (v.flags & FRL_VALUE_LITERAL && !within(v.literal_at, v.literal_n, r_.text.n))
        return fault(cat("value ", i, ": want a literal inside the text"));
      if (v.rank == 255) continue;
      if (v.rank > FRL_MAX_RANK || !within(v.first_dim, v.rank, r_.dims.n))
        return fault(cat("value ", i, ": want its dims inside the table"));
      for (uint32_t d = 0; d < v.rank; ++d) {
        const auto dim = row<frl_dim>(r_.dims, uint64_t(v.first_dim) + d);
        if (dim.extent < 0 || dim.symbol > r_.symbols.n)
          return fault(cat("value ", i, ": want extents of 0 or more and known symbols"));
      }
    }
    return {};
  }

  Status attributes() const {
    if (!within(r_.first_attribute, r_.n_attributes, r_.attributes.n))
      return fault("want the kind's attributes inside the table");
    for (uint32_t i = 0; i < r_.attributes.n; ++i) {
      const auto a = row<frl_attribute>(r_.attributes, i);
      if (a.n && !within(a.at, a.n, std::max(r_.ints.n, r_.text.n)))
        return fault(cat("attribute ", i, ": want its list or text inside the table"));
    }
    return {};
  }

  // Lists are only known to be lists once the op is: the schema says which table `at` means.
  Status schema(const frl_node& n, uint32_t number) const {
    const auto rows = attribute_rows(n.op);
    if (n.op & FRL_VENDOR) return {};
    if (n.n_attributes > rows.size())
      return fault(cat("node ", number, ": want at most ", rows.size(), " attributes, got ",
                       n.n_attributes));
    for (uint32_t k = 0; k < n.n_attributes; ++k) {
      const auto a = row<frl_attribute>(r_.attributes, uint64_t(n.first_attribute) + k);
      const bool list = rows[k].kind == AttributeKind::list,
                 text = rows[k].kind == AttributeKind::text;
      if ((list && !within(a.at, a.n, r_.ints.n)) || (text && !within(a.at, a.n, r_.text.n)))
        return fault(cat("node ", number, ": want attribute ", rows[k].name, " inside its table"));
    }
    return {};
  }

  Status define(uint32_t value, const char* what) {
    if (value >= r_.values.n || defined_[value])
      return fault(cat(what, ": want a value made once, got ", value));
    defined_[value] = true;
    return {};
  }

  Status node(const frl_node& n, uint32_t number, uint32_t depth) {
    if (!(n.op & FRL_VENDOR) && !find_op(n.op))
      return fault(cat("node ", number, ": want a known op, got ", n.op));
    if (!within(n.first_operand, n.n_operands, r_.lists.n) ||
        !within(n.first_result, n.n_results, r_.values.n) ||
        !within(n.first_attribute, n.n_attributes, r_.attributes.n))
      return fault(cat("node ", number, ": want its rows inside their tables"));
    FRL_TRY(schema(n, number));
    for (uint32_t j = 0; j < n.n_operands; ++j) {
      const uint32_t operand = id(uint64_t(n.first_operand) + j);
      if (operand == FRL_NO_VALUE) continue;
      const bool known =
          operand < r_.values.n &&
          (defined_[operand] || row<frl_value>(r_.values, operand).flags & FRL_VALUE_LITERAL);
      if (!known) return fault(cat("node ", number, ": want operand ", j, " made above"));
    }
    for (uint32_t k = 0; k < n.n_bodies; ++k) FRL_TRY(body(uint64_t(n.first_body) + k, depth + 1));
    for (uint32_t j = 0; j < n.n_results; ++j) FRL_TRY(define(n.first_result + j, "node"));
    return {};
  }

  Status body(uint64_t number, uint32_t depth) {
    if (number >= r_.bodies.n || seen_[number] || depth > kMostNested)
      return fault(
          cat("body ", number, ": want it to exist, once, nested at most ", kMostNested, " deep"));
    seen_[number] = true;
    const auto b = row<frl_body>(r_.bodies, number);
    if (!within(b.first_node, b.n_nodes, r_.nodes.n) ||
        !within(b.first_input, b.n_inputs, r_.lists.n) ||
        !within(b.first_output, b.n_outputs, r_.lists.n))
      return fault(cat("body ", number, ": want its rows inside their tables"));
    for (uint32_t i = 0; i < b.n_inputs; ++i) {
      const uint32_t input = id(uint64_t(b.first_input) + i);
      if (input != FRL_NO_VALUE) FRL_TRY(define(input, "input"));
    }
    for (uint32_t i = 0; i < b.n_nodes; ++i)
      FRL_TRY(node(row<frl_node>(r_.nodes, uint64_t(b.first_node) + i), b.first_node + i, depth));
    for (uint32_t i = 0; i < b.n_outputs; ++i) {
      const uint32_t output = id(uint64_t(b.first_output) + i);
      if (output >= r_.values.n || !defined_[output])
        return fault(cat("body ", number, ": want output ", i, " made in it"));
    }
    return {};
  }

  Bytes bytes_;
  frl_region r_{};
  std::vector<bool> defined_, seen_;
};

}  // namespace

Status check_block(Bytes bytes) { return Checker(bytes).run(); }

}  // namespace ferrule
