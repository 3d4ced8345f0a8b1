// A device for tests of passes: rows written by hand, no plugin.
#pragma once

#include "core/pass/pass.h"

namespace ferrule::test {

// Claims the named ops and kinds for every type and rank; "pointwise" claims the kind with all
// pointwise members. Costs are round numbers: a launch 1 us, memory 100 ns a KiB, 1 GFLOP/s... so
// that any fusion that saves a launch gains.
inline DeviceRow device_claiming(const std::vector<std::string>& names) {
  DeviceRow row;
  row.name = "test";
  row.spaces = {{FRL_SPACE_DEVICE | FRL_SPACE_HOST_VISIBLE | FRL_SPACE_ADDRESS, 64, 0, 0, 0}};
  row.cost.dispatch_ps = 1'000'000, row.cost.memory_ps_per_kib = 100'000;
  row.cost.minimum_gain_ps = 1;
  row.cost.arithmetic = {{FRL_F32, FRL_COMPUTE_IEEE, 1'000'000'000}};
  frl_operand any{};
  any.types = (FRL_BIT(FRL_BOOL) << 1) - 2, any.layouts = FRL_LAYOUT_DENSE,
  any.broadcasts = FRL_BROADCAST_ANY;
  any.max_rank = FRL_MAX_RANK, any.flags = FRL_OPERAND_REPEAT | FRL_OPERAND_OPTIONAL;
  frl_operand result = any;
  result.flags = FRL_OPERAND_REPEAT | FRL_OPERAND_RESULT;
  for (const std::string& name : names) {
    Claim claim;
    claim.op = find_op(name)->id, claim.name = name;
    claim.shapes = FRL_SHAPES_STATIC, claim.operands = {any, result};
    claim.max_nodes = 64, claim.max_inputs = 16, claim.max_outputs = 4, claim.max_slices = 64;
    claim.max_prologue = claim.max_epilogue = 64;
    for (const OpRow& op : op_rows()) {
      const bool pointwise = op.form == Form::pointwise;
      if (pointwise || (op.form == Form::plain && name != "pointwise"))
        claim.members.push_back(op.id);
      if (pointwise) claim.prologue.push_back(op.id), claim.epilogue.push_back(op.id);
    }
    row.claims.push_back(std::move(claim));
  }
  return row;
}

}  // namespace ferrule::test
