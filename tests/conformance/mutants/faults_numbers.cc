// Faults of numbers: regions rewritten before they are compiled, arguments and results touched.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <thread>

#include "tests/conformance/mutants/mutant.h"

namespace mutant {
namespace {

// All outputs of f32 and f64, element by element.
void each_float(Run& run, const std::function<double(double)>& change) {
  for (size_t i = 0; i < run.n_outputs; ++i) {
    if (auto* p = run.output<float>(i, FRL_F32))
      for (int64_t k = 0; k < run.n(i); ++k) p[k] = float(change(double(p[k])));
    if (auto* p = run.output<double>(i, FRL_F64))
      for (int64_t k = 0; k < run.n(i); ++k) p[k] = change(p[k]);
  }
}

std::vector<std::byte> zeros(const frl::Operand& o) {
  return std::vector<std::byte>(size_t(o.value.bytes()));
}

// The result's value among a region's own.
const frl_value& first_output(Edit& edit) {
  const auto& body = edit.rows<frl_body>(edit.region()->bodies)[0];
  return edit.value(edit.rows<uint32_t>(edit.region()->lists)[body.first_output]);
}

void each_input(Edit& edit, const std::function<void(frl_value&)>& change) {
  const auto& body = edit.rows<frl_body>(edit.region()->bodies)[0];
  for (uint32_t i = 0; i < body.n_inputs; ++i) {
    const uint32_t id = edit.rows<uint32_t>(edit.region()->lists)[body.first_input + i];
    if (id != FRL_NO_VALUE) change(edit.value(id));
  }
}

// Inputs of a pointwise region whose extent on one axis from the end is the result's and 1 on the
// other.
void read_first_only(Edit& edit, uint32_t varying, uint32_t fixed) {
  if (edit.region()->kind != FRL_OP_pointwise) return;
  const frl_value& out = first_output(edit);
  each_input(edit, [&](frl_value& v) {
    if (v.rank < varying || out.rank < 2) return;
    frl_dim* d = edit.dims(v) + v.rank;
    const bool rest_is_one = v.rank < fixed || d[-int(fixed)].extent == 1;
    const frl_dim* o = edit.dims(out) + out.rank;
    if (rest_is_one && d[-int(varying)].extent == o[-int(varying)].extent &&
        o[-int(fixed)].extent > 1)
      d[-int(varying)].stride = 0;
  });
}

}  // namespace

void fault_none(Hooks&) {}
void fault_stepped(Hooks& h) { h.stepped = true; }

void fault_epsilon_ignored(Hooks& h) {
  h.region = [](Edit& e) {
    const uint32_t kind = e.region()->kind;
    const uint32_t slot =
        kind == FRL_OP_layer_norm ? FRL_AT_layer_norm_epsilon : FRL_AT_rms_norm_epsilon;
    if ((kind == FRL_OP_layer_norm || kind == FRL_OP_rms_norm) && e.region()->n_attributes > slot)
      e.attribute(slot).f = 0;
  };
}

// The product once more, its bias along the other axis; with no activation or relu, which is
// enough.
void fault_bias_on_rows(Hooks& h) {
  h.after = [](Run& run) {
    if (run.region.kind() != FRL_OP_matmul_bias_act) return;
    const int64_t activation = run.region.attribute_i(FRL_AT_matmul_bias_act_activation);
    const float *x = run.operand<float>(0, FRL_F32), *w = run.operand<float>(1, FRL_F32),
                *bias = run.operand<float>(2, FRL_F32);
    float* y = run.output<float>(0, FRL_F32);
    const frl::Value out = run.region.output(0);
    if (!x || !w || !bias || !y || out.rank != 2 || out.extent(-1) != out.extent(-2)) return;
    const int64_t n = out.extent(-1), depth = run.region.operand(0).value.extent(-1);
    if (activation != 0 && activation != FRL_OP_relu) return;
    for (int64_t i = 0; i < n * n; ++i) {
      double sum = double(bias[i / n]);
      for (int64_t k = 0; k < depth; ++k)
        sum += double(x[i / n * depth + k]) * double(w[k * n + i % n]);
      y[i] = float(activation ? std::max(sum, 0.0) : sum);
    }
  };
}

void fault_last_tile_lost(Hooks& h) {
  h.after = [](Run& run) {
    if (run.region.kind() != FRL_OP_matmul) return;
    float* y = run.output<float>(0, FRL_F32);
    const int64_t n = run.n(0) ? run.region.output(0).extent(-1) : 0;
    for (int64_t i = 0; y && i < run.n(0); ++i)
      if (i % n >= n / 4 * 4) y[i] = 0;
  };
}

void fault_zero_sign_lost(Hooks& h) {
  h.after = [](Run& run) { each_float(run, [](double x) { return x == 0 ? 0.0 : x; }); };
}
void fault_nan_dropped(Hooks& h) {
  h.after = [](Run& run) { each_float(run, [](double x) { return std::isnan(x) ? 0.0 : x; }); };
}
void fault_infinity_clamped(Hooks& h) {
  h.after = [](Run& run) {
    each_float(run, [](double x) {
      return std::isinf(x) ? std::copysign(double(std::numeric_limits<float>::max()), x) : x;
    });
  };
}
void fault_denormals_flushed(Hooks& h) {
  h.after = [](Run& run) {
    for (size_t i = 0; i < run.n_outputs; ++i) {
      auto* p = run.output<float>(i, FRL_F32);
      for (int64_t k = 0; p && k < run.n(i); ++k)
        if (std::fpclassify(p[k]) == FP_SUBNORMAL) p[k] = std::copysign(0.0f, p[k]);
    }
  };
}

void fault_row_max_skipped(Hooks& h) {
  h.after = [](Run& run) {
    if (run.region.kind() != FRL_OP_softmax || run.region.attribute_i(FRL_AT_softmax_axis) != -1)
      return;
    const float* x = run.operand<float>(0, FRL_F32);
    float* y = run.output<float>(0, FRL_F32);
    if (!x || !y || run.n(0) == 0) return;
    const int64_t n = run.region.output(0).extent(-1);
    for (int64_t row = 0; row < run.n(0); row += n) {
      float sum = 0;
      for (int64_t i = row; i < row + n; ++i) sum += y[i] = std::exp(x[i]);
      for (int64_t i = row; i < row + n; ++i) y[i] /= sum;
    }
  };
}

void fault_stride_ignored(Hooks& h) {
  h.region = [](Edit& e) {
    each_input(e, [&](frl_value& v) {
      int64_t stride = 1;
      frl_dim* d = e.dims(v);
      bool backwards = false;
      for (uint32_t k = 0; k < v.rank; ++k) backwards |= d[k].stride < 0;
      // Reading forwards from the end of what is there would be a crash, not a fault of numbers.
      for (uint32_t k = v.rank; k-- > 0 && !backwards; stride *= d[k].extent)
        if (d[k].stride >= stride) d[k].stride = stride;
    });
  };
}

void fault_offset_ignored(Hooks& h) {
  h.before = [](Run& run) {
    for (size_t i = 0; i < run.n_inputs; ++i)
      run.args[i] -= reinterpret_cast<uintptr_t>(run.args[i]) % 64;
  };
}

void fault_column_misread(Hooks& h) {
  h.region = [](Edit& e) { read_first_only(e, 2, 1); };
}
void fault_row_misread(Hooks& h) {
  h.region = [](Edit& e) { read_first_only(e, 1, 2); };
}

void fault_activation_dropped(Hooks& h) {
  h.region = [](Edit& e) {
    if (e.region()->kind == FRL_OP_matmul_bias_act)
      e.attribute(FRL_AT_matmul_bias_act_activation).i = 0;
    if (e.region()->kind == FRL_OP_conv_bias_act)
      e.attribute(FRL_AT_conv_bias_act_activation).i = 0;
  };
}

void fault_slope_ignored(Hooks& h) {
  h.region = [](Edit& e) {
    if (e.region()->kind != FRL_OP_pointwise) return;
    for (uint32_t i = 0; i < e.region()->nodes.n; ++i) {
      const frl_node& node = e.rows<frl_node>(e.region()->nodes)[i];
      for (uint32_t k = 0; k < node.n_attributes && node.op != FRL_OP_cast; ++k)
        e.rows<frl_attribute>(e.region()->attributes)[node.first_attribute + k].f =
            frl::attribute_fallback(node.op, k);
    }
  };
}

void fault_residual_dropped(Hooks& h) {
  h.before = [](Run& run) {
    if (run.region.kind() == FRL_OP_conv_bias_act &&
        run.operand<std::byte>(3, run.region.operand(3).value.type))
      run.replace(3, zeros(run.region.operand(3)));
  };
}
void fault_mask_ignored(Hooks& h) {
  h.before = [](Run& run) {
    if (run.region.kind() == FRL_OP_attention &&
        run.region.attribute_i(FRL_AT_attention_mask) == 2 && run.region.operand(3).argument >= 0)
      run.replace(3, zeros(run.region.operand(3)));
  };
}

void fault_second_result_wrong(Hooks& h) {
  h.after = [](Run& run) {
    if (run.region.kind() == FRL_OP_pointwise || run.n_outputs < 2 || run.n(1) == 0) return;
    if (auto* p = run.output<int64_t>(1, FRL_I64)) p[0] += 1;
    if (auto* p = run.output<float>(1, FRL_F32)) p[0] += 1;
  };
}
void fault_second_output_wrong(Hooks& h) {
  h.after = [](Run& run) {
    if (run.region.kind() != FRL_OP_pointwise || run.n_outputs < 2 ||
        run.region.output(0).type != run.region.output(1).type)
      return;
    std::memcpy(run.args[run.n_inputs + 1], run.args[run.n_inputs],
                size_t(run.region.output(0).bytes()));
  };
}

void fault_wrap_saturates(Hooks& h) {
  h.after = [](Run& run) {
    if (!run.is(FRL_OP_add) || run.n_inputs != 2) return;
    const auto *a = run.operand<int32_t>(0, FRL_I32), *b = run.operand<int32_t>(1, FRL_I32);
    auto* y = run.output<int32_t>(0, FRL_I32);
    if (!a || !b || !y || run.region.operand(0).value.n_elements() != run.n(0) ||
        run.region.operand(1).value.n_elements() != run.n(0))
      return;
    if (!run.region.operand(0).value.is_dense() || !run.region.operand(1).value.is_dense()) return;
    for (int64_t i = 0; i < run.n(0); ++i)
      y[i] = int32_t(std::clamp<int64_t>(int64_t(a[i]) + b[i], INT32_MIN, INT32_MAX));
  };
}

void fault_narrow_cut_short(Hooks& h) {
  h.after = [](Run& run) {
    for (size_t i = 0; i < run.n_outputs; ++i) {
      auto* p = run.output<uint16_t>(i, FRL_BF16);
      for (int64_t k = 0; p && k < run.n(i); ++k)
        if ((p[k] & 0x7F80) != 0x7F80) p[k] &= 0xFFF8;  // NaN and infinity keep their class
    }
  };
}

void fault_member_lost(Hooks& h) {
  h.region = [](Edit& e) {
    if (e.region()->kind != FRL_OP_pointwise || e.region()->nodes.n < 3) return;
    frl_node& last = e.rows<frl_node>(e.region()->nodes)[e.region()->nodes.n - 1];
    const frl_value& in = e.value(e.rows<uint32_t>(e.region()->lists)[last.first_operand]);
    if (last.n_operands == 0 || in.type != e.value(last.first_result).type) return;
    last.op = FRL_OP_identity, last.n_operands = 1, last.n_attributes = 0;
  };
}

void fault_ties_go_last(Hooks& h) {
  h.region = [](Edit& e) {
    if (e.region()->kind != FRL_OP_arg_reduce) return;
    if (e.region()->n_attributes > FRL_AT_arg_reduce_last)
      e.attribute(FRL_AT_arg_reduce_last).i = 1;
    for (uint32_t i = 0; i < e.region()->nodes.n; ++i) {
      const frl_node& node = e.rows<frl_node>(e.region()->nodes)[i];
      if (node.op == FRL_OP_arg_reduce && node.n_attributes > FRL_AT_arg_reduce_last)
        e.rows<frl_attribute>(e.region()->attributes)[node.first_attribute + FRL_AT_arg_reduce_last]
            .i = 1;
    }
  };
}

void fault_sums_wander(Hooks& h) {
  h.after = [](Run& run) {
    if (run.region.kind() != FRL_OP_reduce && run.region.kind() != FRL_OP_matmul &&
        run.region.kind() != FRL_OP_softmax)
      return;
    auto* p = run.output<float>(0, FRL_F32);
    for (int64_t k = 0; p && k < run.n(0); ++k)
      if (std::isnormal(p[k]) && run.number % 2)
        p[k] = std::bit_cast<float>(std::bit_cast<uint32_t>(p[k]) ^ 1u);
  };
}

void fault_byte_past_output(Hooks& h) {
  h.after = [](Run& run) {
    const frl::Value out = run.region.output(0);
    if (out.is_dense() && out.n_elements()) run.args[run.n_inputs][out.bytes()] = std::byte{0x55};
  };
}
void fault_input_changed(Hooks& h) {
  h.after = [](Run& run) {
    if (run.n_inputs && run.region.input(0).n_elements()) run.args[0][0] ^= std::byte{0x55};
  };
}
void fault_element_unwritten(Hooks& h) {
  h.before = [](Run& run) {
    const frl::Value out = run.region.output(0);
    if (!out.is_dense() || out.n_elements() == 0) return;
    // Kept as it was before the step, and put back after it.
    const auto n = size_t(frl::element_bytes(out.type));
    const std::byte* last = run.args[run.n_inputs] + out.bytes() - int64_t(n);
    run.owned.emplace_back(last, last + n);
  };
  h.after = [](Run& run) {
    const frl::Value out = run.region.output(0);
    if (!run.owned.empty())
      std::copy(run.owned[0].begin(), run.owned[0].end(),
                run.args[run.n_inputs] + out.bytes() - int64_t(run.owned[0].size()));
  };
}

void fault_shared_scratch(Hooks& h) {
  h.after = [](Run& run) {
    static std::byte shared[1 << 20];
    const frl::Value out = run.region.output(0);
    if (!out.is_dense() || out.bytes() > int64_t(sizeof shared)) return;
    std::memcpy(shared, run.args[run.n_inputs], size_t(out.bytes()));
    // Long enough for the other threads to come by.
    for (int i = 0; i < 20; ++i) std::this_thread::yield();
    std::memcpy(run.args[run.n_inputs], shared, size_t(out.bytes()));
  };
}

}  // namespace mutant
