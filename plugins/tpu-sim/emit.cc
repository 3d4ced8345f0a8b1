#include "plugins/tpu-sim/emit.h"

#include <algorithm>
#include <cstring>

namespace tpu_sim {

BufferId Emitter::buffer(int64_t words) {
  const int64_t size = round_up(std::max<int64_t>(words, 1), kBufferWords);
  if (size > free_words())
    throw frl::Failure(FRL_NO_ROOM, "vmem: want " + std::to_string(program_.words + size) +
                                        " words, got " + std::to_string(machine_.vmem_words()));
  program_.buffers.push_back({program_.words, size});
  program_.words += size;
  return static_cast<BufferId>(program_.buffers.size() - 1);
}

WindowId Emitter::window(const Window& window) {
  const auto found = std::find(program_.windows.begin(), program_.windows.end(), window);
  const auto id = static_cast<WindowId>(found - program_.windows.begin());
  if (found == program_.windows.end()) program_.windows.push_back(window);
  return id;
}

uint32_t Emitter::geometry(const Geometry& geometry) {
  program_.geometries.push_back(geometry);
  return static_cast<uint32_t>(program_.geometries.size() - 1);
}

Window Emitter::window_of(const frl::Operand& operand) {
  const frl::Value& v = operand.value;
  Window out{operand.argument, 0, v.type, v.rank, v.extents, v.strides};
  if (operand.argument >= 0) return out;
  int64_t stride = 1;
  for (uint32_t d = v.rank; d-- > 0; stride *= v.extents[d]) out.strides[d] = stride;
  const bool splat = v.literal.size() == size_t(frl::element_bytes(v.type)) && v.n_elements() > 1;
  if (splat) out.strides = {};
  out.literal = static_cast<uint32_t>(program_.literals.size());
  program_.literals.emplace_back(v.literal.begin(), v.literal.end());
  return out;
}

void Emitter::load(BufferId to, WindowId from, int64_t base) {
  emit(Load{to, from, base, 0, program_.windows[from].n_elements()});
}
void Emitter::store(BufferId from, WindowId to, int64_t base) {
  emit(Store{from, to, base, 0, program_.windows[to].n_elements()});
}

BufferId Emitter::scalar(float value) {
  for (const auto& [known, id] : scalars_)
    if (std::memcmp(&known, &value, sizeof value) == 0) return id;
  const BufferId id = buffer(1);
  emit(Fill{id, 1, value});
  scalars_.emplace_back(value, id);
  return id;
}

Program Emitter::finish() && {
  schedule(machine_, program_);
  return std::move(program_);
}

frl::Extents strides_over(const frl::Value& v, const frl::Extents& strides, uint32_t rank) {
  frl::Extents out{};
  for (uint32_t d = 0; d < v.rank; ++d) out[rank - v.rank + d] = v.extents[d] == 1 ? 0 : strides[d];
  return out;
}

uint32_t merge_axes(frl::Extents& extents, uint32_t rank, std::span<frl::Extents> strides) {
  uint32_t kept = 0;
  for (uint32_t d = 0; d < rank; ++d) {
    const int64_t extent = extents[d];
    if (extent == 1) continue;
    bool joins = kept > 0;
    for (const frl::Extents& s : strides) joins = joins && s[kept - 1] == s[d] * extent;
    if (!joins) extents[kept++] = 1;
    extents[kept - 1] *= extent;
    for (frl::Extents& s : strides) s[kept - 1] = s[d];
  }
  return kept;
}

namespace {

struct LowerRow {
  uint32_t kind;
  void (*lower)(Emitter& out);
};
constexpr LowerRow kRows[] = {
    {FRL_OP_pointwise, lower_pointwise},
    {FRL_OP_matmul, lower_product},
    {FRL_OP_matmul_bias_act, lower_product},
    {FRL_OP_epilogue, lower_product},
    {FRL_OP_matmul_residual, lower_product},
    {FRL_OP_gated_residual, lower_pointwise},
    {FRL_OP_swiglu, lower_swiglu},
    {FRL_OP_residual_layer_norm, lower_norm},
    {FRL_OP_residual_rms_norm, lower_norm},
    {FRL_OP_ada_layer_norm, lower_norm},
    {FRL_OP_group_norm, lower_norm},
    {FRL_OP_conv, lower_product},
    {FRL_OP_conv_bias_act, lower_product},
    {FRL_OP_max_pool, lower_pool},
    {FRL_OP_avg_pool, lower_pool},
    {FRL_OP_resize, lower_resize},
    {FRL_OP_softmax, lower_softmax},
    {FRL_OP_log_softmax, lower_softmax},
    {FRL_OP_layer_norm, lower_norm},
    {FRL_OP_rms_norm, lower_norm},
    {FRL_OP_reduce, lower_reduce},
    {FRL_OP_arg_reduce, lower_reduce},
    {FRL_OP_attention, lower_attention},
    {FRL_OP_reshape, lower_move},
    {FRL_OP_transpose, lower_move},
    {FRL_OP_broadcast, lower_move},
    {FRL_OP_slice, lower_move},
    {FRL_OP_concat, lower_concat},
    {FRL_OP_pad, lower_pad},
    {FRL_OP_gather, lower_gather},
};

}  // namespace

Program lower(const Machine& machine, const frl::Region& region) {
  for (const LowerRow& row : kRows) {
    if (row.kind != region.kind()) continue;
    Emitter out(machine, region);
    row.lower(out);
    return std::move(out).finish();
  }
  throw frl::Failure(FRL_NOT_CLAIMED, std::string("region: want a claimed kind, got ") +
                                          frl::op_name(region.kind()));
}

}  // namespace tpu_sim
