// matmul, matmul_bias_act and matmul_residual. Floats go through packed panels (gemm.h), single
// rows through products that read the matrix once.
#include <algorithm>
#include <cstring>

#include "plugins/cpu/activation.h"
#include "plugins/cpu/matmul.h"
#include "plugins/cpu/openblas.h"

namespace cpu {
namespace {

constexpr int64_t kPanels = 4;  // how many GemmLoops::row takes at once

// What is behind the product: bias over columns, then the activation; or a residual.
struct Fused {
  Place bias;
  Activation activation;
  Place residual;
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
    e.residual = fused_.residual.in<T>(call), e.residual_stride = s_.n;
    if (uses_blas_) return blas_products(call.host, a, b, c, e);
    if (!packs.empty() && s_.m == 1 && s_.batch == 1 && width_ > isa_->gemm<T>().lanes)
      return packed_row(call.host, a, b, c, e);
    if (packs.empty() && RowProduct<T>(isa_, s_).fits()) return row_products(call.host, a, b, c, e);
    run_gemms<T>(call.host, s_.batch, [&](int64_t i, auto&& use) {
      const size_t k = static_cast<size_t>(i);
      const StridedSide<T> x{isa_, a + s_.a_offsets[k], s_.a_column, s_.a_row};
      const StridedSide<T> y{isa_, b + s_.b_offsets[k], s_.b_row, s_.b_column};
      Gemm<T> g{isa_,     s_.m,
                s_.n,     s_.k,
                x.side(), y.side_for(s_.m, s_.k),
                width_,   c + i * s_.m * s_.n,
                s_.n,     of_member(e, i)};
      if (!packs.empty()) g.b = {.packed = b};
      use(g);
    });
  }

 private:
  // The epilogue of member i of the batch.
  Epilogue<T> of_member(Epilogue<T> e, int64_t i) const {
    if (e.residual) e.residual += i * s_.m * s_.n;
    return e;
  }
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
        apply_epilogue(of_member(e, static_cast<int64_t>(i)), to, s_.n, 0, s_.m, n0, n1);
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
        apply_epilogue(of_member(e, static_cast<int64_t>(i)), to, s_.n, 0, s_.m, n0, n1);
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
  return make_integer_matmul(context, request);
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

// Products of 16-bit floats are rounded before the sum: part by part.
KernelPtr make_matmul_residual(const Context& context, const Request& request) {
  const uint32_t type = request.result(0).value.type;
  if (type != FRL_F32 && type != FRL_F64) return make_sequence(context, request);
  return make_product(context, request, {{}, {}, Place(request.operand(2))});
}

}  // namespace cpu
