// What the integer attributes of each op may be, beside what its shape rule checks with the shapes.
#include "core/base/text.h"
#include "core/op/refuse.h"
#include "core/op/rules.h"

namespace ferrule {
namespace {

constexpr uint64_t kAdd = FRL_BIT(FRL_OP_add), kMul = FRL_BIT(FRL_OP_mul),
                   kMax = FRL_BIT(FRL_OP_max), kMin = FRL_BIT(FRL_OP_min), kReplace = FRL_BIT(0);
constexpr uint64_t kFlag = 3;

// The bits 0 .. n - 1.
constexpr uint64_t below(uint64_t n) { return FRL_BIT(n) - 1; }

// Values of 0 .. 63 that an attribute may have.
struct SetRow {
  OpId op;
  uint32_t slot;
  uint64_t set;
};
constexpr SetRow kSets[] = {
    {FRL_OP_pad, FRL_AT_pad_mode, below(4)},
    {FRL_OP_scatter_elements, FRL_AT_scatter_elements_by, kReplace | kAdd | kMul | kMax | kMin},
    {FRL_OP_scatter_nd, FRL_AT_scatter_nd_by, kReplace | kAdd | kMul | kMax | kMin},
    {FRL_OP_trilu, FRL_AT_trilu_upper, kFlag},
    {FRL_OP_reduce, FRL_AT_reduce_by, kAdd | kMul | kMax | kMin},
    {FRL_OP_reduce, FRL_AT_reduce_keep, kFlag},
    {FRL_OP_arg_reduce, FRL_AT_arg_reduce_by, kMax | kMin},
    {FRL_OP_arg_reduce, FRL_AT_arg_reduce_keep, kFlag},
    {FRL_OP_arg_reduce, FRL_AT_arg_reduce_last, kFlag},
    {FRL_OP_cumulative, FRL_AT_cumulative_by, kAdd | kMul | kMax | kMin},
    {FRL_OP_cumulative, FRL_AT_cumulative_exclusive, kFlag},
    {FRL_OP_cumulative, FRL_AT_cumulative_reverse, kFlag},
    {FRL_OP_topk, FRL_AT_topk_largest, kFlag},
    {FRL_OP_max_pool, FRL_AT_max_pool_ceil, kFlag},
    {FRL_OP_avg_pool, FRL_AT_avg_pool_ceil, kFlag},
    {FRL_OP_avg_pool, FRL_AT_avg_pool_count_pads, kFlag},
    {FRL_OP_resize, FRL_AT_resize_mode, below(3)},
    {FRL_OP_resize, FRL_AT_resize_coordinate, below(6)},
    {FRL_OP_resize, FRL_AT_resize_nearest, below(4)},
    {FRL_OP_resize, FRL_AT_resize_exclude_outside, kFlag},
    {FRL_OP_resize, FRL_AT_resize_antialias, kFlag},
    {FRL_OP_grid_sample, FRL_AT_grid_sample_mode, below(3)},
    {FRL_OP_grid_sample, FRL_AT_grid_sample_padding, below(3)},
    {FRL_OP_grid_sample, FRL_AT_grid_sample_align_corners, kFlag},
    {FRL_OP_roi_align, FRL_AT_roi_align_by, kAdd | kMax},
    {FRL_OP_roi_align, FRL_AT_roi_align_half_pixel, kFlag},
    {FRL_OP_lstm, FRL_AT_lstm_direction, below(3)},
    {FRL_OP_lstm, FRL_AT_lstm_input_forget, kFlag},
    {FRL_OP_gru, FRL_AT_gru_direction, below(3)},
    {FRL_OP_gru, FRL_AT_gru_linear_before_reset, kFlag},
    {FRL_OP_rnn, FRL_AT_rnn_direction, below(3)},
    {FRL_OP_unique, FRL_AT_unique_sorted, kFlag},
    {FRL_OP_non_max_suppression, FRL_AT_non_max_suppression_centre, kFlag},
    {FRL_OP_dft, FRL_AT_dft_inverse, kFlag},
    {FRL_OP_dft, FRL_AT_dft_onesided, kFlag},
    {FRL_OP_attention, FRL_AT_attention_mask, below(4)},
};

// The same as a range.
struct RangeRow {
  OpId op;
  uint32_t slot;
  int64_t lo, hi;
};
constexpr RangeRow kRanges[] = {
    {FRL_OP_conv, FRL_AT_conv_groups, 1, kMaxWindow},
    {FRL_OP_conv_transpose, FRL_AT_conv_transpose_groups, 1, kMaxWindow},
    {FRL_OP_conv_bias_act, FRL_AT_conv_bias_act_groups, 1, kMaxWindow},
    {FRL_OP_roi_align, FRL_AT_roi_align_height, 1, kMaxWindow},
    {FRL_OP_roi_align, FRL_AT_roi_align_width, 1, kMaxWindow},
    // Its square is how many samples each result element takes.
    {FRL_OP_roi_align, FRL_AT_roi_align_sampling_ratio, 0, 128},
    {FRL_OP_non_max_suppression, FRL_AT_non_max_suppression_max_per_class, 0, INT64_MAX},
    {FRL_OP_layer_norm, FRL_AT_layer_norm_axes_n, 1, kMaxRank},
    {FRL_OP_rms_norm, FRL_AT_rms_norm_axes_n, 1, kMaxRank},
};

constexpr uint32_t kActivations[][2] = {
    {FRL_OP_matmul_bias_act, FRL_AT_matmul_bias_act_activation},
    {FRL_OP_conv_bias_act, FRL_AT_conv_bias_act_activation},
};

}  // namespace

Status check_attributes(const OpCall& call) {
  const OpId op = call.row.id;
  const auto schema = attribute_rows(op);
  if (call.attributes.size() != schema.size())
    return Status(Code::internal, cat(call.row.name, ": want ", schema.size(), " attributes, got ",
                                      call.attributes.size()));
  const auto refuse_value = [&](uint32_t slot, std::string_view want) {
    return refuse(call, cat(schema[slot].name, " ", want), std::to_string(call.attributes.i(slot)));
  };
  for (const SetRow& row : kSets) {
    if (row.op != op) continue;
    const int64_t value = call.attributes.i(row.slot);
    if (value < 0 || value > 63 || !(row.set >> value & 1))
      return refuse_value(row.slot, "of its list of choices");
  }
  for (const RangeRow& row : kRanges) {
    const int64_t value = row.op == op ? call.attributes.i(row.slot) : row.lo;
    if (value < row.lo || value > row.hi)
      return refuse_value(row.slot, cat("in ", row.lo, " .. ", row.hi));
  }
  for (const auto& row : kActivations) {
    const int64_t value = row[0] == op ? call.attributes.i(row[1]) : 0;
    if (value && !activation_row(value))
      return refuse_value(row[1], "that is a pointwise op of one float");
  }
  return {};
}

}  // namespace ferrule
