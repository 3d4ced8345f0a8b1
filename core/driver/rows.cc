#include "core/driver/rows.h"

#include <algorithm>

#include "core/base/bytes.h"
#include "core/base/text.h"

namespace ferrule {
namespace {

constexpr uint32_t kMostDevices = 1024, kMostClaims = 65536, kMostOperands = 256,
                   kMostMembers = 4096;
constexpr uint64_t kKnownTypes = (FRL_BIT(FRL_BOOL) << 1) - 2;
// Sizes in minor 0; a row may only have grown since.
constexpr uint32_t kDeviceBytes = sizeof(frl_device_row), kClaimBytes = sizeof(frl_claim),
                   kOperandBytes = sizeof(frl_operand), kChoiceBytes = sizeof(frl_choice),
                   kSpaceBytes = sizeof(frl_space), kRateBytes = sizeof(frl_rate);

Status broken(std::string text) { return Status(Code::invalid_argument, std::move(text)); }

}  // namespace

Result<std::string> read_text(const frl_str& text, const char* what) {
  if (text.n == 0) return std::string();
  if (!text.p || text.n > 65536)
    return broken(cat(what, ": want a text of at most 65536 bytes, got ", text.n));
  std::string out(text.p, text.n);
  if (out.find('\0') != std::string::npos) return broken(cat(what, ": want a text without NUL"));
  if (json_quote(out).find("\xef\xbf\xbd") != std::string::npos)
    return broken(cat(what, ": want UTF-8, got ", json_quote(out)));
  return out;
}

template <class T>
Result<std::vector<T>> read_rows(const frl_rows& rows, uint32_t least, uint32_t most,
                                 const char* what) {
  if (rows.n == 0) return std::vector<T>();
  if (!rows.p) return broken(cat(what, ": want rows, got a null pointer and n = ", rows.n));
  if (rows.stride < least)
    return broken(cat(what, ": want a stride of at least ", least, ", got ", rows.stride));
  if (rows.n > most) return broken(cat(what, ": want at most ", most, " rows, got ", rows.n));
  std::vector<T> out(rows.n);
  for (uint32_t i = 0; i < rows.n; ++i) frl_row(&out[i], sizeof(T), rows.p, rows.stride, i);
  return out;
}

template Result<std::vector<frl_option>> read_rows(const frl_rows&, uint32_t, uint32_t,
                                                   const char*);
template Result<std::vector<frl_kind>> read_rows(const frl_rows&, uint32_t, uint32_t, const char*);
template Result<std::vector<frl_pack>> read_rows(const frl_rows&, uint32_t, uint32_t, const char*);
template Result<std::vector<frl_alias>> read_rows(const frl_rows&, uint32_t, uint32_t, const char*);
template Result<std::vector<frl_constraint>> read_rows(const frl_rows&, uint32_t, uint32_t,
                                                       const char*);

namespace {

Result<std::vector<OpId>> read_ops(const frl_rows& rows, const char* what) {
  FRL_LET(std::vector<OpId> ops, read_rows<OpId>(rows, 4, kMostMembers, what));
  std::sort(ops.begin(), ops.end());
  return ops;
}

Result<std::vector<Choice>> read_choices(const frl_rows& rows) {
  FRL_LET(const auto given, read_rows<frl_choice>(rows, kChoiceBytes, 4, "choices"));
  std::vector<Choice> out;
  for (const frl_choice& choice : given) {
    if (choice.n > kMostMembers || (choice.n && !choice.allowed))
      return broken(cat("choices: want at most ", kMostMembers, " allowed values, got ", choice.n));
    out.push_back({choice.slot, {choice.allowed, choice.allowed + choice.n}});
  }
  return out;
}

// Empty if the row can be used.
std::string why_void(const Claim& claim) {
  const bool vendor = claim.op & FRL_VENDOR;
  if (!vendor && !find_op(claim.op)) return cat("op ", claim.op, " is not known");
  if (claim.name.empty())
    return cat("kind ", claim.op & ~FRL_VENDOR, " is no row of the plugin's kinds");
  if (claim.shapes == 0 || claim.shapes > 7)
    return cat("shapes: want a mask of 1, 2 and 4, got ", claim.shapes);
  if (claim.compute > 15) return cat("compute: want a mask up to 15, got ", claim.compute);
  if (claim.operands.empty() && !vendor) return "operands: want rows, got none";
  for (const frl_operand& operand : claim.operands) {
    if ((operand.types & kKnownTypes) == 0)
      return cat("operands: want known types, got mask ", operand.types);
    if (operand.flags > 15 || operand.layouts > 31 || operand.broadcasts > 15)
      return "operands: an unknown flag, layout or broadcast form";
    if (operand.min_rank > operand.max_rank) return "operands: want min_rank <= max_rank";
  }
  if (claim.error > FRL_ERROR_CONDITION) return cat("error: want 0 to 2, got ", claim.error);
  if (claim.determinism > FRL_SAME_BITS_ANY_THREADS)
    return cat("determinism: want 0 to 2, got ", claim.determinism);
  if (vendor) return {};
  for (const Choice& choice : claim.choices)
    if (choice.slot >= attribute_rows(claim.op).size())
      return cat("choices: want a slot of ", claim.name, ", got ", choice.slot);
  return {};
}

Result<Claim> read_claim(const frl_claim& row, const std::vector<std::string>& kind_names) {
  Claim out;
  out.op = row.op;
  if (const OpRow* op = find_op(row.op)) out.name = op->name;
  if (row.op & FRL_VENDOR && (row.op & ~FRL_VENDOR) < kind_names.size())
    out.name = kind_names[row.op & ~FRL_VENDOR];
  out.shapes = row.shapes, out.compute = row.compute, out.accumulate = Type(row.accumulate);
  FRL_LET(out.operands,
          read_rows<frl_operand>(row.operands, kOperandBytes, kMostOperands, "operands"));
  FRL_LET(out.choices, read_choices(row.choices));
  out.max_elements = row.max_elements, out.max_dim = row.max_dim;
  out.max_nodes = std::max(1u, row.max_nodes), out.max_inputs = std::max(1u, row.max_inputs);
  out.max_outputs = std::max(1u, row.max_outputs), out.max_slices = std::max(1u, row.max_slices);
  out.max_prologue = row.max_prologue, out.max_epilogue = row.max_epilogue;
  out.scratch_bytes = row.scratch_bytes;
  FRL_LET(out.members, read_ops(row.members, "members"));
  FRL_LET(out.prologue, read_ops(row.prologue, "prologue"));
  FRL_LET(out.epilogue, read_ops(row.epilogue, "epilogue"));
  out.fp = row.fp, out.determinism = row.determinism, out.error = row.error,
  out.error_milli = row.error_milli;
  return out;
}

Result<Cost> read_cost(const frl_cost* given) {
  if (!given) return broken("cost: want a cost row, got a null pointer");
  if (given->head.tag != FRL_TAG_COST || given->head.size < sizeof(frl_cost))
    return broken(cat("cost: want tag ", int(FRL_TAG_COST), " and ", sizeof(frl_cost),
                      " bytes, got ", given->head.tag, " and ", given->head.size));
  const frl_cost c = *given;
  Cost out{c.dispatch_ps,
           c.round_trip_ps,
           c.memory_ps_per_kib,
           c.to_device_ps_per_kib,
           c.from_device_ps_per_kib,
           c.readback_ps_per_kib,
           c.host_thunk_ps,
           c.minimum_gain_ps,
           {},
           c.basis};
  FRL_LET(out.arithmetic, read_rows<frl_rate>(c.arithmetic, kRateBytes, 256, "arithmetic"));
  return out;
}

Status read_claims(const frl_device_row& row, const std::vector<std::string>& kind_names,
                   DeviceRow& out) {
  FRL_LET(const auto claims, read_rows<frl_claim>(row.claims, kClaimBytes, kMostClaims, "claims"));
  for (size_t i = 0; i < claims.size(); ++i) {
    auto claim = read_claim(claims[i], kind_names);
    if (!claim.ok()) return std::move(claim).within(cat("claim ", i)).status();
    std::string why = why_void(*claim);
    if (why.empty())
      out.claims.push_back(std::move(*claim));
    else
      out.voided.push_back(cat("claim ", i, ": ", why));
  }
  return {};
}

Result<DeviceRow> read_device(const frl_device_row& row,
                              const std::vector<std::string>& kind_names) {
  DeviceRow out;
  FRL_LET(out.name, read_text(row.name, "name"));
  FRL_LET(out.architecture, read_text(row.architecture, "architecture"));
  FRL_LET(out.driver, read_text(row.driver, "driver"));
  FRL_LET(out.pci, read_text(row.pci, "pci"));
  FRL_LET(out.reason_text, read_text(row.reason_text, "reason_text"));
  std::copy(std::begin(row.uuid), std::end(row.uuid), out.uuid.begin());
  if (out.name.empty()) return broken("name: want a name, got none");
  if (row.state > FRL_DEVICE_PROFILE) return broken(cat("state: want 0 to 2, got ", row.state));
  out.state = row.state, out.reason = Code(row.reason), out.flags = row.flags;
  if (row.state == FRL_DEVICE_ABSENT) return out;  // nothing can be planned for it
  out.max_queues = std::max(1u, row.max_queues);
  out.dlpack_type = row.dlpack_type, out.dlpack_id = row.dlpack_id,
  out.fingerprint = row.fingerprint;
  FRL_TRY(read_claims(row, kind_names, out));
  FRL_LET(out.spaces, read_rows<frl_space>(row.spaces, kSpaceBytes, 64, "spaces"));
  if (out.spaces.empty()) return broken("spaces: want at least one, got none");
  for (const frl_space& space : out.spaces)
    if (space.align_bytes == 0 || space.align_bytes & (space.align_bytes - 1))
      return broken(
          cat("spaces: want an alignment that is a power of two, got ", space.align_bytes));
  FRL_LET(out.cost, read_cost(row.cost));
  return out;
}

}  // namespace

Result<std::vector<DeviceRow>> read_devices(const frl_rows& rows,
                                            const std::vector<std::string>& kind_names) {
  FRL_LET(const auto given, read_rows<frl_device_row>(rows, kDeviceBytes, kMostDevices, "devices"));
  std::vector<DeviceRow> out;
  for (size_t i = 0; i < given.size(); ++i) {
    auto device = read_device(given[i], kind_names);
    if (!device.ok()) return std::move(device).within(cat("device ", i)).status();
    device->own = reinterpret_cast<const frl_device_row*>(static_cast<const char*>(rows.p) +
                                                          uint64_t(i) * rows.stride);
    out.push_back(std::move(*device));
  }
  return out;
}

uint64_t DeviceRow::claims_hash() const {
  uint64_t h = hash_bytes("claims", 6);
  const auto add = [&](const void* p, size_t n) { h = hash_bytes(p, n, h); };
  for (const Claim& c : claims) {
    add(c.name.data(), c.name.size());
    const uint64_t numbers[] = {c.op,
                                c.shapes,
                                c.compute,
                                uint64_t(c.accumulate),
                                c.max_elements,
                                c.max_dim,
                                c.max_nodes,
                                c.max_inputs,
                                c.max_outputs,
                                c.max_slices,
                                c.max_prologue,
                                c.max_epilogue,
                                c.scratch_bytes,
                                c.fp,
                                c.determinism,
                                c.error,
                                c.error_milli};
    add(numbers, sizeof numbers);
    add(c.operands.data(), c.operands.size() * sizeof(frl_operand));
    for (const Choice& choice : c.choices)
      add(&choice.slot, 4), add(choice.allowed.data(), choice.allowed.size() * 8);
    add(c.members.data(), c.members.size() * 4), add(c.prologue.data(), c.prologue.size() * 4),
        add(c.epilogue.data(), c.epilogue.size() * 4);
  }
  return h;
}

bool takes_host_addresses(const DeviceRow& row) {
  constexpr uint32_t kWanted = FRL_SPACE_HOST_VISIBLE | FRL_SPACE_ADDRESS;
  return !row.spaces.empty() && (row.spaces[0].flags & kWanted) == kWanted;
}

}  // namespace ferrule
