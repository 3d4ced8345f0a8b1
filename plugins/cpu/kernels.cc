#include "plugins/cpu/kernels.h"

namespace cpu {
namespace {

struct Row {
  uint32_t op;
  Maker maker;
};
constexpr Row kRows[] = {
#define FRL_MAKER(op, function) {FRL_OP_##op, function},
#include "plugins/cpu/makers.def"
#undef FRL_MAKER
};

}  // namespace

Maker find_maker(uint32_t op) {
  for (const Row& row : kRows)
    if (row.op == op) return row.maker;
  return nullptr;
}

}  // namespace cpu
