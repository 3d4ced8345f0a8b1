#include "plugins/cpu/kernels.h"

#include "plugins/cpu/widen.h"

namespace cpu {
namespace {

struct Row {
  uint32_t op;
  Maker maker;
  Narrow narrow;
};
constexpr Row kRows[] = {
#define FRL_MAKER(op, function, narrow) {FRL_OP_##op, function, Narrow::narrow},
#include "plugins/cpu/makers.def"
#undef FRL_MAKER
};

}  // namespace

frl::Operand Request::widened(frl::Operand o) const {
  frl::Value& v = o.value;
  if (!wide_ || (v.type != FRL_F16 && v.type != FRL_BF16)) return o;
  const bool is_half = v.type == FRL_F16;
  v.type = FRL_F32;
  if (o.argument >= 0 || !v.present()) return o;
  const auto* bits = reinterpret_cast<const uint16_t*>(v.literal.data());
  auto wide = std::make_unique<std::vector<float>>();
  for (size_t i = 0; i < v.literal.size() / 2; ++i)
    wide->push_back(is_half ? to_float(Half{bits[i]}) : to_float(BFloat{bits[i]}));
  v.literal = std::as_bytes(std::span(*wide));
  literals_.push_back(std::move(wide));
  return o;
}

KernelPtr compile_region(const Context& context, const frl::Region& region) {
  for (const Row& row : kRows) {
    if (row.op != region.kind()) continue;
    if (row.narrow == Narrow::in_f32 && has_narrow_arguments(region))
      return std::make_unique<WidenedKernel>(context, region,
                                             row.maker(context, Request(region, true)));
    return row.maker(context, Request(region, false));
  }
  throw frl::Failure(FRL_NOT_CLAIMED, std::string("region: want a claimed kind, got ") +
                                          frl::op_name(region.kind()));
}

}  // namespace cpu
