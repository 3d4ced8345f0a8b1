// matmul and matmul_bias_act. Floats go through packed panels (gemm.h), single rows through
// products that read the matrix once; integers through plain loops.
#include <algorithm>
#include <cstring>

#include "plugins/cpu/activation.h"
#include "plugins/cpu/gemm.h"
#include "plugins/cpu/openblas.h"

namespace cpu {
namespace {

constexpr int64_t kPanels = 4;  // how many GemmLoops::row takes at once

// The product as a batch of [m, k] x [k, n], strides in elements.
struct MatmulShape {
  int64_t batch = 1, m = 0, n = 0, k = 0;
  int64_t a_row = 0, a_column = 0, b_row = 0, b_column = 0;
  std::vector<int64_t> a_offsets, b_offsets;  // of each member of the batch; C's follow each other

  MatmulShape(const frl::Operand& a, const frl::Operand& b, const frl::Value& c) {
    const frl::Extents sa = strides_of(a), sb = strides_of(b);
    const uint32_t ra = a.value.rank, rb = b.value.rank;
    m = c.extent(-2), n = c.extent(-1), k = a.value.extent(-1);
    a_row = sa[ra - 2], a_column = sa[ra - 1], b_row = sb[rb - 2], b_column = sb[rb - 1];
    for (uint32_t d = 0; d + 2 < c.rank; ++d) batch *= c.extents[d];
    for (int64_t i = 0; i < batch; ++i) {
      a_offsets.push_back(offset(a.value, sa, c, i));
      b_offsets.push_back(offset(b.value, sb, c, i));
    }
    fold();
  }

  // The same product as c^T = b^T a^T: a column becomes a row.
  void transpose() {
    std::swap(m, n), std::swap(a_offsets, b_offsets);
    std::swap(a_row, b_column), std::swap(a_column, b_row);
  }

 private:
  static frl::Extents strides_of(const frl::Operand& o) {
    return o.argument < 0 ? dense_strides(o.value) : o.value.strides;
  }
  static int64_t offset(const frl::Value& v, const frl::Extents& strides, const frl::Value& c,
                        int64_t i) {
    int64_t at = 0;
    for (uint32_t d = c.rank - 2; d-- > 0; i /= c.extents[d]) {
      const int64_t axis = static_cast<int64_t>(d) - static_cast<int64_t>(c.rank - v.rank);
      if (axis >= 0 && v.extents[static_cast<size_t>(axis)] != 1)
        at += i % c.extents[d] * strides[static_cast<size_t>(axis)];
    }
    return at;
  }
  // One matrix B for all members whose rows of A follow each other: a single tall product.
  void fold() {
    if (batch == 1) return;
    for (int64_t i = 0; i < batch; ++i)
      if (b_offsets[static_cast<size_t>(i)] != 0 ||
          a_offsets[static_cast<size_t>(i)] != i * m * a_row)
        return;
    m *= batch, batch = 1;
  }
};

// Adds what is behind the product: bias over columns, then the activation.
struct Fused {
  Place bias;
  Activation activation;
};

// One row of A against B where it lies: no packing, B is read once.
template <class T>
class RowProduct {
 public:
  RowProduct(const Isa* isa, const MatmulShape& s) : isa_(isa), s_(s) {}
  // Whether the strides allow it: B's rows or columns are contiguous.
  bool fits() const {
    return s_.m <= 2 && (s_.b_column == 1 || (s_.b_row == 1 && s_.a_column == 1));
  }

  void columns(const T* a, const T* b, T* c, int64_t n0, int64_t n1) const {
    const GemmLoops<T>& loops = isa_->template gemm<T>();
    for (int64_t i = 0; i < s_.m; ++i) {
      T* row = c + i * s_.n;
      const T* x = a + i * s_.a_row;
      if (s_.b_column == 1) {
        std::fill(row + n0, row + n1, T{0});
        loops.add_rows(row + n0, x, s_.a_column, b + n0, s_.b_row, s_.k, n1 - n0);
      } else {
        for (int64_t j = n0; j < n1; ++j) row[j] = loops.dot(x, b + j * s_.b_column, s_.k);
      }
    }
  }

