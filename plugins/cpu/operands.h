// Operand rows of the claims: which types, ranks and layouts each place of an op takes.
#pragma once

#include <array>

#include "plugin-api/sdk/rows.h"

namespace cpu {

inline constexpr uint8_t kRanks = FRL_MAX_RANK;
inline constexpr uint64_t kPlainFloats = frl::types(FRL_F32, FRL_F64),
                          kNarrow = frl::types(FRL_F16, FRL_BF16);
inline constexpr uint64_t kIndex = frl::types(FRL_I32, FRL_I64), kI64 = frl::types(FRL_I64);

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

inline constexpr frl_operand kPointwise[] = {
    frl::repeat(frl::broadcasting(strided(in(frl::kAnyType, 0, kRanks, 0)), FRL_BROADCAST_ANY)),
    frl::repeat(out(frl::kAnyType, 0, kRanks, 0))};
inline constexpr frl_operand kMove[] = {strided(any()), any_out()};
inline constexpr frl_operand kConcat[] = {frl::repeat(strided(any(1))), any_out(1)};
inline constexpr frl_operand kPad[] = {any(), frl::optional(in(frl::kAnyType, 0, 1)), any_out()};
inline constexpr frl_operand kMatrixMove[] = {any(2), any_out(2)};
inline constexpr frl_operand kGather[] = {any(1), indices(0), any_out()};
inline constexpr frl_operand kGatherPlaces[] = {any(1), indices(1), any_out()};
inline constexpr frl_operand kScatter[] = {any(1), indices(1), any(), any_out(1)};
inline constexpr frl_operand kScatterNumbers[] = {in(frl::kNumbers, 1, kRanks), indices(1),
                                                  in(frl::kNumbers, 0, kRanks),
                                                  out(frl::kNumbers, 1, kRanks)};
inline constexpr frl_operand kReduce[] = {any(), any_out()};
inline constexpr frl_operand kArg[] = {in(frl::kNumbers, 1, kRanks), out(kI64, 0, kRanks, 2)};
inline constexpr frl_operand kCumulative[] = {in(frl::kNumbers, 1, kRanks),
                                              out(frl::kNumbers, 1, kRanks)};
inline constexpr frl_operand kTopk[] = {in(frl::kNumbers, 1, kRanks), out(frl::kNumbers, 1, kRanks),
                                        out(kI64, 1, kRanks, 2)};
inline constexpr frl_operand kNonzero[] = {in(frl::kAnyType, 0, kRanks, 0), out(kI64, 2, 2, 0)};
inline constexpr frl_operand kUnique[] = {any(), any_out(1), frl::repeat(out(kI64, 1, 1, 2))};
inline constexpr frl_operand kFloatRows[] = {in(frl::kFloats, 1, kRanks),
                                             out(frl::kFloats, 1, kRanks)};
inline constexpr frl_operand kMatrices[] = {in(frl::kFloats, 2, kRanks),
                                            out(frl::kFloats, 0, kRanks)};
inline constexpr frl_operand kSpectra[] = {in(frl::kFloats, 2, kRanks),
                                           out(frl::kFloats, 2, kRanks)};

inline constexpr uint64_t kExact = kPlainFloats | frl::kInts;
inline constexpr frl_operand kMatmul[] = {strided(in(kExact, 2, kRanks)),
                                          strided(in(kExact, 2, kRanks)), out(kExact, 2, kRanks)};
// 16-bit floats are converted as one run of memory: any axis order, no gaps.
constexpr frl_operand ordered(frl_operand o) { return frl::laid_out(o, FRL_LAYOUT_ORDERED); }
inline constexpr frl_operand kMatmulNarrow[] = {
    ordered(in(kNarrow, 2, kRanks)), ordered(in(kNarrow, 2, kRanks)), out(kNarrow, 2, kRanks)};
inline constexpr frl_operand kFused[] = {
    strided(in(kPlainFloats, 2, kRanks)), strided(in(kPlainFloats, 2, kRanks)),
    frl::optional(in(kPlainFloats, 1, 1)), out(kPlainFloats, 2, kRanks)};
inline constexpr frl_operand kFusedNarrow[] = {
    ordered(in(kNarrow, 2, kRanks)), ordered(in(kNarrow, 2, kRanks)),
    frl::optional(in(kNarrow, 1, 1)), out(kNarrow, 2, kRanks)};
inline constexpr frl_operand kConv[] = {in(frl::kNumbers, 3, 5), in(frl::kNumbers, 3, 5),
                                        frl::optional(in(frl::kNumbers, 1, 1)),
                                        out(frl::kNumbers, 3, 5)};
inline constexpr frl_operand kConvFused[] = {
    in(frl::kFloats, 3, 5), in(frl::kFloats, 3, 5), frl::optional(in(frl::kFloats, 1, 1)),
    frl::optional(in(frl::kFloats, 3, 5)), out(frl::kFloats, 3, 5)};
inline constexpr frl_operand kConvTranspose[] = {in(frl::kFloats, 3, 5), in(frl::kFloats, 3, 5),
                                                 frl::optional(in(frl::kFloats, 1, 1)),
                                                 out(frl::kFloats, 3, 5)};
inline constexpr frl_operand kMaxPool[] = {in(frl::kNumbers, 3, 5), out(frl::kNumbers, 3, 5),
                                           out(kI64, 3, 5, 2)};
inline constexpr frl_operand kAvgPool[] = {in(frl::kFloats, 3, 5), out(frl::kFloats, 3, 5)};

constexpr frl_operand scales(uint64_t types, bool last) {
  const frl_operand o = in(types, 1, 1, 2);
  return last ? frl::optional(o) : o;
}
inline constexpr uint64_t kF64 = frl::types(FRL_F64);
inline constexpr frl_operand kResize[] = {in(frl::kFloats, 1, kRanks), scales(kF64, false),
                                          scales(kF64, true), out(frl::kFloats, 1, kRanks)};
inline constexpr frl_operand kResizeAny[] = {any(1), scales(kF64, false), scales(kF64, true),
                                             any_out(1)};
inline constexpr frl_operand kGridSample[] = {in(frl::kFloats, 4, 4), in(frl::kFloats, 4, 4),
                                              out(frl::kFloats, 4, 4)};
inline constexpr frl_operand kRoiAlign[] = {in(frl::kFloats, 4, 4), in(frl::kFloats, 2, 2),
                                            in(kI64, 1, 1, 2), out(frl::kFloats, 4, 4)};
inline constexpr frl_operand kNms[] = {in(frl::kFloats, 3, 3), in(frl::kFloats, 3, 3),
                                       out(kI64, 2, 2, 2)};

constexpr frl_operand rnn_in(uint8_t rank) { return in(frl::kFloats, rank, rank); }
constexpr frl_operand rnn_maybe(uint8_t rank) { return frl::optional(rnn_in(rank)); }
inline constexpr frl_operand kLengths = frl::optional(in(frl::types(FRL_I32), 1, 1, 2));
inline constexpr frl_operand kLstm[] = {rnn_in(3),
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
inline constexpr frl_operand kGru[] = {rnn_in(3),
                                       rnn_in(3),
                                       rnn_in(3),
                                       rnn_maybe(2),
                                       kLengths,
                                       rnn_maybe(3),
                                       out(frl::kFloats, 4, 4),
                                       out(frl::kFloats, 3, 3)};

// Scale and shift of the operand's type; with 16-bit operands also of f32.
inline constexpr frl_operand kLayerNorm[] = {
    in(frl::kFloats, 1, kRanks), frl::optional(in(frl::kFloats, 1, kRanks)),
    frl::optional(in(frl::kFloats, 1, kRanks)), out(frl::kFloats, 1, kRanks)};
inline constexpr frl_operand kWideFactor =
    frl::optional(in(kNarrow | frl::types(FRL_F32), 1, kRanks, 0));
inline constexpr frl_operand kLayerNormMixed[] = {in(kNarrow, 1, kRanks), kWideFactor, kWideFactor,
                                                  out(kNarrow, 1, kRanks)};
inline constexpr frl_operand kRmsNorm[] = {in(frl::kFloats, 1, kRanks),
                                           frl::optional(in(frl::kFloats, 1, kRanks)),
                                           out(frl::kFloats, 1, kRanks)};
inline constexpr frl_operand kRmsNormMixed[] = {in(kNarrow, 1, kRanks), kWideFactor,
                                                out(kNarrow, 1, kRanks)};

inline constexpr frl_operand kHeads = in(frl::kFloats, 2, kRanks);
inline constexpr frl_operand kAttention[] = {kHeads, kHeads, kHeads, out(frl::kFloats, 2, kRanks)};
inline constexpr frl_operand kAttentionAdd[] = {kHeads, kHeads, kHeads, in(frl::kFloats, 0, kRanks),
                                                out(frl::kFloats, 2, kRanks)};
inline constexpr frl_operand kNarrowHeads = in(kNarrow, 2, kRanks);
inline constexpr frl_operand kAttentionAddMixed[] = {
    kNarrowHeads, kNarrowHeads, kNarrowHeads, in(kNarrow | frl::types(FRL_F32), 0, kRanks, 0),
    out(kNarrow, 2, kRanks)};
inline constexpr frl_operand kAttentionSelect[] = {
    kHeads, kHeads, kHeads, in(frl::types(FRL_BOOL), 0, kRanks, 2), out(frl::kFloats, 2, kRanks)};

// ---- kinds that are run part by part ----
constexpr frl_operand floats(uint8_t min_rank = 1) { return in(frl::kFloats, min_rank, kRanks); }
constexpr frl_operand floats_out(uint8_t min_rank = 1) {
  return out(frl::kFloats, min_rank, kRanks);
}
constexpr frl_operand maybe(uint8_t min_rank = 1) { return frl::optional(floats(min_rank)); }
inline constexpr frl_operand kThreeFloats[] = {floats(), floats(), floats(), floats_out()};
inline constexpr frl_operand kThreeMatrices[] = {floats(2), floats(2), floats(2), floats_out(2)};
inline constexpr frl_operand kResidualLayerNorm[] = {floats(), floats(), maybe(), maybe(),
                                                     frl::repeat(floats_out())};
inline constexpr frl_operand kResidualRmsNorm[] = {floats(), floats(), maybe(),
                                                   frl::repeat(floats_out())};
inline constexpr frl_operand kGatedResidual[] = {floats(0), floats(0), floats(0), floats_out(0)};
// A mask is additive, of the type of q, or boolean.
inline constexpr frl_operand kMask = frl::optional(in(frl::kFloats, 0, kRanks));
inline constexpr frl_operand kSelectMask = frl::optional(in(frl::types(FRL_BOOL), 0, kRanks, 2));
constexpr std::array<frl_operand, 7> attention_block(frl_operand mask) {
  return {floats(2), floats(2), floats(2), mask, maybe(), maybe(), floats_out(2)};
}
inline constexpr auto kAttentionBlock = attention_block(kMask),
                      kAttentionBlockSelect = attention_block(kSelectMask);
constexpr std::array<frl_operand, 15> transformer_layer(frl_operand mask) {
  return {floats(2), floats(2), floats(2), floats(), floats(), floats(), floats(),     floats(2),
          floats(),  floats(2), floats(),  floats(), floats(), mask,     floats_out(2)};
}
inline constexpr auto kTransformerLayer = transformer_layer(kMask),
                      kTransformerLayerSelect = transformer_layer(kSelectMask);
constexpr std::array<frl_operand, 8> attention_backward(frl_operand mask) {
  return {kHeads, kHeads, kHeads, kHeads, mask, floats_out(2), floats_out(2), floats_out(2)};
}
inline constexpr auto kAttentionBackward = attention_backward(kMask),
                      kAttentionBackwardSelect = attention_backward(kSelectMask);
inline constexpr frl_operand kLayerNormBackward[] = {floats(),     floats(),     floats(),
                                                     floats_out(), floats_out(), floats_out()};
inline constexpr frl_operand kRmsNormBackward[] = {floats(), floats(), floats(), floats_out(),
                                                   floats_out()};
inline constexpr frl_operand kGroupNorm[] = {floats(2), frl::optional(in(frl::kFloats, 1, 1)),
                                             frl::optional(in(frl::kFloats, 1, 1)), floats_out(2)};
inline constexpr frl_operand kWelchPeaks[] = {floats(3), out(kI64, 1, kRanks, 2), floats_out(1)};
inline constexpr frl_operand kQuantise[] = {floats(0), floats(0),
                                            frl::optional(in(frl::kInts, 0, kRanks, 2)),
                                            out(frl::kInts, 0, kRanks, 2)};
inline constexpr frl_operand kDequantise[] = {in(frl::kInts, 0, kRanks, 2), floats(0),
                                              frl::optional(in(frl::kInts, 0, kRanks, 2)),
                                              floats_out(0)};
inline constexpr frl_operand kFakeQuantise[] = {
    floats(0), floats(0), frl::optional(in(frl::kInts, 0, kRanks, 2)), floats_out(0)};
inline constexpr frl_operand kMatmulQuantised[] = {
    floats(2), in(frl::types(FRL_U8), 3, 3, 2), in(frl::kFloats, 2, 2),
    frl::optional(in(frl::kFloats, 2, 2)), floats_out(2)};
inline constexpr frl_operand kDotGeneral[] = {in(kExact | kNarrow, 0, kRanks),
                                              in(kExact | kNarrow, 0, kRanks),
                                              out(kExact | kNarrow, 0, kRanks)};

}  // namespace cpu
