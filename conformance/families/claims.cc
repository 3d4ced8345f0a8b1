// D: claim, space and cost rows as the plugin wrote them, each number by itself and against the
// others.
#include <algorithm>
#include <set>

#include "conformance/families/claim_rows.h"
#include "conformance/raw/check.h"
#include "conformance/raw/errands.h"
#include "conformance/raw/process.h"
#include "conformance/suite/families.h"
#include "core/base/text.h"

namespace ferrule::conformance {
namespace {

using raw::Session;

Outcome over_rows(const Target& target,
                  const std::function<std::string(const frl_device_row&)>& check) {
  return raw::outcome_of(check(*target.row().own));
}

std::string row_name(const Target& target, uint32_t i, const frl_claim& claim) {
  if (claim.op & FRL_VENDOR) return cat(i, "/kind_", claim.op & ~FRL_VENDOR);
  const OpRow* row = find_op(claim.op);
  static_cast<void>(target);
  return cat(i, "/", row ? row->name : "unknown");
}

// ---- rows among each other ----
bool same_claim(const frl_claim& a, const frl_claim& b) {
  const auto same_table = [](const frl_rows& x, const frl_rows& y, uint32_t bytes) {
    if (x.n != y.n) return false;
    std::vector<char> p(bytes), q(bytes);
    for (uint32_t i = 0; i < x.n; ++i) {
      frl_row(p.data(), bytes, x.p, x.stride, i), frl_row(q.data(), bytes, y.p, y.stride, i);
      if (p != q) return false;
    }
    return true;
  };
  if (a.choices.n != b.choices.n) return false;
  for (uint32_t i = 0; i < a.choices.n; ++i)
    if (choice_values(a, i) != choice_values(b, i)) return false;
  return a.op == b.op && a.shapes == b.shapes && a.compute == b.compute &&
         same_table(a.operands, b.operands, sizeof(frl_operand)) &&
         same_table(a.members, b.members, 4) && a.max_nodes == b.max_nodes &&
         a.max_inputs == b.max_inputs && a.max_outputs == b.max_outputs &&
         a.max_elements == b.max_elements && a.max_dim == b.max_dim;
}

std::string no_duplicates(const frl_device_row& row) {
  for (uint32_t i = 0; i < row.claims.n; ++i)
    for (uint32_t j = 0; j < i; ++j)
      if (same_claim(claim_row(row, i), claim_row(row, j)))
        return cat("claims: want each row once, rows ", j, " and ", i, " admit the same regions");
  return "";
}

// A member of an open kind is a known POINTWISE, PLAIN or CONTROL op, named once.
std::string members_known(const frl_device_row& row) {
  for (uint32_t i = 0; i < row.claims.n; ++i) {
    const frl_claim claim = claim_row(row, i);
    for (const auto& [list, name] : {std::pair{claim.members, "members"},
                                     {claim.prologue, "prologue"},
                                     {claim.epilogue, "epilogue"}}) {
      std::set<uint32_t> seen;
      for (uint32_t k = 0; k < list.n; ++k) {
        uint32_t op = 0;
        frl_row(&op, sizeof op, list.p, list.stride, k);
        const OpRow* known = find_op(op);
        if (!known) return cat("claim ", i, ": ", name, ": want known ops, got ", op);
        if (known->form == Form::closed || known->form == Form::open)
          return cat("claim ", i, ": ", name, ": want plain ops, got the kind ", known->name);
        if (!seen.insert(op).second)
          return cat("claim ", i, ": ", name, ": want each op once, got ", known->name, " again");
      }
    }
  }
  return "";
}

std::string none_voided(const DeviceRow& row) {
  return row.voided.empty() ? ""
                            : cat("claims: want rows with known numbers only, ", row.voided.size(),
                                  " were left out: ", row.voided[0]);
}

// ---- the same everywhere ----
Outcome stable_here(const Target& target) {
  return raw::with_session(target, [&](Session& session) {
    const uint64_t first = raw::rows_hash(session);
    frl_rows before{};
    for (int i = 0; i < 100; ++i) {
      raw::Error error;
      frl_rows rows{};
      FRL_CHECK(error.status(
          session.table().devices(session.services().table(), &rows, &error.value), "devices"));
      if (i > 0 && (rows.p != before.p || rows.n != before.n || rows.stride != before.stride))
        return fail(cat("devices: want the same rows at each call, call ", i + 1, " gave others"));
      before = rows;
      FRL_HAVE(const auto devices, read_devices(rows, {}));
      if (target.device >= devices.size() ||
          devices[target.device].claims_hash() != session.row().claims_hash())
        return fail(cat("claims: want the same rows at each call of devices, call ", i + 1,
                        " gave others"));
    }
    FRL_HAVE(const auto again, Session::open(target.path, {.device = target.device}));
    return raw::rows_hash(*again) == first
               ? pass(101)
               : fail("rows: want the same under a second host, they differ");
  });
}

Outcome stable_elsewhere(const Target& target) {
  FRL_HAVE(const auto session, Session::open(target.path, {.device = target.device}));
  const std::string here = cat(raw::rows_hash(*session));
  for (int i = 0; i < 3; ++i) {
    FRL_HAVE(const raw::Ended ended,
             raw::run_errand(raw::kClaimsHash, {target.path, cat(target.device)}));
    if (ended.rc != 0)
      return fail(cat("claims in another process: ", ended.how(), ": ", ended.report));
    if (ended.report != here)
      return fail(cat("rows: want the same in each process, the hash here is ", here, ", there ",
                      ended.report));
  }
  return pass(3);
}

// Costs are what the gate multiplies: a zero makes something free.
std::string costs_positive(const frl_device_row& row) {
  if (!row.cost) return "cost: want a row, got NULL";
  frl_cost c{};
  frl_row(&c, sizeof c, row.cost, row.cost->head.size, 0);
  const std::pair<const char*, uint64_t> numbers[] = {
      {"dispatch_ps", c.dispatch_ps},
      {"round_trip_ps", c.round_trip_ps},
      {"memory_ps_per_kib", c.memory_ps_per_kib},
      {"to_device_ps_per_kib", c.to_device_ps_per_kib},
      {"from_device_ps_per_kib", c.from_device_ps_per_kib},
      {"readback_ps_per_kib", c.readback_ps_per_kib}};
  for (const auto& [name, value] : numbers) {
    if (value == 0) return cat("cost.", name, ": want more than 0");
    if (value > uint64_t{1'000'000'000'000'000})
      return cat("cost.", name, ": want picoseconds, less than a quarter of an hour, got ", value);
  }
  // An empty submit to an inline device launches nothing; elsewhere a launch is a part of it.
  if (!(row.flags & FRL_DEVICE_INLINE) && c.dispatch_ps > c.round_trip_ps)
    return cat("cost.dispatch_ps: want at most round_trip_ps, ", c.round_trip_ps, ", got ",
               c.dispatch_ps);
  if (c.basis < FRL_BASIS_ESTIMATED || c.basis > FRL_BASIS_MEASURED)
    return cat("cost.basis: want 1 to 3, got ", c.basis);
  return "";
}

std::string rates_complete(const frl_device_row& row) {
  if (!row.cost) return "cost: want a row, got NULL";
  std::set<std::pair<uint32_t, uint32_t>> rated;
  std::set<uint32_t> types;
  for (uint32_t i = 0; i < row.cost->arithmetic.n; ++i) {
    frl_rate rate;
    frl_row(&rate, sizeof rate, row.cost->arithmetic.p, row.cost->arithmetic.stride, i);
    if (rate.ps_per_mflop == 0) return cat("arithmetic ", i, ": want more than 0 ps per MFLOP");
    if (rate.type == 0 || rate.type > FRL_F8E5M2)
      return cat("arithmetic ", i, ": want a known type, got ", rate.type);
    if (rate.compute == 0 || rate.compute & (rate.compute - 1) ||
        rate.compute > FRL_COMPUTE_REDUCED)
      return cat("arithmetic ", i, ": want one compute mode, got ", rate.compute);
    if (!rated.insert({rate.type, rate.compute}).second)
      return cat("arithmetic: want a row once, got ", type_name(Type(rate.type)), " again");
    types.insert(rate.type);
  }
  for (uint32_t i = 0; i < row.claims.n; ++i) {
    const frl_claim claim = claim_row(row, i);
    for (uint32_t k = 0; k < claim.operands.n; ++k)
      for (uint32_t type : {FRL_F64, FRL_F32, FRL_F16, FRL_BF16})
        if (claim_operand(claim, k).types & FRL_BIT(type) && !types.count(type))
          return cat("arithmetic: want a rate for each claimed float type, there is none for ",
                     type_name(Type(type)), " of claim ", i);
  }
  return "";
}

}  // namespace

void list_claims(const Target& target, std::vector<Case>& cases) {
  const frl_device_row& own = *target.row().own;
  for (uint32_t i = 0; i < own.claims.n; ++i)
    cases.push_back({cat("D/row/", row_name(target, i, claim_row(own, i))), [i](const Target& t) {
                       return over_rows(t, [&](const frl_device_row& row) {
                         return check_claim(row, i, t.driver->table().kinds.n);
                       });
                     }});
  cases.push_back(
      {"D/rows/known", [](const Target& t) { return raw::outcome_of(none_voided(t.row())); }});
  cases.push_back(
      {"D/rows/no_duplicates", [](const Target& t) { return over_rows(t, no_duplicates); }});
  cases.push_back({"D/rows/members", [](const Target& t) { return over_rows(t, members_known); }});
  cases.push_back({"D/rows/device", [](const Target& t) { return over_rows(t, check_device); }});
  cases.push_back({"D/rows/spaces", [](const Target& t) { return over_rows(t, check_spaces); }});
  cases.push_back(
      {"D/cost/positive", [](const Target& t) { return over_rows(t, costs_positive); }});
  cases.push_back({"D/cost/rates", [](const Target& t) { return over_rows(t, rates_complete); }});
  cases.push_back({"D/stable/100_calls", stable_here});
  cases.push_back({"D/stable/other_process", stable_elsewhere});
}

}  // namespace ferrule::conformance
