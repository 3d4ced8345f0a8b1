#include "plugins/cpu/claims.h"

#include <array>

namespace cpu {
namespace {

constexpr uint8_t kRanks = FRL_MAX_RANK;
constexpr uint64_t kPlainFloats = frl::types(FRL_F32, FRL_F64),
                   kNarrow = frl::types(FRL_F16, FRL_BF16);
constexpr uint64_t kIndex = frl::types(FRL_I32, FRL_I64), kI64 = frl::types(FRL_I64);
constexpr uint64_t kSomeScratch = uint64_t{1} << 40;  // depends on the shapes

// ---- operands: dense, at any element ----
constexpr frl_operand in(uint64_t types, uint8_t min_rank, uint8_t max_rank, uint8_t group = 1) {
  return frl::laid_out(frl::operand(types, min_rank, max_rank, group), FRL_LAYOUT_UNALIGNED);
}
constexpr frl_operand out(uint64_t types, uint8_t min_rank, uint8_t max_rank, uint8_t group = 1) {
  return frl::result(in(types, min_rank, max_rank, group));
}
constexpr frl_operand strided(frl_operand o) {
  return frl::laid_out(o, FRL_LAYOUT_ORDERED | FRL_LAYOUT_STRIDED);
}
constexpr frl_operand any(uint8_t min_rank = 0) { return in(frl::kAnyType, min_rank, kRanks); }
constexpr frl_operand any_out(uint8_t min_rank = 0) { return out(frl::kAnyType, min_rank, kRanks); }
constexpr frl_operand indices(uint8_t min_rank) { return in(kIndex, min_rank, kRanks, 2); }

constexpr frl_operand kPointwise[] = {
    frl::repeat(frl::broadcasting(strided(in(frl::kAnyType, 0, kRanks, 0)), FRL_BROADCAST_ANY)),
    frl::repeat(out(frl::kAnyType, 0, kRanks, 0))};
constexpr frl_operand kMove[] = {strided(any()), any_out()};
constexpr frl_operand kConcat[] = {frl::repeat(strided(any(1))), any_out(1)};
constexpr frl_operand kPad[] = {any(), frl::optional(in(frl::kAnyType, 0, 1)), any_out()};
constexpr frl_operand kMatrixMove[] = {any(2), any_out(2)};
constexpr frl_operand kGather[] = {any(1), indices(0), any_out()};
constexpr frl_operand kGatherPlaces[] = {any(1), indices(1), any_out()};
constexpr frl_operand kScatter[] = {any(1), indices(1), any(), any_out(1)};
constexpr frl_operand kScatterNumbers[] = {in(frl::kNumbers, 1, kRanks), indices(1),
                                           in(frl::kNumbers, 0, kRanks),
                                           out(frl::kNumbers, 1, kRanks)};
constexpr frl_operand kReduce[] = {any(), any_out()};
constexpr frl_operand kArg[] = {in(frl::kNumbers, 1, kRanks), out(kI64, 0, kRanks, 2)};
constexpr frl_operand kCumulative[] = {in(frl::kNumbers, 1, kRanks), out(frl::kNumbers, 1, kRanks)};
constexpr frl_operand kTopk[] = {in(frl::kNumbers, 1, kRanks), out(frl::kNumbers, 1, kRanks),
                                 out(kI64, 1, kRanks, 2)};
constexpr frl_operand kNonzero[] = {in(frl::kAnyType, 0, kRanks, 0), out(kI64, 2, 2, 0)};
constexpr frl_operand kUnique[] = {any(), any_out(1), frl::repeat(out(kI64, 1, 1, 2))};
constexpr frl_operand kFloatRows[] = {in(frl::kFloats, 1, kRanks), out(frl::kFloats, 1, kRanks)};
constexpr frl_operand kMatrices[] = {in(frl::kFloats, 2, kRanks), out(frl::kFloats, 0, kRanks)};
constexpr frl_operand kSpectra[] = {in(frl::kFloats, 2, kRanks), out(frl::kFloats, 2, kRanks)};

constexpr uint64_t kExact = kPlainFloats | frl::kInts;
constexpr frl_operand kMatmul[] = {strided(in(kExact, 2, kRanks)), strided(in(kExact, 2, kRanks)),
                                   out(kExact, 2, kRanks)};
// 16-bit floats are converted as one run of memory: any axis order, no gaps.
constexpr frl_operand ordered(frl_operand o) { return frl::laid_out(o, FRL_LAYOUT_ORDERED); }
constexpr frl_operand kMatmulNarrow[] = {ordered(in(kNarrow, 2, kRanks)),
                                         ordered(in(kNarrow, 2, kRanks)), out(kNarrow, 2, kRanks)};
constexpr frl_operand kFused[] = {
    strided(in(kPlainFloats, 2, kRanks)), strided(in(kPlainFloats, 2, kRanks)),
    frl::optional(in(kPlainFloats, 1, 1)), out(kPlainFloats, 2, kRanks)};
constexpr frl_operand kFusedNarrow[] = {ordered(in(kNarrow, 2, kRanks)),
                                        ordered(in(kNarrow, 2, kRanks)),
                                        frl::optional(in(kNarrow, 1, 1)), out(kNarrow, 2, kRanks)};
constexpr frl_operand kConv[] = {in(frl::kNumbers, 3, 5), in(frl::kNumbers, 3, 5),
                                 frl::optional(in(frl::kNumbers, 1, 1)), out(frl::kNumbers, 3, 5)};
constexpr frl_operand kConvFused[] = {
    in(frl::kFloats, 3, 5), in(frl::kFloats, 3, 5), frl::optional(in(frl::kFloats, 1, 1)),
    frl::optional(in(frl::kFloats, 3, 5)), out(frl::kFloats, 3, 5)};
constexpr frl_operand kConvTranspose[] = {in(frl::kFloats, 3, 5), in(frl::kFloats, 3, 5),
                                          frl::optional(in(frl::kFloats, 1, 1)),
                                          out(frl::kFloats, 3, 5)};
constexpr frl_operand kMaxPool[] = {in(frl::kNumbers, 3, 5), out(frl::kNumbers, 3, 5),
                                    out(kI64, 3, 5, 2)};
constexpr frl_operand kAvgPool[] = {in(frl::kFloats, 3, 5), out(frl::kFloats, 3, 5)};

constexpr frl_operand scales(uint64_t types, bool last) {
  const frl_operand o = in(types, 1, 1, 2);
  return last ? frl::optional(o) : o;
}
constexpr uint64_t kF64 = frl::types(FRL_F64);
constexpr frl_operand kResize[] = {in(frl::kFloats, 1, kRanks), scales(kF64, false),
                                   scales(kF64, true), out(frl::kFloats, 1, kRanks)};
constexpr frl_operand kResizeAny[] = {any(1), scales(kF64, false), scales(kF64, true), any_out(1)};
constexpr frl_operand kGridSample[] = {in(frl::kFloats, 4, 4), in(frl::kFloats, 4, 4),
                                       out(frl::kFloats, 4, 4)};
constexpr frl_operand kRoiAlign[] = {in(frl::kFloats, 4, 4), in(frl::kFloats, 2, 2),
                                     in(kI64, 1, 1, 2), out(frl::kFloats, 4, 4)};
constexpr frl_operand kNms[] = {in(frl::kFloats, 3, 3), in(frl::kFloats, 3, 3), out(kI64, 2, 2, 2)};

constexpr frl_operand rnn_in(uint8_t rank) { return in(frl::kFloats, rank, rank); }
constexpr frl_operand rnn_maybe(uint8_t rank) { return frl::optional(rnn_in(rank)); }
constexpr frl_operand kLengths = frl::optional(in(frl::types(FRL_I32), 1, 1, 2));
constexpr frl_operand kLstm[] = {rnn_in(3),
                                 rnn_in(3),
                                 rnn_in(3),
                                 rnn_maybe(2),
                                 kLengths,
                                 rnn_maybe(3),
                                 rnn_maybe(3),
                                 rnn_maybe(2),
                                 out(frl::kFloats, 4, 4),
                                 out(frl::kFloats, 3, 3),
                                 out(frl::kFloats, 3, 3)};
constexpr frl_operand kGru[] = {rnn_in(3),
                                rnn_in(3),
                                rnn_in(3),
                                rnn_maybe(2),
                                kLengths,
                                rnn_maybe(3),
                                out(frl::kFloats, 4, 4),
                                out(frl::kFloats, 3, 3)};

// Scale and shift of the operand's type; with 16-bit operands also of f32.
constexpr frl_operand kLayerNorm[] = {
    in(frl::kFloats, 1, kRanks), frl::optional(in(frl::kFloats, 1, kRanks)),
    frl::optional(in(frl::kFloats, 1, kRanks)), out(frl::kFloats, 1, kRanks)};
constexpr frl_operand kWideFactor = frl::optional(in(kNarrow | frl::types(FRL_F32), 1, kRanks, 0));
constexpr frl_operand kLayerNormMixed[] = {in(kNarrow, 1, kRanks), kWideFactor, kWideFactor,
                                           out(kNarrow, 1, kRanks)};
constexpr frl_operand kRmsNorm[] = {in(frl::kFloats, 1, kRanks),
                                    frl::optional(in(frl::kFloats, 1, kRanks)),
                                    out(frl::kFloats, 1, kRanks)};
constexpr frl_operand kRmsNormMixed[] = {in(kNarrow, 1, kRanks), kWideFactor,
                                         out(kNarrow, 1, kRanks)};

constexpr frl_operand kHeads = in(frl::kFloats, 2, kRanks);
constexpr frl_operand kAttention[] = {kHeads, kHeads, kHeads, out(frl::kFloats, 2, kRanks)};
constexpr frl_operand kAttentionAdd[] = {kHeads, kHeads, kHeads, in(frl::kFloats, 0, kRanks),
                                         out(frl::kFloats, 2, kRanks)};
constexpr frl_operand kNarrowHeads = in(kNarrow, 2, kRanks);
constexpr frl_operand kAttentionAddMixed[] = {kNarrowHeads, kNarrowHeads, kNarrowHeads,
                                              in(kNarrow | frl::types(FRL_F32), 0, kRanks, 0),
                                              out(kNarrow, 2, kRanks)};
constexpr frl_operand kAttentionSelect[] = {
    kHeads, kHeads, kHeads, in(frl::types(FRL_BOOL), 0, kRanks, 2), out(frl::kFloats, 2, kRanks)};

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
    within_ulps(FRL_OP_scatter_elements, rows(kScatterNumbers), 4, rows(kScatterElementsBy)),
    exact(FRL_OP_scatter_nd, rows(kScatter), rows(kScatterNdReplace)),
    within_ulps(FRL_OP_scatter_nd, rows(kScatterNumbers), 4, rows(kScatterNdBy)),
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
    exact(FRL_OP_resize, rows(kResizeAny), rows(kNearest)),
    sums(FRL_OP_grid_sample, rows(kGridSample), 2),
    sums(FRL_OP_roi_align, rows(kRoiAlign), 2, rows(kRoiBy)),
    sums(FRL_OP_lstm, rows(kLstm), 64),
    sums(FRL_OP_gru, rows(kGru), 64),
    sums(FRL_OP_rnn, rows(kGru), 64),
    exact(FRL_OP_non_max_suppression, rows(kNms)),
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
};

constexpr frl_rate kRates[] = {{FRL_F32, FRL_COMPUTE_IEEE, 6'000'000},
                               {FRL_F64, FRL_COMPUTE_IEEE, 12'000'000},
                               {FRL_F16, FRL_COMPUTE_IEEE, 7'000'000},
                               {FRL_BF16, FRL_COMPUTE_IEEE, 7'000'000}};
// A copy of the plan is one thread's memcpy; a kernel's memory is read by all workers.
constexpr frl_cost kCost = [] {
  frl_cost c = frl::host_cost(30'000, 15'000, 60'000, frl::rows(kRates), FRL_BASIS_MEASURED);
  c.to_device_ps_per_kib = c.from_device_ps_per_kib = c.readback_ps_per_kib = 100'000;
  return c;
}();

}  // namespace

frl_rows claims() { return frl::rows(kClaims); }
const frl_cost* cost() { return &kCost; }

}  // namespace cpu
