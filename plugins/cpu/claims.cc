#include "plugins/cpu/claims.h"

namespace cpu {
namespace {

// ---- pointwise: every POINTWISE op of the table is a member ----
constexpr uint32_t kMembers[] = {
#define FRL_OP(id, name, form, min_in, max_in, results, bodies, expression) FRL_MEMBER_##form(id)
#define FRL_ATTR(op, slot, name, type, fallback)
#define FRL_MEMBER_POINTWISE(id) id,
#define FRL_MEMBER_PLAIN(id)
#define FRL_MEMBER_CONTROL(id)
#define FRL_MEMBER_CLOSED(id)
#define FRL_MEMBER_OPEN(id)
#include "plugin-api/frl_ops.def"
#undef FRL_OP
#undef FRL_ATTR
};

constexpr uint8_t kMaxRank = FRL_MAX_RANK;
constexpr frl_operand kAnything = frl::operand(frl::kAnyType, 0, kMaxRank, 0);
constexpr frl_operand kPointwise[] = {
    frl::repeat(frl::broadcasting(frl::laid_out(kAnything, FRL_LAYOUT_STRIDED | FRL_LAYOUT_UNALIGNED),
                                  FRL_BROADCAST_ANY)),
    frl::repeat(frl::result(frl::laid_out(kAnything, FRL_LAYOUT_UNALIGNED)))};

constexpr frl_claim kClaims[] = {
    frl::pointwise_claim(frl::rows(kPointwise), frl::rows(kMembers), 256, 64, 16),
};

constexpr frl_rate kRates[] = {{FRL_F32, FRL_COMPUTE_IEEE, 20'000'000},
                               {FRL_F64, FRL_COMPUTE_IEEE, 40'000'000}};
constexpr frl_cost kCost =
    frl::host_cost(40'000, 60'000, 50'000, frl::rows(kRates), FRL_BASIS_MEASURED);

}  // namespace

frl_rows claims() { return frl::rows(kClaims); }
const frl_cost* cost() { return &kCost; }

}  // namespace cpu
