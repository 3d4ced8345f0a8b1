#include "plugins/cpu/kernels.h"

namespace cpu {
namespace {

struct Row {
  uint32_t op;
  Maker maker;
};
constexpr Row kRows[] = {
    {FRL_OP_pointwise, make_pointwise},
};

}  // namespace

Maker find_maker(uint32_t op) {
  for (const Row& row : kRows)
    if (row.op == op) return row.maker;
  return nullptr;
}

}  // namespace cpu