 private:
  const Isa* isa_;
  const MatmulShape& s_;
};

// f32 and f64.
template <class T>
class FloatMatmul final : public frl::Kernel {
 public:
  FloatMatmul(const Context& context, MatmulShape shape, const frl::Operand& a,
              const frl::Operand& b, const frl::Operand& c, uint32_t b_input, Fused fused)
      : isa_(context.isa),
        s_(std::move(shape)),
        a_(a),
        b_(b),
        c_(c),
        fused_(std::move(fused)),
        width_(panel_width<T>(*context.isa, s_.n)) {
    uses_blas_ = context.openblas && s_.m > 1 && s_.n > 1 && s_.k > 0 &&
                 blas_side(s_.a_row, s_.a_column, s_.m, s_.k, &blas_a_) &&
                 blas_side(s_.b_row, s_.b_column, s_.k, s_.n, &blas_b_);
    if (uses_blas_) return;
    const bool one_matrix = std::ranges::all_of(s_.b_offsets, [](int64_t o) { return o == 0; });
    const int64_t bytes = packed_size(s_.k, s_.n, width_) * static_cast<int64_t>(sizeof(T));
    if (b.value.is_parameter() && b.argument >= 0 && one_matrix && s_.k > 0 && s_.n > 1)
      packs = {{b_input, 0,
                pack_key("columns", {s_.k, s_.n, s_.b_row, s_.b_column, width_, sizeof(T)}),
                static_cast<uint64_t>(bytes)}};
  }

  void pack(uint32_t, const std::byte* source, std::byte* target,
            const frl_host* host) const override {
    const StridedSide<T> side{isa_, reinterpret_cast<const T*>(source), s_.b_row, s_.b_column};
    const int64_t panels = (s_.n + width_ - 1) / width_;
    frl::for_slices(host, panels, touch_ns(static_cast<double>(2 * s_.k * width_) * sizeof(T)), 0,
                    [&](int64_t begin, int64_t end, void*) {
                      for (int64_t p = begin; p < end; ++p)
                        side.fill(&side, reinterpret_cast<T*>(target) + p * width_ * s_.k, 0, s_.k,
                                  p * width_, std::min(width_, s_.n - p * width_), width_);
                    });
  }

  void run(const frl::Call& call) const override {
    if (s_.m == 0 || s_.n == 0 || s_.batch == 0) return;
    const T* a = a_.in<T>(call);
    const T* b = b_.in<T>(call);
    T* c = c_.out<T>(call);
    Epilogue<T> e(*isa_, fused_.activation, -INFINITY, INFINITY);
    e.column_bias = fused_.bias.in<T>(call);
    if (uses_blas_) return blas_products(call.host, a, b, c, e);
    if (!packs.empty() && s_.m == 1 && s_.batch == 1 && width_ > isa_->gemm<T>().lanes)
      return packed_row(call.host, a, b, c, e);
    if (packs.empty() && RowProduct<T>(isa_, s_).fits()) return row_products(call.host, a, b, c, e);
    run_gemms<T>(call.host, s_.batch, [&](int64_t i, auto&& use) {
      const size_t k = static_cast<size_t>(i);
      const StridedSide<T> x{isa_, a + s_.a_offsets[k], s_.a_column, s_.a_row};
      const StridedSide<T> y{isa_, b + s_.b_offsets[k], s_.b_row, s_.b_column};
      Gemm<T> g{
          isa_, s_.m, s_.n, s_.k, x.side(), y.side_for(s_.m, s_.k), width_, c + i * s_.m * s_.n,
          s_.n, e};
      if (!packs.empty()) g.b = {.packed = b};
      use(g);
    });
  }

