// The table of one instruction set.
#include "plugins/cpu/isa/tiles.h"

namespace cpu {
namespace FRL_ISA {

#define FRL_TEXT(x) #x
#define FRL_NAME(x) FRL_TEXT(x)

Isa table() {
  Isa isa{};
  isa.name = FRL_NAME(FRL_ISA);
#if defined(__AVX512F__)
  isa.vector_bytes = 64;
#elif defined(__AVX2__)
  isa.vector_bytes = 32;
#else
  isa.vector_bytes = 16;
#endif
  isa.unary = find_unary, isa.binary = find_binary, isa.select = find_select, isa.cast = find_cast;
  fill_conversions(&isa);
  fill_rows(&isa);
  fill_gemm(&isa);
  fill_gemv(&isa);
  fill_depthwise(&isa);
  return isa;
}

}  // namespace FRL_ISA
}  // namespace cpu
