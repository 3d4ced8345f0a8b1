// Joins the two op tables; a missing half does not compile.
#include "core/op/op.h"

#include <cmath>

#include "core/base/text.h"
#include "core/op/rules.h"

namespace ferrule {
namespace {

// The core's half, found by name: kSemantics_add.
struct Semantics {
  uint64_t types;
  InferRule infer;
  EvalRule eval;
  const char* doc;
};

constexpr uint64_t bit(Type type) { return FRL_BIT(uint64_t(type)); }
constexpr uint64_t FLOAT = bit(Type::f64) | bit(Type::f32) | bit(Type::f16) | bit(Type::bf16);
constexpr uint64_t SIGNED = bit(Type::i8) | bit(Type::i16) | bit(Type::i32) | bit(Type::i64);
constexpr uint64_t UNSIGNED = bit(Type::u8) | bit(Type::u16) | bit(Type::u32) | bit(Type::u64);
constexpr uint64_t INTEGER = SIGNED | UNSIGNED;
constexpr uint64_t NUMBER = FLOAT | INTEGER;
constexpr uint64_t BOOLEAN = bit(Type::boolean);
constexpr uint64_t ANY = NUMBER | BOOLEAN;

#define OP_SEMANTICS(name, types, infer, eval, doc) \
  constexpr Semantics kSemantics_##name = {types, infer, eval, doc};
#include "core/op/semantics.def"
#undef OP_SEMANTICS

constexpr Form POINTWISE = Form::pointwise, PLAIN = Form::plain, CONTROL = Form::control,
               CLOSED = Form::closed, OPEN = Form::open;

constexpr OpRow kRows[] = {
#define FRL_OP(id, name, form, min_in, max_in, results, bodies, expression) \
  {id,                                                                      \
   #name,                                                                   \
   form,                                                                    \
   min_in,                                                                  \
   max_in,                                                                  \
   results,                                                                 \
   bodies,                                                                  \
   expression,                                                              \
   kSemantics_##name.types,                                                 \
   kSemantics_##name.infer,                                                 \
   kSemantics_##name.eval,                                                  \
   kSemantics_##name.doc},
#define FRL_ATTR(op, slot, name, type, fallback)
#include "plugin-api/frl_ops.def"
#undef FRL_OP
#undef FRL_ATTR
};

constexpr AttributeKind I = AttributeKind::integer, F = AttributeKind::real,
                        S = AttributeKind::text, L = AttributeKind::list;
constexpr AttributeRow kAttributes[] = {
#define FRL_OP(id, name, form, min_in, max_in, results, bodies, expression)
#define FRL_ATTR(op, slot, name, type, fallback) {FRL_OP_##op, slot, #name, type, fallback},
#include "plugin-api/frl_ops.def"
#undef FRL_OP
#undef FRL_ATTR
};

// First attribute row of each op, and one past the last.
struct Spans {
  uint32_t first[std::size(kRows) + 2] = {};
};
constexpr Spans kSpans = [] {
  Spans spans;
  uint32_t at = 0;
  for (uint32_t op = 1; op <= std::size(kRows); ++op) {
    spans.first[op] = at;
    while (at < std::size(kAttributes) && kAttributes[at].op == op) ++at;
  }
  spans.first[std::size(kRows) + 1] = at;
  return spans;
}();

}  // namespace

std::span<const OpRow> op_rows() { return kRows; }

const OpRow* find_op(OpId id) { return id - 1 < std::size(kRows) ? &kRows[id - 1] : nullptr; }

const OpRow* find_op(std::string_view name) {
  for (const OpRow& row : kRows)
    if (name == row.name) return &row;
  return nullptr;
}

const OpRow& op_row(OpId id) { return kRows[id - 1]; }

std::span<const AttributeRow> attribute_rows(OpId id) {
  if (!find_op(id)) return {};
  return {kAttributes + kSpans.first[id], kAttributes + kSpans.first[id + 1]};
}

bool Attribute::operator==(const Attribute& other) const {
  return i == other.i && std::bit_cast<uint64_t>(f) == std::bit_cast<uint64_t>(other.f) &&
         text == other.text && list == other.list;
}

Attributes::Attributes(OpId op) {
  for (const AttributeRow& row : attribute_rows(op)) {
    Attribute& slot = slots_.emplace_back();
    if (row.kind == AttributeKind::integer) slot.i = int64_t(row.fallback);
    if (row.kind == AttributeKind::real) slot.f = row.fallback;
  }
}

std::string describe(const OpCall& call) {
  std::string out = call.row.name;
  for (size_t i = 0; i < call.operands.size(); ++i)
    out += cat(i ? ", " : " ", call.operands[i] ? to_string(*call.operands[i]) : "nothing");
  return out;
}

Result<std::vector<TensorType>> infer_results(const OpCall& call) {
  const OpRow& row = call.row;
  const size_t n = call.operands.size();
  if (n < row.min_operands || (row.max_operands != 255 && n > row.max_operands))
    return Status(Code::invalid_argument, cat(row.name, ": want ", row.min_operands, " to ",
                                              row.max_operands, " operands, got ", n));
  for (size_t i = 0; i < row.min_operands; ++i)
    if (!call.operands[i])
      return Status(Code::invalid_argument, cat(row.name, ": want operand ", i, ", got nothing"));
  if (n && call.operands[0] && !(row.types & bit(call.operands[0]->type)))
    return Status(Code::invalid_argument, cat(describe(call), ": want another element type, got ",
                                              type_name(call.operands[0]->type)));
  FRL_TRY(check_attributes(call));
  if (!row.infer) return Status(Code::internal, cat(row.name, ": its bodies say what it gives"));
  return row.infer(call);
}

}  // namespace ferrule
