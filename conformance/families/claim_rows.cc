#include "conformance/families/claim_rows.h"

#include <algorithm>
#include <set>

#include "core/base/text.h"
#include "core/op/rules.h"

namespace ferrule::conformance {
namespace {

constexpr uint64_t kTypes = (FRL_BIT(FRL_F8E5M2 + 1) - 1) & ~uint64_t{1};
constexpr uint32_t kLayouts = FRL_LAYOUT_DENSE | FRL_LAYOUT_ORDERED | FRL_LAYOUT_INNER |
                              FRL_LAYOUT_STRIDED | FRL_LAYOUT_UNALIGNED;
constexpr uint32_t kBroadcasts =
    FRL_BROADCAST_SCALAR | FRL_BROADCAST_ROW | FRL_BROADCAST_COLUMN | FRL_BROADCAST_ANY;
constexpr uint32_t kOperandFlags =
    FRL_OPERAND_RESULT | FRL_OPERAND_REPEAT | FRL_OPERAND_OPTIONAL | FRL_OPERAND_PARAMETER;
constexpr uint32_t kFp = FRL_FP_FLUSHES_INPUTS | FRL_FP_FLUSHES_RESULTS | FRL_FP_LOSES_NAN |
                         FRL_FP_LOSES_INF | FRL_FP_LOSES_ZERO_SIGN | FRL_FP_CONTRACTS |
                         FRL_FP_WIDE_INSIDE;
constexpr uint32_t kCompute =
    FRL_COMPUTE_IEEE | FRL_COMPUTE_TF32 | FRL_COMPUTE_BF16X3 | FRL_COMPUTE_REDUCED;
constexpr uint32_t kShapes = FRL_SHAPES_STATIC | FRL_SHAPES_BOUNDED | FRL_SHAPES_DYNAMIC;

// A field that is a mask: bits in use, and whether it may be empty.
std::string check_mask(const char* name, uint64_t value, uint64_t known, bool may_be_empty) {
  if (value & ~known) return cat(name, ": want bits of mask ", known, ", got ", value);
  return value == 0 && !may_be_empty ? cat(name, ": want at least one bit, got none") : "";
}

// Each axis of the preferred order once, as many as the rank of its highest nibble.
std::string check_order(const frl_operand& o) {
  if (o.order == 0) return "";
  uint32_t seen = 0;
  for (uint32_t k = 0; k < o.max_rank && k < 16; ++k) seen |= 1u << (o.order >> (4 * k) & 15);
  const uint32_t want = (1u << o.max_rank) - 1;
  return seen == want ? "" : cat("order: want each of ", o.max_rank, " axes once, got ", o.order);
}

std::string check_operand(const frl_operand& o) {
  const std::string masks[] = {check_mask("types", o.types, kTypes, false),
                               check_mask("layouts", o.layouts, kLayouts, false),
                               check_mask("broadcasts", o.broadcasts, kBroadcasts, true),
                               check_mask("flags", o.flags, kOperandFlags, true)};
  for (const std::string& wrong : masks)
    if (!wrong.empty()) return wrong;
  if (o.min_rank > o.max_rank)
    return cat("ranks: want min_rank at most max_rank, got ", o.min_rank, " and ", o.max_rank);
  if (o.max_rank > FRL_MAX_RANK)
    return cat("max_rank: want at most ", FRL_MAX_RANK, ", got ", o.max_rank);
  if (o.layouts == FRL_LAYOUT_UNALIGNED)
    return "layouts: want one beside unaligned, which is about the start alone";
  const bool result = o.flags & FRL_OPERAND_RESULT;
  if (result && o.broadcasts) return cat("broadcasts: want none of a result, got ", o.broadcasts);
  if (result && o.flags & FRL_OPERAND_PARAMETER)
    return "flags: want no result that must be a parameter";
  if (o.pad) return cat("pad: want 0, got ", o.pad);
  return check_order(o);
}

// Inputs, then results; a repeated row is the last of its side; a group has a type that all share.
std::string check_operands(const frl_claim& claim) {
  uint64_t groups[256];
  std::fill(std::begin(groups), std::end(groups), ~uint64_t{0});
  bool results = false;
  for (uint32_t k = 0; k < claim.operands.n; ++k) {
    const frl_operand o = claim_operand(claim, k);
    if (const std::string wrong = check_operand(o); !wrong.empty())
      return cat("operand ", k, ": ", wrong);
    const bool result = o.flags & FRL_OPERAND_RESULT;
    if (results && !result) return cat("operand ", k, ": want inputs before results");
    if (o.flags & FRL_OPERAND_REPEAT && k + 1 < claim.operands.n &&
        bool(claim_operand(claim, k + 1).flags & FRL_OPERAND_RESULT) == result)
      return cat("operand ", k, ": want a repeated row behind all others of its side");
    results = result;
    if (o.group && (groups[o.group] &= o.types) == 0)
      return cat("operand ", k, ": want a type in common with its group ", o.group,
                 ", there is none");
  }
  return results ? "" : "operands: want at least one result";
}

std::string check_arity(const frl_claim& claim, const OpRow& op) {
  uint32_t inputs = 0, results = 0;
  bool repeats[2] = {false, false};
  for (uint32_t k = 0; k < claim.operands.n; ++k) {
    const frl_operand o = claim_operand(claim, k);
    const bool result = o.flags & FRL_OPERAND_RESULT;
    ++(result ? results : inputs);
    repeats[result] |= bool(o.flags & FRL_OPERAND_REPEAT);
  }
  if (inputs > op.max_operands)
    return cat("operands: want at most ", op.max_operands, " inputs of ", op.name, ", got ",
               inputs);
  if (inputs < op.min_operands && !repeats[0])
    return cat("operands: want rows for at least ", op.min_operands, " inputs of ", op.name,
               ", got ", inputs);
  if (op.n_results && results > op.n_results)
    return cat("operands: want at most ", op.n_results, " results of ", op.name, ", got ", results);
  if (op.n_results && results < op.n_results && !repeats[1])
    return cat("operands: want rows for ", op.n_results, " results of ", op.name, ", got ",
               results);
  return "";
}

// Axes count from the end; the rest is the op table's to say.
bool legal_value(const OpRow& op, const AttributeRow& attribute, int64_t value) {
  if (std::string_view(attribute.name) == "axis")
    return value >= -int64_t(FRL_MAX_RANK) && value <= 0;
  Attributes attributes(op.id);
  attributes.set_i(attribute.slot, value);
  return check_attributes({op, attributes, {}}).ok();
}

std::string check_choices(const frl_claim& claim, const OpRow* op) {
  if (claim.choices.n > 4) return cat("choices: want at most 4, got ", claim.choices.n);
  std::set<uint32_t> slots;
  for (uint32_t k = 0; k < claim.choices.n; ++k) {
    const auto [slot, allowed] = choice_values(claim, k);
    if (!slots.insert(slot).second)
      return cat("choice ", k, ": want each slot once, got ", slot, " again");
    if (allowed.empty()) return cat("choice ", k, ": want at least one allowed value, got none");
    if (std::set<int64_t>(allowed.begin(), allowed.end()).size() != allowed.size())
      return cat("choice ", k, ": want each allowed value once");
    if (!op) continue;
    const auto rows = attribute_rows(op->id);
    if (slot >= rows.size())
      return cat("choice ", k, ": want a slot of ", op->name, ", got ", slot);
    if (rows[slot].kind != AttributeKind::integer)
      return cat("choice ", k, ": want an integer attribute, got ", rows[slot].name);
    for (int64_t value : allowed)
      if (!legal_value(*op, rows[slot], value))
        return cat("choice ", k, ": want legal values of ", rows[slot].name, ", got ", value);
  }
  return "";
}

std::string check_numbers(const frl_claim& c) {
  const std::string masks[] = {check_mask("shapes", c.shapes, kShapes, false),
                               check_mask("compute", c.compute, kCompute, true),
                               check_mask("fp", c.fp, kFp, true)};
  for (const std::string& wrong : masks)
    if (!wrong.empty()) return wrong;
  if (c.accumulate > FRL_F8E5M2) return cat("accumulate: want a known type, got ", c.accumulate);
  if (c.determinism > FRL_SAME_BITS_ANY_THREADS)
    return cat("determinism: want 0 to 2, got ", c.determinism);
  if (c.error > FRL_ERROR_CONDITION) return cat("error: want 0 to 2, got ", c.error);
  if (c.error == FRL_ERROR_EXACT && c.error_milli)
    return cat("error_milli: want 0 of an exact row, got ", c.error_milli);
  if (c.error == FRL_ERROR_CONDITION && !c.error_milli)
    return "error_milli: want a bound of a row that is not exact, got 0";
  if (c.error_milli > 1'000'000'000)
    return cat("error_milli: want a bound that could be broken, got ", c.error_milli);
  if (c.max_elements && c.max_dim > c.max_elements)
    return cat("max_dim: want at most max_elements, ", c.max_elements, ", got ", c.max_dim);
  return "";
}

std::string check_kind(const frl_claim& c, const OpRow& op) {
  if (op.form != Form::open)
    return c.members.n ? cat("members: want none of ", op.name, ", whose body is implied") : "";
  if (c.members.n == 0) return cat("members: want the ops that a ", op.name, " may hold, got none");
  if (c.max_nodes == 0 || c.max_inputs == 0 || c.max_outputs == 0)
    return cat("limits: want none that is 0, got ", c.max_nodes, " nodes, ", c.max_inputs,
               " inputs, ", c.max_outputs, " outputs");
  return "";
}

std::string read_name(const frl_str& s) { return s.p ? std::string(s.p, s.n) : std::string(); }

}  // namespace

frl_claim claim_row(const frl_device_row& row, uint32_t i) {
  frl_claim out;
  frl_row(&out, sizeof out, row.claims.p, row.claims.stride, i);
  return out;
}
frl_operand claim_operand(const frl_claim& claim, uint32_t i) {
  frl_operand out;
  frl_row(&out, sizeof out, claim.operands.p, claim.operands.stride, i);
  return out;
}
std::pair<uint32_t, std::vector<int64_t>> choice_values(const frl_claim& claim, uint32_t i) {
  frl_choice out;
  frl_row(&out, sizeof out, claim.choices.p, claim.choices.stride, i);
  return {out.slot, out.allowed ? std::vector<int64_t>(out.allowed, out.allowed + out.n)
                                : std::vector<int64_t>()};
}

std::string check_claim(const frl_device_row& row, uint32_t i, uint32_t n_kinds) {
  const frl_claim c = claim_row(row, i);
  const bool vendor = c.op & FRL_VENDOR;
  if (vendor && (c.op & ~FRL_VENDOR) >= n_kinds)
    return cat("op: want one of the plugin's ", n_kinds, " kinds, got number ", c.op & ~FRL_VENDOR);
  const OpRow* op = vendor ? nullptr : find_op(c.op);
  if (!vendor && !op) return cat("op: want a known one, got ", c.op);
  std::string wrong = check_operands(c);
  if (wrong.empty()) wrong = check_numbers(c);
  if (wrong.empty()) wrong = check_choices(c, op);
  if (wrong.empty() && op) wrong = check_kind(c, *op);
  if (wrong.empty() && op && op->form != Form::open) wrong = check_arity(c, *op);
  return wrong.empty() ? "" : cat("claim ", i, " (", op ? op->name : "vendor's kind", "): ", wrong);
}

std::string check_device(const frl_device_row& row) {
  if (read_name(row.name).empty()) return "name: want one, got none";
  if (row.state > FRL_DEVICE_PROFILE) return cat("state: want 0 to 2, got ", row.state);
  if (row.state == FRL_DEVICE_PRESENT && row.reason != 0)
    return cat("reason: want none of a device that is present, got ", row.reason);
  if (row.state == FRL_DEVICE_ABSENT && (row.reason == 0 || row.reason_text.n == 0))
    return "reason: want one, with a text, of a device that is absent";
  if (row.flags & ~uint32_t(FRL_DEVICE_INLINE | FRL_DEVICE_OWN_THREADS))
    return cat("flags: want those of minor 0, got ", row.flags);
  if (row.state == FRL_DEVICE_PRESENT && row.max_queues == 0)
    return "max_queues: want at least 1, got 0";
  const std::string pci = read_name(row.pci);
  if (!pci.empty() && (pci.size() < 12 || pci[4] != ':' || pci[7] != ':' || pci[10] != '.'))
    return cat("pci: want 0000:00:00.0, got ", pci);
  return "";
}

std::string check_spaces(const frl_device_row& row) {
  constexpr uint32_t kFlags =
      FRL_SPACE_HOST_VISIBLE | FRL_SPACE_DEVICE | FRL_SPACE_UNIFIED | FRL_SPACE_ADDRESS;
  for (uint32_t i = 0; i < row.spaces.n; ++i) {
    frl_space s;
    frl_row(&s, sizeof s, row.spaces.p, row.spaces.stride, i);
    if (s.flags & ~kFlags) return cat("space ", i, ": flags: want those of minor 0, got ", s.flags);
    if (i == 0 && !(s.flags & FRL_SPACE_DEVICE)) return "space 0: want one that kernels may use";
    if (s.align_bytes == 0 || s.align_bytes & (s.align_bytes - 1))
      return cat("space ", i, ": align_bytes: want a power of two, got ", s.align_bytes);
    if (s.total_bytes == 0 || s.max_alloc_bytes == 0 || s.max_binding_bytes == 0)
      return cat("space ", i, ": want sizes that are not 0");
    if (s.max_alloc_bytes > s.total_bytes)
      return cat("space ", i, ": max_alloc_bytes: want at most total_bytes, ", s.total_bytes,
                 ", got ", s.max_alloc_bytes);
  }
  return row.spaces.n ? "" : "spaces: want at least one, got none";
}

}  // namespace ferrule::conformance
