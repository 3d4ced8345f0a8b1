#include "tests/property/setting.h"

#include "core/base/text.h"
#include "tests/pass/device.h"

namespace ferrule::property {
namespace {

// Which ops and kinds a device claims.
std::vector<std::string> draw_claims(Chance& chance, std::span<const std::string> wanted) {
  if (!wanted.empty() && chance.with(0.45)) return {wanted.begin(), wanted.end()};
  constexpr double kShares[] = {1, 0.95, 0.8, 0.5};
  const double share = chance.of(kShares);
  const double kinds = chance.with(0.5) ? share : chance.unit();
  std::vector<std::string> out;
  for (const OpRow& row : op_rows()) {
    const bool kind = row.form == Form::closed || row.form == Form::open;
    const double least = row.form == Form::control ? 0.2 * share : kind ? kinds : share;
    if (chance.with(least)) out.push_back(row.name);
  }
  return out;
}

template <class Count>
Count few(Chance& chance) {
  return Count(chance.with(0.5) ? chance.between(1, 4) : chance.between(1, 64));
}

void thin(Chance& chance, std::vector<OpId>& ops) {
  std::vector<OpId> kept;
  for (OpId op : ops)
    if (chance.with(0.8)) kept.push_back(op);
  ops = std::move(kept);
}

DeviceRow draw_device(Chance& chance, std::span<const std::string> wanted) {
  DeviceRow row = test::device_claiming(draw_claims(chance, wanted));
  for (Claim& claim : row.claims) {
    if (chance.with(0.2)) claim.max_nodes = few<uint32_t>(chance);
    if (chance.with(0.2)) claim.max_inputs = few<uint32_t>(chance);
    if (chance.with(0.2)) claim.max_outputs = few<uint32_t>(chance);
    if (chance.with(0.1)) claim.max_slices = few<uint32_t>(chance);
    if (chance.with(0.1)) claim.max_prologue = few<uint32_t>(chance);
    if (chance.with(0.1)) claim.max_epilogue = few<uint32_t>(chance);
    if (chance.with(0.1)) thin(chance, claim.members);
    if (chance.with(0.1)) claim.operands[0].max_rank = uint32_t(chance.between(1, 4));
    if (chance.with(0.05)) claim.operands[0].types = FRL_BIT(FRL_F32) | FRL_BIT(FRL_F64);
  }
  const auto rate = [&](double most) { return uint64_t(chance.unit() * chance.unit() * most); };
  if (chance.with(0.3)) {
    row.cost.dispatch_ps = rate(1e8), row.cost.memory_ps_per_kib = rate(1e7);
    row.cost.round_trip_ps = rate(1e9), row.cost.host_thunk_ps = rate(1e8);
    row.cost.readback_ps_per_kib = rate(1e7), row.cost.minimum_gain_ps = rate(1e7);
  }
  return row;
}

}  // namespace

FuseOptions draw_options(Chance& chance) {
  constexpr GateMode kModes[] = {GateMode::plugin, GateMode::always, GateMode::always,
                                 GateMode::always, GateMode::never,  GateMode::calibrated};
  FuseOptions out;
  out.gate.mode = chance.of(kModes);
  if (chance.with(0.1)) out.gate.expected_runs = chance.between(1, 100);
  if (chance.with(0.25)) out.limits.nodes = few<uint32_t>(chance);
  if (chance.with(0.25)) out.limits.inputs = few<uint32_t>(chance);
  if (chance.with(0.25)) out.limits.outputs = few<uint32_t>(chance);
  const double off = chance.with(0.3) ? 0.3 * chance.unit() : 0;
  for (const Pass* pass : all_passes())
    if (!pass->mandatory && chance.with(off)) out.passes_off.insert(pass->name);
  out.fusion = !chance.with(0.04);
  out.pointwise = !chance.with(0.08);
  return out;
}

Setting draw_setting(Chance& chance, std::span<const std::string> wanted) {
  Setting out;
  out.options = draw_options(chance);
  out.devices.push_back(draw_device(chance, wanted));
  out.placed = {0};
  if (chance.with(0.15)) {
    out.devices.push_back(draw_device(chance, wanted));
    for (int64_t i = chance.between(1, 6); i > 0; --i)
      out.placed.push_back(int32_t(chance.below(2)));
  }
  out.canonical = !chance.with(0.08);
  if (chance.with(0.1)) out.refuses = uint64_t(chance.between(2, 5));
  return out;
}

std::string options_text(const FuseOptions& options) {
  std::string out = cat("gate ", gate_mode_name(options.gate.mode), "\n");
  const RegionLimits& limits = options.limits;
  if (limits.nodes || limits.inputs || limits.outputs) out += "limits";
  if (limits.nodes) out += cat(" nodes=", *limits.nodes);
  if (limits.inputs) out += cat(" inputs=", *limits.inputs);
  if (limits.outputs) out += cat(" outputs=", *limits.outputs);
  if (out.back() != '\n') out += "\n";
  if (!options.passes_off.empty()) {
    out += "# off";
    for (const std::string& name : options.passes_off) out += " " + name;
    out += "\n";
  }
  for (const auto& [on, name] :
       {std::pair(options.fusion, "fusion"), std::pair(options.pointwise, "pointwise regions")})
    if (!on) out += cat("# no ", name, "\n");
  return out;
}

std::string Setting::text() const {
  std::string out;
  for (const DeviceRow& row : devices) {
    out += "claims";
    for (const Claim& claim : row.claims) out += " " + claim.name;
    out += "\n";
  }
  out += options_text(options);
  if (!canonical) out += "# not made canonical\n";
  if (refuses) out += cat("# refuses every ", refuses, "\n");
  return out;
}

const DeviceRow& reference_row() {
  static const DeviceRow kRow = [] {
    std::vector<std::string> names;
    for (const OpRow& row : op_rows()) names.push_back(row.name);
    DeviceRow row = test::device_claiming(names);
    for (Claim& claim : row.claims) claim.error = FRL_ERROR_ULP, claim.error_milli = 4000;
    return row;
  }();
  return kRow;
}

}  // namespace ferrule::property
