// Shape rules of convolutions and pools.
#include "core/base/text.h"
#include "core/op/rules.h"
#include "core/op/window.h"

namespace ferrule {
namespace {

// How many windows fit on an axis.
Result<Dim> count_windows(const OpCall& call, const Dim& x, const WindowAxis& w, bool ceil) {
  const int64_t span = w.span(), padded = x.extent + w.begin + w.end;
  // With stride 1 and as much padding as a window takes away, the extent stays, whatever it is.
  if (w.stride == 1 && w.begin + w.end == span - 1) return x;
  if (x.symbol) return refuse(call, "exact spatial extents, or windows that keep them");
  const int64_t room = padded - span;
  int64_t n = room < 0 ? 0 : room / w.stride + 1;
  const bool has_rest = room < 0 || room % w.stride != 0;
  if (ceil && has_rest && n * w.stride < x.extent + w.begin) ++n;
  if (n == 0 && x.extent > 0)
    return refuse(call, cat("padded extents that a window of ", span, " fits in"),
                  std::to_string(padded));
  return Dim{n, 0};
}

// Input and weight of both convolutions: ranks, channels against groups, kernel extents.
Status check_conv(const OpCall& call, int64_t groups, bool transposed) {
  FRL_TRY(want_one_type(call));
  FRL_TRY(want_min_rank(call, 0, 3));
  const Shape& x = shape_of(call, 0);
  const Shape& w = shape_of(call, 1);
  if (w.rank() != x.rank() || !w.is_exact()) return refuse(call, "a weight of the input's rank");
  FRL_TRY(want_exact(call, 0, 1));
  const bool fits = x[1] % groups == 0 && w[0] % groups == 0 &&
                    (transposed ? w[0] == x[1] : w[1] == x[1] / groups);
  if (!fits)
    return refuse(
        call,
        transposed ? cat("as many channels in input and weight, a multiple of groups ", groups)
                   : cat("channels ", w[1], " x groups ", groups),
        cat("input ", to_string(*call.operands[0]), " and weight ", to_string(*call.operands[1])));
  for (size_t i = 2; i < w.rank(); ++i)
    if (w[i] < 1 || w[i] > kMaxWindow)
      return refuse(call, "a kernel of 1 element or more on each axis");
  return {};
}

std::vector<int64_t> kernel_of(const Shape& w) {
  std::vector<int64_t> out;
  for (size_t i = 2; i < w.rank(); ++i) out.push_back(w[i]);
  return out;
}

}  // namespace

Result<Window> read_window(const OpCall& call, std::span<const int64_t> kernel,
                           uint32_t first_slot) {
  const size_t n = kernel.size();
  FRL_LET(const auto strides, list_of(call, first_slot, n, 1, 1, kMaxWindow));
  FRL_LET(const auto dilations, list_of(call, first_slot + 1, n, 1, 1, kMaxWindow));
  FRL_LET(const auto pads, list_of(call, first_slot + 2, 2 * n, 0, 0, kMaxWindow));
  Window out;
  for (size_t i = 0; i < n; ++i)
    out.push_back({kernel[i], strides[i], dilations[i], pads[i], pads[n + i]});
  return out;
}

Types infer_conv(const OpCall& call) {
  const int64_t groups = call.attributes.i(FRL_AT_conv_groups);
  FRL_TRY(check_conv(call, groups, false));
  const Shape& x = shape_of(call, 0);
  const Shape& w = shape_of(call, 1);
  FRL_TRY(want_operand(call, 2, type_of(call, 0), {w.dim(0)}));
  FRL_LET(const Window window, read_window(call, kernel_of(w), FRL_AT_conv_strides));
  Dims dims = {x.dim(0), w.dim(0)};
  for (size_t i = 0; i < window.size(); ++i) {
    FRL_LET(const Dim dim, count_windows(call, x.dim(2 + i), window[i], false));
    dims.push_back(dim);
  }
  return one_result(call, type_of(call, 0), dims);
}

Types infer_conv_transpose(const OpCall& call) {
  const int64_t groups = call.attributes.i(FRL_AT_conv_transpose_groups);
  FRL_TRY(check_conv(call, groups, true));
  const Shape& x = shape_of(call, 0);
  const Shape& w = shape_of(call, 1);
  int64_t channels = 0;
  if (!checked_mul(w[1], groups, &channels)) return refuse(call, "fewer channels");
  FRL_TRY(want_operand(call, 2, type_of(call, 0), {Dim{channels, 0}}));
  FRL_LET(const Window window, read_window(call, kernel_of(w), FRL_AT_conv_transpose_strides));
  FRL_LET(const auto more,
          list_of(call, FRL_AT_conv_transpose_output_pads, window.size(), 0, 0, kMaxWindow));
  Dims dims = {x.dim(0), Dim{channels, 0}};
  for (size_t i = 0; i < window.size(); ++i) {
    const WindowAxis& axis = window[i];
    FRL_TRY(want_exact(call, 0, 2 + i));
    int64_t full = 0;
    if (x[2 + i] && (!checked_mul(x[2 + i] - 1, axis.stride, &full) || full > INT64_MAX / 4))
      return refuse(call, "smaller strides");
    full += x[2 + i] ? axis.span() : 0;
    const int64_t extent = full - axis.begin - axis.end + more[i];
    if (extent < 0)
      return refuse(call, cat("pads of at most ", full, " on spatial axis ", i),
                    cat(axis.begin, " and ", axis.end));
    dims.push_back({extent, 0});
  }
  return one_result(call, type_of(call, 0), dims);
}

Types infer_pool(const OpCall& call) {
  static_assert(int(FRL_AT_max_pool_kernel) == int(FRL_AT_avg_pool_kernel) &&
                int(FRL_AT_max_pool_strides) == int(FRL_AT_avg_pool_strides) &&
                int(FRL_AT_max_pool_ceil) == int(FRL_AT_avg_pool_ceil));
  FRL_TRY(want_min_rank(call, 0, 3));
  const Shape& x = shape_of(call, 0);
  FRL_LET(const auto kernel, list_of(call, FRL_AT_max_pool_kernel, x.rank() - 2, 0, 1, kMaxWindow));
  if (kernel[0] == 0) return refuse(call, cat(kernel.size(), " values of kernel"), "[]");
  FRL_LET(const Window window, read_window(call, kernel, FRL_AT_max_pool_strides));
  Dims dims = {x.dim(0), x.dim(1)};
  for (size_t i = 0; i < window.size(); ++i) {
    FRL_LET(const Dim dim,
            count_windows(call, x.dim(2 + i), window[i], call.attributes.i(FRL_AT_max_pool_ceil)));
    dims.push_back(dim);
  }
  FRL_LET(const TensorType values, make_type(call, type_of(call, 0), dims));
  if (call.row.n_results == 1) return std::vector<TensorType>{values};
  return std::vector<TensorType>{values, {Type::i64, values.shape}};
}

}  // namespace ferrule