 private:
  void row_products(const frl_host* host, const T* a, const T* b, T* c,
                    const Epilogue<T>& e) const {
    constexpr int64_t kColumns = 256;
    const RowProduct<T> product(isa_, s_);
    const int64_t pieces = (s_.n + kColumns - 1) / kColumns;
    const double ns = touch_ns(static_cast<double>(std::min(s_.n, kColumns) * s_.k) * sizeof(T));
    frl::for_slices(host, s_.batch * pieces, ns, 0, [&](int64_t begin, int64_t end, void*) {
      for (int64_t piece = begin; piece < end; ++piece) {
        const size_t i = static_cast<size_t>(piece / pieces);
        const int64_t n0 = piece % pieces * kColumns, n1 = std::min(s_.n, n0 + kColumns);
        T* to = c + piece / pieces * s_.m * s_.n;
        product.columns(a + s_.a_offsets[i], b + s_.b_offsets[i], to, n0, n1);
        apply_epilogue(e, to, s_.n, 0, s_.m, n0, n1);
      }
    });
  }
  void packed_row(const frl_host* host, const T* a, const T* b, T* c, const Epilogue<T>& e) const {
    const GemmLoops<T>& loops = isa_->gemm<T>();
    const int64_t columns = kPanels * width_, groups = (s_.n + columns - 1) / columns;
    const double ns = touch_ns(static_cast<double>(columns * s_.k) * sizeof(T));
    frl::for_slices(host, groups, ns, 0, [&](int64_t begin, int64_t end, void*) {
      const int64_t from = begin * columns, last = std::min(s_.n, end * columns);
      T edge[kPanels * 32];
      for (int64_t at = from; at < last; at += columns) {
        const int64_t n = std::min(columns, s_.n - at), panels = (n + width_ - 1) / width_;
        T* to = n == columns ? c + at : edge;
        loops.row(a, s_.a_column, b + at * s_.k, width_ * s_.k, panels, to, s_.k);
        if (to == edge) std::copy_n(edge, n, c + at);
      }
      apply_epilogue(e, c, s_.n, 0, 1, from, last);
    });
  }
  // OpenBLAS is told to multiply strips of columns, each from one worker.
  void blas_products(const frl_host* host, const T* a, const T* b, T* c,
                     const Epilogue<T>& e) const {
    constexpr int64_t kColumns = 512;
    const int64_t pieces = (s_.n + kColumns - 1) / kColumns;
    const double ns = static_cast<double>(s_.m * s_.k * std::min(s_.n, kColumns)) / 20;
    frl::for_slices(host, s_.batch * pieces, ns, 0, [&](int64_t begin, int64_t end, void*) {
      for (int64_t piece = begin; piece < end; ++piece) {
        const size_t i = static_cast<size_t>(piece / pieces);
        const int64_t n0 = piece % pieces * kColumns, n1 = std::min(s_.n, n0 + kColumns);
        T* to = c + piece / pieces * s_.m * s_.n;
        openblas_product(s_.m, n1 - n0, s_.k, a + s_.a_offsets[i], blas_a_,
                         b + s_.b_offsets[i] + n0 * s_.b_column, blas_b_, to + n0, s_.n);
        apply_epilogue(e, to, s_.n, 0, s_.m, n0, n1);
      }
    });
  }

  const Isa* isa_;
  MatmulShape s_;
  Place a_, b_, c_;
  Fused fused_;
  int64_t width_;
  bool uses_blas_;
  BlasSide blas_a_{}, blas_b_{};
};

// Integers wrap, so any order of summing gives the same bits. W is unsigned.
template <class T>
KernelPtr make_integer_matmul(const frl::Operand& a, const frl::Operand& b, const frl::Operand& c) {
  using W = std::conditional_t<(sizeof(T) < 4), uint32_t, std::make_unsigned_t<T>>;
  const MatmulShape s(a, b, c.value);
  return make_kernel([s, pa = Place(a), pb = Place(b), pc = Place(c)](const frl::Call& call) {
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

template <class T>
KernelPtr make_float_matmul(const Context& context, const Request& request, Fused fused) {
  frl::Operand a = request.operand(0), b = request.operand(1), c = request.result(0);
  MatmulShape shape(a, b, c.value);
  if (shape.n == 1 && shape.m > 1 && !fused.bias.present()) shape.transpose(), std::swap(a, b);
  return std::make_unique<FloatMatmul<T>>(context, std::move(shape), a, b, c, request.input_of(b),
                                          std::move(fused));
}

KernelPtr make_product(const Context& context, const Request& request, Fused fused) {
  const uint32_t type = request.result(0).value.type;
  if (type == FRL_F32) return make_float_matmul<float>(context, request, std::move(fused));
  if (type == FRL_F64) return make_float_matmul<double>(context, request, std::move(fused));
  return with_type(type, [&]<class T>(T) -> KernelPtr {
    if constexpr (std::is_integral_v<T>)
      return make_integer_matmul<T>(request.operand(0), request.operand(1), request.result(0));
    else
      throw frl::Failure(FRL_NO_TYPE, "matmul: want a number");
  });
}

}  // namespace

KernelPtr make_matmul(const Context& context, const Request& request) {
  return make_product(context, request, {});
}

KernelPtr make_matmul_bias_act(const Context& context, const Request& request) {
  const frl::Value y = request.result(0).value;
  const int64_t op = request.attribute_i(FRL_AT_matmul_bias_act_activation);
  return make_product(context, request,
                      {Place(request.operand(2)),
                       find_activation(*context.isa, op, y.type == FRL_F64 ? kWorkF64 : kWorkF32)});
}

}  // namespace cpu
