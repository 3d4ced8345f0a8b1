// OpenBLAS' serial products, where the plugin was built with them.
#pragma once

#include <cstdint>

namespace cpu {

bool has_openblas();

// c[m, n] = a b, row-major. A side is [rows, columns] with one stride 1; `transposed` says which.
struct BlasSide {
  bool transposed;
  int64_t stride;  // between rows, or between columns if transposed
};
// True and fills `side` if a matrix with these strides can be passed on.
inline bool blas_side(int64_t row, int64_t column, int64_t rows, int64_t columns, BlasSide* side) {
  if (column == 1 && (row >= columns || rows == 1)) return *side = {false, row}, true;
  if (row == 1 && (column >= rows || columns == 1)) return *side = {true, column}, true;
  return false;
}
//   thread  any: the serial library locks its memory pool
void openblas_product(int64_t m, int64_t n, int64_t k, const float* a, BlasSide sa, const float* b,
                      BlasSide sb, float* c, int64_t ldc);
void openblas_product(int64_t m, int64_t n, int64_t k, const double* a, BlasSide sa,
                      const double* b, BlasSide sb, double* c, int64_t ldc);

}  // namespace cpu
