// Ops that move elements: DMA from one window of HBM to another.
#include <algorithm>

#include "plugins/tpu-sim/emit.h"

namespace tpu_sim {
namespace {

// Copies one index space into another.
//   from, to  with the same extents
void emit_move(Emitter& out, Window from, int64_t from_base, Window to, int64_t to_base) {
  if (to.n_elements() == 0) return;
  frl::Extents strides[] = {from.strides, to.strides};
  const uint32_t rank = merge_axes(to.extents, to.rank, strides);
  frl::Extents extents{};
  std::copy_n(to.extents.begin(), rank, extents.begin());
  for (Window* w : {&from, &to}) {
    w->rank = rank, w->extents = extents, w->strides = {};
    std::copy_n(strides[w == &to].begin(), rank, w->strides.begin());
  }
  out.emit(Move{out.window(from), out.window(to), from_base, to_base});
}

Window flat(Window w, int64_t n) {
  w.rank = 1, w.extents = {n}, w.strides = {1};
  return w;
}

// What each op makes of the operand's window: the result's index space over its elements.
int64_t shape_window(const frl::Region& region, const Window& x, const frl::Value& y, Window& w) {
  w.rank = y.rank, w.extents = y.extents, w.strides = {};
  int64_t base = 0;
  switch (region.kind()) {
    case FRL_OP_transpose: {
      const auto order = region.attribute_list(FRL_AT_transpose_order);
      for (uint32_t d = 0; d < y.rank; ++d)
        w.strides[d] = x.strides[static_cast<size_t>(int64_t(x.rank) + order[d])];
      return 0;
    }
    case FRL_OP_slice: {
      const auto starts = region.attribute_list(FRL_AT_slice_starts);
      const auto steps = region.attribute_list(FRL_AT_slice_steps);
      for (uint32_t d = 0; d < y.rank; ++d) {
        base += starts[d] * x.strides[d];
        // The step of an axis with one element may be any number, so it must not be multiplied.
        w.strides[d] = x.strides[d] * (steps.empty() || y.extents[d] <= 1 ? 1 : steps[d]);
      }
      return base;
    }
    default:
      for (uint32_t d = 0; d < x.rank; ++d)
        w.strides[y.rank - x.rank + d] = x.extents[d] == 1 ? 0 : x.strides[d];
      return 0;
  }
}

}  // namespace

void lower_move(Emitter& out) {
  const frl::Region& region = out.region();
  const frl::Operand x = region.operand(0), y = region.result(0);
  if (y.value.n_elements() == 0) return;
  const Window from = out.window_of(x);
  Window to = out.window_of(y);
  if (region.kind() == FRL_OP_reshape) {
    Window same = to;  // the operand's index space over the result's memory
    same.rank = from.rank, same.extents = from.extents;
    int64_t stride = 1;
    for (uint32_t d = from.rank; d-- > 0; stride *= from.extents[d]) same.strides[d] = stride;
    return emit_move(out, from, 0, same, 0);
  }
  Window shaped = from;
  const int64_t base = shape_window(region, from, y.value, shaped);
  emit_move(out, shaped, base, to, 0);
}

void lower_concat(Emitter& out) {
  const frl::Region& region = out.region();
  const frl::Operand y = region.result(0);
  if (y.value.n_elements() == 0) return;
  const auto axis =
      static_cast<size_t>(int64_t(y.value.rank) + region.attribute_i(FRL_AT_concat_axis));
  int64_t at = 0;
  for (size_t i = 0; i < region.n_operands(); ++i) {
    const frl::Operand x = region.operand(i);
    Window to = out.window_of(y);
    to.extents = x.value.extents;
    emit_move(out, out.window_of(x), 0, to, at * to.strides[axis]);
    at += x.value.extents[axis];
  }
}

// The fill everywhere, then what is left of the operand.
void lower_pad(Emitter& out) {
  const frl::Region& region = out.region();
  const frl::Operand x = region.operand(0), y = region.result(0);
  if (y.value.n_elements() == 0) return;
  frl::Operand fill = region.operand(1);
  std::vector<std::byte> zero(size_t(frl::element_bytes(y.value.type)));
  if (!fill.present()) {
    fill.value.type = y.value.type, fill.value.id = y.value.id;
    fill.value.literal = zero;
  }
  const Window to = out.window_of(y);
  Window filling = out.window_of(fill);
  filling.rank = to.rank, filling.extents = to.extents, filling.strides = {};
  emit_move(out, filling, 0, to, 0);
  const auto begins = region.attribute_list(FRL_AT_pad_begins);
  Window from = out.window_of(x), target = to;
  int64_t from_base = 0, to_base = 0;
  for (uint32_t d = 0; d < to.rank; ++d) {
    const int64_t begin = begins.empty() ? 0 : begins[d];
    const int64_t first = std::max<int64_t>(-begin, 0);
    const int64_t last = std::min(from.extents[d], to.extents[d] - begin);
    from_base += first * from.strides[d], to_base += std::max<int64_t>(begin, 0) * to.strides[d];
    target.extents[d] = std::max<int64_t>(last - first, 0);
  }
  from.extents = target.extents;
  emit_move(out, from, from_base, target, to_base);
}

void lower_gather(Emitter& out) {
  const frl::Region& region = out.region();
  const frl::Operand x = region.operand(0), indices = region.operand(1), y = region.result(0);
  if (y.value.n_elements() == 0) return;
  const auto axis =
      static_cast<uint32_t>(int64_t(x.value.rank) + region.attribute_i(FRL_AT_gather_axis));
  Take take{};
  take.outer = take.inner = 1;
  for (uint32_t d = 0; d < axis; ++d) take.outer *= x.value.extents[d];
  for (uint32_t d = axis + 1; d < x.value.rank; ++d) take.inner *= x.value.extents[d];
  take.extent = x.value.extents[axis], take.n_indices = indices.value.n_elements();
  take.from = out.window(flat(out.window_of(x), x.value.n_elements()));
  Window chosen = out.window_of(indices);
  if (chosen.argument < 0 && chosen.rank > 0 && chosen.strides[0] == 0 && take.n_indices > 1)
    throw frl::Failure(FRL_NO_LAYOUT, "gather: want indices that are written out");
  take.indices = out.window(flat(chosen, take.n_indices));
  take.to = out.window(flat(out.window_of(y), y.value.n_elements()));
  out.emit(take);
}

}  // namespace tpu_sim
