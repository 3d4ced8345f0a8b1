// The activation of a fused kind: a POINTWISE op with one operand, by id.
#pragma once

#include "plugins/cpu/kernels.h"

namespace cpu {

struct Activation {
  uint32_t op = 0;
  TileFn fn = nullptr;  // null: none
  double attributes[2] = {0, 0};
};
// errors  throws FRL_NO_ATTRIBUTE if the op has no such form
inline Activation find_activation(const Isa& isa, int64_t op, Work work) {
  if (op == 0) return {};
  const frl::OpRow* row = frl::find_op(static_cast<uint32_t>(op));
  const TileFn fn =
      row && row->max_inputs == 1 ? isa.unary(static_cast<uint32_t>(op), work) : nullptr;
  if (!fn) throw frl::Failure(FRL_NO_ATTRIBUTE, "activation: want an op with one operand");
  return {row->id, fn, {frl::attribute_fallback(row->id, 0), frl::attribute_fallback(row->id, 1)}};
}

}  // namespace cpu
