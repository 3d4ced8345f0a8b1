#include <algorithm>

#include "plugins/cpu/matmul.h"

namespace cpu {
namespace {

// Integers wrap, so any order of summing gives the same bits. W is unsigned.
template <class T>
KernelPtr make_integers(const Isa& isa, const frl::Operand& a, const frl::Operand& b,
                        const frl::Operand& c) {
  using W = std::conditional_t<(sizeof(T) < 4), uint32_t, std::make_unsigned_t<T>>;
  const MatmulShape s(a, b, c.value);
  return make_kernel([s, isa = &isa, pa = Place(a), pb = Place(b),
                      pc = Place(c)](const frl::Call& call) {
    frl::for_slices(call.host, s.batch * s.m, static_cast<double>(s.n * s.k) * 0.5, 0,
                    [&](int64_t begin, int64_t end, void*) {
                      for (int64_t row = begin; row < end; ++row) {
                        const size_t i = static_cast<size_t>(row / s.m);
                        const T* x = pa.in<T>(call) + s.a_offsets[i] + row % s.m * s.a_row;
                        const T* y = pb.in<T>(call) + s.b_offsets[i];
                        T* to = pc.out<T>(call) + row * s.n;
                        constexpr int64_t kPart = 256;
                        W sum[kPart];
                        for (int64_t j = 0; j < s.n; j += kPart) {
                          const int64_t n = std::min(kPart, s.n - j);
                          std::fill_n(sum, n, W{0});
                          if constexpr (sizeof(T) == 4)
                            if (s.b_column == 1) {
                              isa->add_products(sum, reinterpret_cast<const W*>(x), s.a_column,
                                                reinterpret_cast<const W*>(y) + j, s.b_row, s.k, n);
                              std::copy_n(sum, n, reinterpret_cast<W*>(to) + j);
                              continue;
                            }
                          for (int64_t k = 0; k < s.k; ++k) {
                            const W f = static_cast<W>(x[k * s.a_column]);
                            const T* line = y + k * s.b_row + j * s.b_column;
                            for (int64_t l = 0; l < n; ++l)
                              sum[l] += f * static_cast<W>(line[l * s.b_column]);
                          }
                          for (int64_t l = 0; l < n; ++l) to[j + l] = static_cast<T>(sum[l]);
                        }
                      }
                    });
  });
}

}  // namespace

KernelPtr make_integer_matmul(const Context& context, const Request& request) {
  return with_type(request.result(0).value.type, [&]<class T>(T) -> KernelPtr {
    if constexpr (std::is_integral_v<T>)
      return make_integers<T>(*context.isa, request.operand(0), request.operand(1),
                              request.result(0));
    else
      throw frl::Failure(FRL_NO_TYPE, "matmul: want a number");
  });
}

}  // namespace cpu
