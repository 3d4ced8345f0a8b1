// Constants of a plugin's tables: texts, rows, operands, claims, costs. All of it is constexpr.
#pragma once

#include <cstddef>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plugin-api/frl_plugin.h"

namespace frl {

constexpr frl_str str(std::string_view text) { return {text.data(), text.size()}; }
inline std::string_view view(frl_str text) { return {text.p, static_cast<size_t>(text.n)}; }

// A table over rows that outlive it.
template <class T>
constexpr frl_rows rows(std::span<const T> table) {
  return {table.data(), static_cast<uint32_t>(table.size()), sizeof(T)};
}
template <class T, size_t N>
constexpr frl_rows rows(const T (&table)[N]) {
  return {table, static_cast<uint32_t>(N), sizeof(T)};
}
template <class T, size_t N>
constexpr frl_rows rows(const std::array<T, N>& table) {
  return {table.data(), static_cast<uint32_t>(N), sizeof(T)};
}
template <class T>
frl_rows rows(const std::vector<T>& table) {
  return rows(std::span<const T>(table));
}

// Row i of a table from the other side: shorter rows end in zeros, longer ones are cut.
template <class T>
T row(const frl_rows& table, uint64_t i) {
  T out;
  frl_row(&out, sizeof out, table.p, table.stride, i);
  return out;
}

// A mask of element types: types(FRL_F32, FRL_F64).
template <class... Ids>
constexpr uint64_t types(Ids... ids) {
  return (FRL_BIT(ids) | ...);
}
constexpr uint64_t kFloats = types(FRL_F64, FRL_F32, FRL_F16, FRL_BF16);
constexpr uint64_t kInts =
    types(FRL_I8, FRL_I16, FRL_I32, FRL_I64, FRL_U8, FRL_U16, FRL_U32, FRL_U64);
constexpr uint64_t kNumbers = kFloats | kInts;
constexpr uint64_t kAnyType = kNumbers | FRL_BIT(FRL_BOOL);

// A dense operand of a claim. Operands of one non-zero group have the same type.
constexpr frl_operand operand(uint64_t type_mask, uint8_t min_rank, uint8_t max_rank,
                              uint8_t group = 1) {
  return {type_mask, 0, FRL_LAYOUT_DENSE, 0, group, min_rank, max_rank, 0, 0};
}
constexpr frl_operand flagged(frl_operand o, uint8_t flags) {
  o.flags = static_cast<uint8_t>(o.flags | flags);
  return o;
}
constexpr frl_operand result(frl_operand o) { return flagged(o, FRL_OPERAND_RESULT); }
constexpr frl_operand optional(frl_operand o) { return flagged(o, FRL_OPERAND_OPTIONAL); }
constexpr frl_operand repeat(frl_operand o) { return flagged(o, FRL_OPERAND_REPEAT); }
constexpr frl_operand parameter(frl_operand o) { return flagged(o, FRL_OPERAND_PARAMETER); }
constexpr frl_operand laid_out(frl_operand o, uint32_t layouts) {
  o.layouts |= layouts;
  return o;
}
constexpr frl_operand broadcasting(frl_operand o, uint32_t forms) {
  o.broadcasts |= forms;
  return o;
}

// The region kind for chains of POINTWISE ops.
constexpr frl_claim pointwise_claim(frl_rows operands, frl_rows members, uint32_t max_nodes,
                                    uint32_t max_inputs, uint32_t max_outputs) {
  frl_claim c{};
  c.op = FRL_OP_pointwise, c.shapes = FRL_SHAPES_STATIC, c.compute = FRL_COMPUTE_IEEE;
  c.operands = operands, c.members = members;
  c.max_nodes = max_nodes, c.max_inputs = max_inputs, c.max_outputs = max_outputs;
  c.determinism = FRL_SAME_BITS_ANY_THREADS;
  c.error = FRL_ERROR_ULP, c.error_milli = 4000;
  return c;
}

// Any other op or kind: exact unless `error` says otherwise.
constexpr frl_claim claim(uint32_t op, frl_rows operands, uint32_t error = FRL_ERROR_EXACT,
                          uint32_t error_milli = 0) {
  frl_claim c{};
  c.op = op, c.shapes = FRL_SHAPES_STATIC, c.compute = FRL_COMPUTE_IEEE;
  c.operands = operands;
  c.determinism = FRL_SAME_BITS_ANY_THREADS;
  c.error = error, c.error_milli = error_milli;
  return c;
}

// Costs of a device that works in host memory, on the calling thread.
//   units  ps for one kernel in a segment, for one empty submit, for 1 KiB read or written
constexpr frl_cost host_cost(uint64_t dispatch_ps, uint64_t round_trip_ps,
                             uint64_t memory_ps_per_kib, frl_rows arithmetic, uint32_t basis) {
  frl_cost c{};
  c.head = {sizeof(frl_cost), FRL_TAG_COST};
  c.dispatch_ps = dispatch_ps, c.round_trip_ps = round_trip_ps;
  c.memory_ps_per_kib = memory_ps_per_kib;
  c.to_device_ps_per_kib = memory_ps_per_kib, c.from_device_ps_per_kib = memory_ps_per_kib;
  c.readback_ps_per_kib = memory_ps_per_kib;
  c.arithmetic = arithmetic, c.basis = basis;
  return c;
}

// A setting that the config gives, or `fallback`.
inline std::string setting(const frl_host* host, std::string_view key, std::string_view fallback) {
  for (uint32_t i = 0; i < host->settings.n; ++i) {
    const auto s = row<frl_setting>(host->settings, i);
    if (view(s.key) == key) return std::string(view(s.value));
  }
  return std::string(fallback);
}

}  // namespace frl
