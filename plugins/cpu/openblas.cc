#include "plugins/cpu/openblas.h"

#include <algorithm>

#if FRL_HAVE_OPENBLAS
#include <cblas.h>
#endif

namespace cpu {

#if FRL_HAVE_OPENBLAS

bool has_openblas() { return true; }

namespace {
CBLAS_TRANSPOSE form(BlasSide s) { return s.transposed ? CblasTrans : CblasNoTrans; }
int at_least_one(int64_t stride) { return static_cast<int>(std::max<int64_t>(stride, 1)); }
}  // namespace

void openblas_product(int64_t m, int64_t n, int64_t k, const float* a, BlasSide sa, const float* b,
                      BlasSide sb, float* c, int64_t ldc) {
  cblas_sgemm(CblasRowMajor, form(sa), form(sb), static_cast<int>(m), static_cast<int>(n),
              static_cast<int>(k), 1, a, at_least_one(sa.stride), b, at_least_one(sb.stride), 0, c,
              at_least_one(ldc));
}
void openblas_product(int64_t m, int64_t n, int64_t k, const double* a, BlasSide sa,
                      const double* b, BlasSide sb, double* c, int64_t ldc) {
  cblas_dgemm(CblasRowMajor, form(sa), form(sb), static_cast<int>(m), static_cast<int>(n),
              static_cast<int>(k), 1, a, at_least_one(sa.stride), b, at_least_one(sb.stride), 0, c,
              at_least_one(ldc));
}

#else

bool has_openblas() { return false; }
void openblas_product(int64_t, int64_t, int64_t, const float*, BlasSide, const float*, BlasSide,
                      float*, int64_t) {}
void openblas_product(int64_t, int64_t, int64_t, const double*, BlasSide, const double*, BlasSide,
                      double*, int64_t) {}

#endif

}  // namespace cpu
