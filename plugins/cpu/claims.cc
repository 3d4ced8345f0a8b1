#include "plugins/cpu/claims.h"

#include <array>

#include "plugins/cpu/operands.h"

namespace cpu {
namespace {

constexpr uint64_t kSomeScratch = uint64_t{1} << 40;  // depends on the shapes

// ---- attributes ----
constexpr int64_t kReplace[] = {0};
constexpr int64_t kCombining[] = {0, FRL_OP_add, FRL_OP_mul, FRL_OP_max, FRL_OP_min};
constexpr int64_t kReducing[] = {FRL_OP_add, FRL_OP_mul, FRL_OP_max, FRL_OP_min};
constexpr int64_t kExtremes[] = {FRL_OP_max, FRL_OP_min};
constexpr int64_t kBins[] = {FRL_OP_add, FRL_OP_max};
constexpr int64_t kMaskFree[] = {0, 1}, kMaskAdds[] = {2}, kMaskSelects[] = {3};
// None, and every op from one float to one float.
constexpr auto kActivations = [] {
  std::array<int64_t, FRL_OP_shrink> ids{};
  size_t n = 1;
  for (int64_t id = 1; id <= FRL_OP_shrink; ++id)
    if (id != FRL_OP_cast) ids[n++] = id;
  return ids;
}();
template <size_t N>
constexpr frl_choice choice(uint32_t slot, const int64_t (&allowed)[N]) {
  return {slot, N, allowed};
}
constexpr frl_choice kScatterElementsReplace[] = {choice(FRL_AT_scatter_elements_by, kReplace)};
constexpr frl_choice kScatterElementsBy[] = {choice(FRL_AT_scatter_elements_by, kCombining)};
constexpr frl_choice kScatterNdReplace[] = {choice(FRL_AT_scatter_nd_by, kReplace)};
constexpr frl_choice kScatterNdBy[] = {choice(FRL_AT_scatter_nd_by, kCombining)};
constexpr frl_choice kReduceBy[] = {choice(FRL_AT_reduce_by, kReducing)};
constexpr frl_choice kArgBy[] = {choice(FRL_AT_arg_reduce_by, kExtremes)};
constexpr frl_choice kCumulativeBy[] = {choice(FRL_AT_cumulative_by, kReducing)};
constexpr frl_choice kRoiBy[] = {choice(FRL_AT_roi_align_by, kBins)};
constexpr frl_choice kNearest[] = {choice(FRL_AT_resize_mode, kReplace)};
constexpr frl_choice kFree[] = {choice(FRL_AT_attention_mask, kMaskFree)};
constexpr frl_choice kAdds[] = {choice(FRL_AT_attention_mask, kMaskAdds)};
constexpr frl_choice kSelects[] = {choice(FRL_AT_attention_mask, kMaskSelects)};
constexpr frl_choice kBlockFree[] = {choice(FRL_AT_attention_block_mask, kMaskFree)};
constexpr frl_choice kBlockAdds[] = {choice(FRL_AT_attention_block_mask, kMaskAdds)};
constexpr frl_choice kBlockSelects[] = {choice(FRL_AT_attention_block_mask, kMaskSelects)};
constexpr frl_choice kLayerFree[] = {choice(FRL_AT_transformer_layer_mask, kMaskFree)};
constexpr frl_choice kLayerAdds[] = {choice(FRL_AT_transformer_layer_mask, kMaskAdds)};
constexpr frl_choice kLayerSelects[] = {choice(FRL_AT_transformer_layer_mask, kMaskSelects)};
constexpr frl_choice kBackFree[] = {choice(FRL_AT_attention_backward_mask, kMaskFree)};
constexpr frl_choice kBackAdds[] = {choice(FRL_AT_attention_backward_mask, kMaskAdds)};
constexpr frl_choice kBackSelects[] = {choice(FRL_AT_attention_backward_mask, kMaskSelects)};
constexpr frl_choice kMatmulAct[] = {
    {FRL_AT_matmul_bias_act_activation, kActivations.size(), kActivations.data()}};
constexpr frl_choice kConvAct[] = {
    {FRL_AT_conv_bias_act_activation, kActivations.size(), kActivations.data()}};

// ---- rows ----
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

// What bodies of the other open kinds may hold: all ops whose shapes do not depend on data.
constexpr bool is_body_op(uint32_t id) {
  return id != FRL_OP_nonzero && id != FRL_OP_unique && id != FRL_OP_non_max_suppression;
}
constexpr auto kBodyOps = [] {
  std::array<uint32_t, FRL_OP_det> ids{};
  size_t n = 0;
  for (uint32_t id = 1; id <= FRL_OP_det; ++id)
    if (is_body_op(id)) ids[n++] = id;
  return std::pair(ids, n);
}();
constexpr frl_operand kAnyDense[] = {frl::repeat(in(frl::kAnyType, 0, kRanks, 0)),
                                     frl::repeat(out(frl::kAnyType, 0, kRanks, 0))};

// Moves bits, or computes exactly.
constexpr frl_claim exact(uint32_t op, frl_rows operands, frl_rows choices = {}) {
  frl_claim c = frl::claim(op, operands);
  c.choices = choices;
  return c;
}
constexpr frl_claim places(uint32_t op, frl_rows operands, frl_rows choices, uint32_t error,
                           uint32_t error_milli, uint32_t fp = 0) {
  frl_claim c = frl::claim(op, operands, error, error_milli);
  c.choices = choices, c.fp = fp, c.scratch_bytes = kSomeScratch;
  return c;
}
// Units in the last place of each element.
constexpr frl_claim within_ulps(uint32_t op, frl_rows operands, uint32_t ulps,
                                frl_rows choices = {}) {
  return places(op, operands, choices, FRL_ERROR_ULP, ulps * 1000);
}
// eps times the condition of the sum.
constexpr frl_claim sums(uint32_t op, frl_rows operands, uint32_t eps, frl_rows choices = {},
                         uint32_t fp = 0) {
  return places(op, operands, choices, FRL_ERROR_CONDITION, eps * 1000, fp | FRL_FP_CONTRACTS);
}
using frl::rows;
// A body run part by part.
constexpr frl_claim sequence(uint32_t kind) {
  frl_claim c = places(kind, rows(kAnyDense), {}, FRL_ERROR_CONDITION, 64'000, FRL_FP_CONTRACTS);
  c.members = {kBodyOps.first.data(), uint32_t(kBodyOps.second), sizeof(uint32_t)};
  c.prologue = c.epilogue = rows(kMembers);
  c.max_nodes = 256, c.max_inputs = 64, c.max_outputs = 16, c.max_slices = 1 << 20;
  c.max_prologue = c.max_epilogue = 255;
  return c;
}

// The same for a closed kind.
constexpr frl_claim by_parts(uint32_t kind, frl_rows operands, frl_rows choices = {}) {
  return sums(kind, operands, 64, choices);
}

constexpr frl_claim kClaims[] = {
    frl::pointwise_claim(rows(kPointwise), rows(kMembers), 256, 64, 16),
    sequence(FRL_OP_prologue),
    sequence(FRL_OP_epilogue),
    sequence(FRL_OP_transform),
    sequence(FRL_OP_subgraph),
    sequence(FRL_OP_batch),
    exact(FRL_OP_reshape, rows(kMove)),
    exact(FRL_OP_transpose, rows(kMove)),
    exact(FRL_OP_broadcast, rows(kMove)),
    exact(FRL_OP_slice, rows(kMove)),
    exact(FRL_OP_concat, rows(kConcat)),
    exact(FRL_OP_pad, rows(kPad)),
    exact(FRL_OP_trilu, rows(kMatrixMove)),
    exact(FRL_OP_gather, rows(kGather)),
    exact(FRL_OP_gather_elements, rows(kGatherPlaces)),
    exact(FRL_OP_gather_nd, rows(kGatherPlaces)),
    exact(FRL_OP_scatter_elements, rows(kScatter), rows(kScatterElementsReplace)),
    sums(FRL_OP_scatter_elements, rows(kScatterNumbers), 4, rows(kScatterElementsBy)),
    exact(FRL_OP_scatter_nd, rows(kScatter), rows(kScatterNdReplace)),
    sums(FRL_OP_scatter_nd, rows(kScatterNumbers), 4, rows(kScatterNdBy)),
    sums(FRL_OP_reduce, rows(kReduce), 1, rows(kReduceBy)),
    exact(FRL_OP_arg_reduce, rows(kArg), rows(kArgBy)),
    sums(FRL_OP_cumulative, rows(kCumulative), 1, rows(kCumulativeBy)),
    exact(FRL_OP_topk, rows(kTopk)),
    exact(FRL_OP_nonzero, rows(kNonzero)),
    exact(FRL_OP_unique, rows(kUnique)),
    within_ulps(FRL_OP_softmax, rows(kFloatRows), 5),
    within_ulps(FRL_OP_log_softmax, rows(kFloatRows), 5),
    sums(FRL_OP_matmul, rows(kMatmul), 16),
    sums(FRL_OP_matmul, rows(kMatmulNarrow), 2),
    sums(FRL_OP_matmul_bias_act, rows(kFused), 16, rows(kMatmulAct)),
    sums(FRL_OP_matmul_bias_act, rows(kFusedNarrow), 2, rows(kMatmulAct), FRL_FP_WIDE_INSIDE),
    sums(FRL_OP_conv, rows(kConv), 16),
    sums(FRL_OP_conv_bias_act, rows(kConvFused), 16, rows(kConvAct), FRL_FP_WIDE_INSIDE),
    sums(FRL_OP_conv_transpose, rows(kConvTranspose), 16),
    exact(FRL_OP_max_pool, rows(kMaxPool)),
    within_ulps(FRL_OP_avg_pool, rows(kAvgPool), 1),
    sums(FRL_OP_resize, rows(kResize), 8),
    places(FRL_OP_resize, rows(kResizeAny), rows(kNearest), FRL_ERROR_EXACT, 0),
    sums(FRL_OP_grid_sample, rows(kGridSample), 2),
    sums(FRL_OP_roi_align, rows(kRoiAlign), 2, rows(kRoiBy)),
    sums(FRL_OP_lstm, rows(kLstm), 64),
    sums(FRL_OP_gru, rows(kGru), 64),
    sums(FRL_OP_rnn, rows(kGru), 64),
    places(FRL_OP_non_max_suppression, rows(kNms), {}, FRL_ERROR_EXACT, 0),
    sums(FRL_OP_dft, rows(kSpectra), 8),
    sums(FRL_OP_det, rows(kMatrices), 64),
    sums(FRL_OP_layer_norm, rows(kLayerNorm), 8, {}, FRL_FP_WIDE_INSIDE),
    sums(FRL_OP_layer_norm, rows(kLayerNormMixed), 8, {}, FRL_FP_WIDE_INSIDE),
    sums(FRL_OP_rms_norm, rows(kRmsNorm), 8, {}, FRL_FP_WIDE_INSIDE),
    sums(FRL_OP_rms_norm, rows(kRmsNormMixed), 8, {}, FRL_FP_WIDE_INSIDE),
    sums(FRL_OP_attention, rows(kAttention), 32, rows(kFree), FRL_FP_WIDE_INSIDE),
    sums(FRL_OP_attention, rows(kAttentionAdd), 32, rows(kAdds), FRL_FP_WIDE_INSIDE),
    sums(FRL_OP_attention, rows(kAttentionAddMixed), 32, rows(kAdds), FRL_FP_WIDE_INSIDE),
    sums(FRL_OP_attention, rows(kAttentionSelect), 32, rows(kSelects), FRL_FP_WIDE_INSIDE),
    by_parts(FRL_OP_matmul_residual, rows(kThreeMatrices)),
    by_parts(FRL_OP_residual_layer_norm, rows(kResidualLayerNorm)),
    by_parts(FRL_OP_residual_rms_norm, rows(kResidualRmsNorm)),
    by_parts(FRL_OP_ada_layer_norm, rows(kThreeFloats)),
    by_parts(FRL_OP_gated_residual, rows(kGatedResidual)),
    by_parts(FRL_OP_swiglu, rows(kFloatRows)),
    by_parts(FRL_OP_rope, rows(kThreeFloats)),
    by_parts(FRL_OP_attention_block, rows(kAttentionBlock), rows(kBlockFree)),
    by_parts(FRL_OP_attention_block, rows(kAttentionBlock), rows(kBlockAdds)),
    by_parts(FRL_OP_attention_block, rows(kAttentionBlockSelect), rows(kBlockSelects)),
    by_parts(FRL_OP_transformer_layer, rows(kTransformerLayer), rows(kLayerFree)),
    by_parts(FRL_OP_transformer_layer, rows(kTransformerLayer), rows(kLayerAdds)),
    by_parts(FRL_OP_transformer_layer, rows(kTransformerLayerSelect), rows(kLayerSelects)),
    by_parts(FRL_OP_attention_backward, rows(kAttentionBackward), rows(kBackFree)),
    by_parts(FRL_OP_attention_backward, rows(kAttentionBackward), rows(kBackAdds)),
    by_parts(FRL_OP_attention_backward, rows(kAttentionBackwardSelect), rows(kBackSelects)),
    by_parts(FRL_OP_layer_norm_backward, rows(kLayerNormBackward)),
    by_parts(FRL_OP_rms_norm_backward, rows(kRmsNormBackward)),
    by_parts(FRL_OP_group_norm, rows(kGroupNorm)),
    by_parts(FRL_OP_welch_peaks, rows(kWelchPeaks)),
    by_parts(FRL_OP_quantise, rows(kQuantise)),
    by_parts(FRL_OP_dequantise, rows(kDequantise)),
    by_parts(FRL_OP_fake_quantise, rows(kFakeQuantise)),
    by_parts(FRL_OP_matmul_quantised, rows(kMatmulQuantised)),
    by_parts(FRL_OP_dot_general, rows(kDotGeneral)),
};

constexpr frl_rate kRates[] = {{FRL_F32, FRL_COMPUTE_IEEE, 6'000'000},
                               {FRL_F64, FRL_COMPUTE_IEEE, 12'000'000},
                               {FRL_F16, FRL_COMPUTE_IEEE, 7'000'000},
                               {FRL_BF16, FRL_COMPUTE_IEEE, 7'000'000}};
// A copy of the plan is one thread's memcpy. A kernel's memory is what lies between kernels, some
// hundred KiB: most of it is still in a cache, at twice the rate of DRAM.
constexpr frl_cost kCost = [] {
  frl_cost c = frl::host_cost(30'000, 15'000, 25'000, frl::rows(kRates), FRL_BASIS_MEASURED);
  c.to_device_ps_per_kib = c.from_device_ps_per_kib = c.readback_ps_per_kib = 100'000;
  return c;
}();

}  // namespace

frl_rows claims() { return frl::rows(kClaims); }
const frl_cost* cost() { return &kCost; }

}  // namespace cpu
