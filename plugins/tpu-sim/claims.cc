#include "plugins/tpu-sim/claims.h"

#include <array>
#include <mutex>
#include <vector>

namespace tpu_sim {
namespace {

constexpr uint8_t kRanks = FRL_MAX_RANK;
constexpr uint64_t kF32 = frl::types(FRL_F32), kBf16 = frl::types(FRL_BF16);
constexpr uint64_t kFloats = kF32 | kBf16, kLaneTypes = kFloats | frl::types(FRL_BOOL);
constexpr uint64_t kI64 = frl::types(FRL_I64), kIndex = frl::types(FRL_I32, FRL_I64);

// ---- operands: at any element; inputs by DMA in any order ----
constexpr frl_operand in(uint64_t types, uint8_t min_rank, uint8_t max_rank, uint8_t group = 1) {
  return frl::laid_out(
      frl::operand(types, min_rank, max_rank, group),
      FRL_LAYOUT_UNALIGNED | FRL_LAYOUT_ORDERED | FRL_LAYOUT_INNER | FRL_LAYOUT_STRIDED);
}
constexpr frl_operand dense(uint64_t types, uint8_t min_rank, uint8_t max_rank, uint8_t group = 1) {
  return frl::laid_out(frl::operand(types, min_rank, max_rank, group), FRL_LAYOUT_UNALIGNED);
}
constexpr frl_operand out(uint64_t types, uint8_t min_rank, uint8_t max_rank, uint8_t group = 1) {
  return frl::result(dense(types, min_rank, max_rank, group));
}
constexpr frl_operand kLane = in(kLaneTypes, 0, kRanks, 0);
constexpr frl_operand kPointwise[] = {frl::repeat(frl::broadcasting(kLane, FRL_BROADCAST_ANY)),
                                      frl::repeat(out(kLaneTypes, 0, kRanks, 0))};
constexpr frl_operand kBody[] = {frl::repeat(kLane), frl::repeat(out(kLaneTypes, 0, kRanks, 0))};
template <uint64_t types>
constexpr frl_operand kProduct[] = {in(types, 2, kRanks), in(types, 2, kRanks),
                                    out(types, 2, kRanks)};
template <uint64_t types>
constexpr frl_operand kBiased[] = {in(types, 2, kRanks), in(types, 2, kRanks),
                                   frl::optional(in(types, 1, 1)), out(types, 2, kRanks)};
constexpr frl_operand plane(uint64_t types) { return dense(types, 3, 5); }
template <uint64_t types>
constexpr frl_operand kConv[] = {plane(types), plane(types), frl::optional(in(types, 1, 1)),
                                 out(types, 3, 5)};
template <uint64_t types>
constexpr frl_operand kConvFused[] = {plane(types), plane(types), frl::optional(in(types, 1, 1)),
                                      frl::optional(plane(types)), out(types, 3, 5)};
constexpr frl_operand kMaxPool[] = {plane(kFloats), out(kFloats, 3, 5), out(kI64, 3, 5, 2)};
constexpr frl_operand kAvgPool[] = {plane(kFloats), out(kFloats, 3, 5)};
constexpr frl_operand kScales = dense(frl::types(FRL_F64), 1, 1, 2);
constexpr frl_operand kResize[] = {in(kFloats, 1, kRanks), kScales, frl::optional(kScales),
                                   out(kFloats, 1, kRanks)};
constexpr frl_operand kRow[] = {in(kFloats, 1, kRanks), out(kFloats, 1, kRanks)};
constexpr frl_operand kReduce[] = {in(kFloats, 0, kRanks), out(kFloats, 0, kRanks)};
constexpr frl_operand kPlaces[] = {in(kFloats, 1, kRanks), out(kI64, 0, kRanks, 2)};
constexpr frl_operand kFactor = frl::optional(in(kFloats, 1, kRanks));
constexpr frl_operand kLayerNorm[] = {in(kFloats, 1, kRanks), kFactor, kFactor,
                                      out(kFloats, 1, kRanks)};
constexpr frl_operand kRmsNorm[] = {in(kFloats, 1, kRanks), kFactor, out(kFloats, 1, kRanks)};
constexpr frl_operand kFloat = in(kFloats, 0, kRanks);
constexpr frl_operand kResidualLayerNorm[] = {in(kFloats, 1, kRanks), in(kFloats, 1, kRanks),
                                              kFactor, kFactor,
                                              frl::repeat(out(kFloats, 1, kRanks))};
constexpr frl_operand kResidualRmsNorm[] = {in(kFloats, 1, kRanks), in(kFloats, 1, kRanks), kFactor,
                                            frl::repeat(out(kFloats, 1, kRanks))};
constexpr frl_operand kAdaptive[] = {in(kFloats, 1, kRanks), kFloat, kFloat,
                                     out(kFloats, 1, kRanks)};
constexpr frl_operand kGroupNorm[] = {dense(kFloats, 2, 5), frl::optional(dense(kFloats, 1, 1)),
                                      frl::optional(dense(kFloats, 1, 1)), out(kFloats, 2, 5)};
constexpr frl_operand kGated[] = {kFloat, kFloat, kFloat, out(kFloats, 0, kRanks)};
template <uint64_t types>
constexpr frl_operand kWithResidual[] = {in(types, 2, kRanks), in(types, 2, kRanks),
                                         in(types, 2, kRanks), out(types, 2, kRanks)};
constexpr frl_operand kHeads = in(kFloats, 2, kRanks), kMixed = out(kFloats, 2, kRanks);
constexpr frl_operand kAttention[] = {kHeads, kHeads, kHeads, kMixed};
constexpr frl_operand kAttentionAdd[] = {kHeads, kHeads, kHeads, in(kFloats, 0, kRanks), kMixed};
constexpr frl_operand kAttentionSelect[] = {kHeads, kHeads, kHeads,
                                            in(frl::types(FRL_BOOL), 0, kRanks, 2), kMixed};
constexpr uint64_t kMovable = kFloats | frl::kInts | frl::types(FRL_BOOL);
constexpr frl_operand kAny = in(kMovable, 0, kRanks);
constexpr frl_operand kMove[] = {kAny, out(kMovable, 0, kRanks)};
constexpr frl_operand kConcat[] = {frl::repeat(in(kMovable, 1, kRanks)), out(kMovable, 1, kRanks)};
constexpr frl_operand kPad[] = {kAny, frl::optional(in(kMovable, 0, 1)), out(kMovable, 0, kRanks)};
constexpr frl_operand kGather[] = {dense(kMovable, 1, kRanks), dense(kIndex, 0, kRanks, 2),
                                   out(kMovable, 0, kRanks)};

// ---- attributes ----
template <size_t N>
constexpr frl_choice choice(uint32_t slot, const int64_t (&allowed)[N]) {
  return {slot, N, allowed};
}
constexpr int64_t kReducing[] = {FRL_OP_add, FRL_OP_mul, FRL_OP_max, FRL_OP_min};
constexpr int64_t kExtremes[] = {FRL_OP_max, FRL_OP_min};
constexpr int64_t kZero[] = {0}, kMaskFree[] = {0, 1}, kMaskAdds[] = {2}, kMaskSelects[] = {3};
constexpr frl_choice kReduceBy[] = {choice(FRL_AT_reduce_by, kReducing)};
constexpr frl_choice kArgBy[] = {choice(FRL_AT_arg_reduce_by, kExtremes)};
constexpr frl_choice kPadMode[] = {choice(FRL_AT_pad_mode, kZero)};
constexpr frl_choice kFree[] = {choice(FRL_AT_attention_mask, kMaskFree)};
constexpr frl_choice kAdds[] = {choice(FRL_AT_attention_mask, kMaskAdds)};
constexpr frl_choice kSelects[] = {choice(FRL_AT_attention_mask, kMaskSelects)};

constexpr int64_t kModeNearest[] = {0}, kModeSmooth[] = {1, 2}, kUncropped[] = {0, 1, 2, 3, 5};
constexpr frl_choice kNearest[] = {choice(FRL_AT_resize_mode, kModeNearest),
                                   choice(FRL_AT_resize_coordinate, kUncropped),
                                   choice(FRL_AT_resize_antialias, kZero)};
constexpr frl_choice kSmooth[] = {choice(FRL_AT_resize_mode, kModeSmooth),
                                  choice(FRL_AT_resize_coordinate, kUncropped),
                                  choice(FRL_AT_resize_antialias, kZero)};

// ---- members ----
constexpr uint32_t kMembers[] = {
#define LANE_OP(name, weight, expression) FRL_OP_##name,
#include "plugins/tpu-sim/lanes.def"
#undef LANE_OP
};
constexpr size_t kMembersN = std::size(kMembers);
constexpr auto kBodyMembers = [] {
  std::array<uint32_t, kMembersN + 2> ids{FRL_OP_matmul, FRL_OP_conv};
  for (size_t i = 0; i < kMembersN; ++i) ids[i + 2] = kMembers[i];
  return ids;
}();
// None, and what a lane makes of one float.
constexpr bool is_activation(uint32_t id) { return id <= FRL_OP_shrink && id != FRL_OP_cast; }
constexpr auto kActivations = [] {
  std::array<int64_t, kMembersN + 1> ids{};
  size_t n = 1;
  for (uint32_t id : kMembers)
    if (is_activation(id)) ids[n++] = id;
  return std::pair(ids, n);
}();
constexpr frl_choice activation(uint32_t slot) {
  return {slot, uint32_t(kActivations.second), kActivations.first.data()};
}
constexpr frl_choice kMatmulAct[] = {activation(FRL_AT_matmul_bias_act_activation)};
constexpr frl_choice kConvAct[] = {activation(FRL_AT_conv_bias_act_activation)};

// ---- rows ----
using frl::rows;
constexpr frl_claim chosen(frl_claim c, frl_rows choices) {
  c.choices = choices;
  return c;
}
constexpr frl_claim exact(uint32_t op, frl_rows operands, frl_rows choices = {}) {
  return chosen(frl::claim(op, operands), choices);
}
constexpr frl_claim sums(uint32_t op, frl_rows operands, uint32_t eps, frl_rows choices = {}) {
  frl_claim c = chosen(frl::claim(op, operands, FRL_ERROR_CONDITION, eps * 1000), choices);
  c.accumulate = FRL_F32;
  return c;
}
// f32 runs through the array in as many pieces as the mode wants.
constexpr frl_claim in_pieces(frl_claim c) {
  c.compute = FRL_COMPUTE_IEEE | FRL_COMPUTE_BF16X3 | FRL_COMPUTE_REDUCED;
  return c;
}
constexpr frl_claim epilogue() {
  frl_claim c = in_pieces(sums(FRL_OP_epilogue, rows(kBody), 16));
  c.members = {kBodyMembers.data(), uint32_t(kBodyMembers.size()), sizeof(uint32_t)};
  c.epilogue = rows(kMembers);
  c.max_nodes = 65, c.max_inputs = 32, c.max_outputs = 8, c.max_epilogue = 64;
  return c;
}

constexpr frl_claim kClaims[] = {
    frl::pointwise_claim(rows(kPointwise), rows(kMembers), 128, 32, 8),
    epilogue(),
    in_pieces(sums(FRL_OP_matmul, rows(kProduct<kF32>), 16)),
    sums(FRL_OP_matmul, rows(kProduct<kBf16>), 16),
    in_pieces(sums(FRL_OP_matmul_bias_act, rows(kBiased<kF32>), 16, rows(kMatmulAct))),
    sums(FRL_OP_matmul_bias_act, rows(kBiased<kBf16>), 16, rows(kMatmulAct)),
    in_pieces(sums(FRL_OP_matmul_residual, rows(kWithResidual<kF32>), 16)),
    sums(FRL_OP_matmul_residual, rows(kWithResidual<kBf16>), 16),
    in_pieces(sums(FRL_OP_conv, rows(kConv<kF32>), 16)),
    sums(FRL_OP_conv, rows(kConv<kBf16>), 16),
    in_pieces(sums(FRL_OP_conv_bias_act, rows(kConvFused<kF32>), 16, rows(kConvAct))),
    sums(FRL_OP_conv_bias_act, rows(kConvFused<kBf16>), 16, rows(kConvAct)),
    exact(FRL_OP_max_pool, rows(kMaxPool)),
    sums(FRL_OP_avg_pool, rows(kAvgPool), 8),
    exact(FRL_OP_resize, rows(kResize), rows(kNearest)),
    sums(FRL_OP_resize, rows(kResize), 8, rows(kSmooth)),
    in_pieces(sums(FRL_OP_attention, rows(kAttention), 32, rows(kFree))),
    in_pieces(sums(FRL_OP_attention, rows(kAttentionAdd), 32, rows(kAdds))),
    in_pieces(sums(FRL_OP_attention, rows(kAttentionSelect), 32, rows(kSelects))),
    frl::claim(FRL_OP_softmax, rows(kRow), FRL_ERROR_ULP, 8000),
    frl::claim(FRL_OP_log_softmax, rows(kRow), FRL_ERROR_ULP, 8000),
    sums(FRL_OP_layer_norm, rows(kLayerNorm), 8),
    sums(FRL_OP_rms_norm, rows(kRmsNorm), 8),
    sums(FRL_OP_residual_layer_norm, rows(kResidualLayerNorm), 8),
    sums(FRL_OP_residual_rms_norm, rows(kResidualRmsNorm), 8),
    sums(FRL_OP_ada_layer_norm, rows(kAdaptive), 8),
    sums(FRL_OP_group_norm, rows(kGroupNorm), 8),
    frl::claim(FRL_OP_gated_residual, rows(kGated), FRL_ERROR_ULP, 1000),
    frl::claim(FRL_OP_swiglu, rows(kRow), FRL_ERROR_ULP, 8000),
    sums(FRL_OP_reduce, rows(kReduce), 8, rows(kReduceBy)),
    exact(FRL_OP_arg_reduce, rows(kPlaces), rows(kArgBy)),
    exact(FRL_OP_reshape, rows(kMove)),
    exact(FRL_OP_transpose, rows(kMove)),
    exact(FRL_OP_broadcast, rows(kMove)),
    exact(FRL_OP_slice, rows(kMove)),
    exact(FRL_OP_concat, rows(kConcat)),
    exact(FRL_OP_pad, rows(kPad), rows(kPadMode)),
    exact(FRL_OP_gather, rows(kGather)),
};

// ---- costs ----
constexpr double kMflop = 1e6;
// Of the product of two matrices of 512 x 512, about what models have.
uint64_t ps_per_mflop(const Machine& machine, int64_t passes) {
  constexpr int64_t kSide = 512;
  const double flops = 2.0 * kSide * kSide * kSide;
  const uint64_t ps = cycles_ps(machine, systolic_cycles(machine, kSide, kSide, kSide) * passes);
  return static_cast<uint64_t>(static_cast<double>(ps) * kMflop / flops) + 1;
}

void fill_costs(Row& row) {
  constexpr int64_t kKib = 1024;
  const Machine& m = row.machine;
  frl_cost& c = row.cost_row;
  row.rates[0] = {FRL_F32, FRL_COMPUTE_IEEE, ps_per_mflop(m, 6)};
  row.rates[1] = {FRL_F32, FRL_COMPUTE_BF16X3, ps_per_mflop(m, 3)};
  row.rates[2] = {FRL_F32, FRL_COMPUTE_REDUCED, ps_per_mflop(m, 1)};
  row.rates[3] = {FRL_BF16, FRL_COMPUTE_IEEE, ps_per_mflop(m, 1)};
  // Scales of a resize: the scalar unit, one step a cycle.
  row.rates[4] = {FRL_F64, FRL_COMPUTE_IEEE, cycles_ps(m, int64_t(kMflop))};
  c.head = {sizeof c, FRL_TAG_COST};
  c.dispatch_ps = kDispatchPs, c.round_trip_ps = kRoundTripPs;
  c.memory_ps_per_kib = hbm_ps(m, kKib) + 1;
  c.to_device_ps_per_kib = c.from_device_ps_per_kib = c.readback_ps_per_kib = dma_ps(m, kKib) + 1;
  c.host_thunk_ps = kRoundTripPs, c.minimum_gain_ps = 500'000;
  c.arithmetic = rows(row.rates), c.basis = FRL_BASIS_ESTIMATED;
}

void fill_row(Row& row, std::string_view name, uint32_t state, const Machine& machine) {
  row.machine = machine;
  row.space = {FRL_SPACE_DEVICE, 256, kHbmBytes, kLargestBytes, kLargestBytes};
  fill_costs(row);
  row.name = frl::str(name), row.architecture = frl::str("systolic-128x128-bf16");
  row.driver = frl::str("0.1.0");
  row.state = state, row.flags = FRL_DEVICE_OWN_THREADS, row.max_queues = 8;
  row.dlpack_type = 12;  // an extension device, as DLPack numbers them
  row.fingerprint = 0x74707573696d0001;
  row.claims = rows(kClaims), row.spaces = {&row.space, 1, sizeof row.space};
  row.cost = &row.cost_row;
}

struct RowSet {
  Machine machine;
  Row rows[2] = {};
  explicit RowSet(const Machine& m) : machine(m) {
    fill_row(rows[0], "tpu-sim", FRL_DEVICE_PRESENT, m);
    Machine two = m;
    two.arrays = 2;
    fill_row(rows[1], "tpu-sim:two-arrays", FRL_DEVICE_PROFILE, two);
    rows[1].reason_text = frl::str("two arrays share the folds of a product");
  }
};

}  // namespace

frl_rows rows_of(const Machine& machine) {
  static std::mutex mutex;
  static std::vector<std::unique_ptr<const RowSet>> sets;
  const std::lock_guard lock(mutex);
  for (const auto& set : sets)
    if (set->machine == machine) return rows(set->rows);
  sets.push_back(std::make_unique<const RowSet>(machine));
  return rows(sets.back()->rows);
}

}  // namespace tpu_sim
