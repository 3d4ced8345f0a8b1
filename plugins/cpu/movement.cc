// Ops that only move elements: reshape, transpose, broadcast, slice, concat, pad, trilu.
#include <algorithm>
#include <cstring>

#include "plugins/cpu/copy.h"

namespace cpu {
namespace {

frl::Extents strides_of(const frl::Operand& o) {
  return o.argument < 0 ? dense_strides(o.value) : o.value.strides;
}

KernelPtr copy_kernel(const frl::Operand& x, const frl::Operand& y, CopyPlan plan) {
  return make_kernel(
      [plan = std::move(plan), from = Place(x), to = Place(y)](const frl::Call& call) {
        plan.run(call.host, to.at(call), from.at(call));
      });
}

}  // namespace

KernelPtr make_reshape(const Context&, const Request& region) {
  const frl::Operand x = region.operand(0), y = region.result(0);
  const frl::Value& v = x.value;
  const CopyPlan plan(v.shape(), strides_of(x), dense_strides(v), frl::element_bytes(v.type));
  auto kernel = make_kernel([plan, from = Place(x), to = Place(y)](const frl::Call& call) {
    if (from.at(call) != to.at(call)) plan.run(call.host, to.at(call), from.at(call));
  });
  if (x.argument >= 0 && v.is_dense()) kernel->aliases = {{0, 0}};
  return kernel;
}

KernelPtr make_transpose(const Context&, const Request& region) {
  const frl::Operand x = region.operand(0), y = region.result(0);
  const std::vector<int64_t> order = region.attribute_list(FRL_AT_transpose_order);
  const frl::Extents strides = strides_of(x);
  frl::Extents source{};
  for (size_t d = 0; d < y.value.rank; ++d) source[d] = strides[axis_index(x.value, order[d])];
  return copy_kernel(
      x, y,
      CopyPlan(y.value.shape(), source, dense_strides(y.value), frl::element_bytes(x.value.type)));
}

KernelPtr make_broadcast(const Context&, const Request& region) {
  const frl::Operand x = region.operand(0), y = region.result(0);
  const frl::Extents strides = strides_of(x);
  frl::Extents source{};
  for (size_t d = 0; d < x.value.rank; ++d)
    source[d + y.value.rank - x.value.rank] = x.value.extents[d] == 1 ? 0 : strides[d];
  return copy_kernel(
      x, y,
      CopyPlan(y.value.shape(), source, dense_strides(y.value), frl::element_bytes(x.value.type)));
}

KernelPtr make_slice(const Context&, const Request& region) {
  const frl::Operand x = region.operand(0), y = region.result(0);
  const std::vector<int64_t> starts = region.attribute_list(FRL_AT_slice_starts);
  const std::vector<int64_t> steps = region.attribute_list(FRL_AT_slice_steps);
  const frl::Extents strides = strides_of(x);
  frl::Extents source{};
  int64_t offset = 0;
  for (size_t d = 0; d < y.value.rank; ++d) {
    source[d] = strides[d] * (steps.empty() ? 1 : steps[d]);
    offset += strides[d] * starts[d];
  }
  CopyPlan plan(y.value.shape(), source, dense_strides(y.value), frl::element_bytes(x.value.type));
  plan.source_offset = offset;
  return copy_kernel(x, y, std::move(plan));
}

KernelPtr make_concat(const Context&, const Request& region) {
  struct Part {
    Place from;
    CopyPlan plan;
  };
  const frl::Operand y = region.result(0);
  const size_t axis = axis_index(y.value, region.attribute_i(FRL_AT_concat_axis));
  const frl::Extents target = dense_strides(y.value);
  std::vector<Part> parts;
  int64_t offset = 0;
  for (size_t i = 0; i < region.n_operands(); ++i) {
    const frl::Operand x = region.operand(i);
    Part part{Place(x),
              CopyPlan(x.value.shape(), strides_of(x), target, frl::element_bytes(y.value.type))};
    part.plan.target_offset = offset;
    offset += x.value.extents[axis] * target[axis];
    parts.push_back(std::move(part));
  }
  return make_kernel([parts = std::move(parts), to = Place(y)](const frl::Call& call) {
    for (const Part& part : parts) part.plan.run(call.host, to.at(call), part.from.at(call));
  });
}

namespace {

// Where element `i` of a padded axis comes from; -1: the fill.
int64_t padded_source(int64_t i, int64_t n, int64_t mode) {
  if (i >= 0 && i < n) return i;
  if (mode == 0 || n == 0) return -1;
  if (mode == 2) return std::clamp<int64_t>(i, 0, n - 1);
  if (mode == 3) return (i % n + n) % n;
  if (n == 1) return 0;
  const int64_t period = 2 * (n - 1), k = (i % period + period) % period;
  return k < n ? k : period - k;
}

struct Pad {
  frl::Value x, y;
  std::vector<std::vector<int64_t>> source;  // per axis, by result index

  // Rows [begin, end) of the result: runs of neighbouring sources are copied as one.
  template <class T>
  void rows(T* to, const T* from, T fill, int64_t begin, int64_t end) const {
    const size_t last = y.rank - 1;
    const frl::Extents strides = dense_strides(x);
    const std::vector<int64_t>& map = source[last];
    const int64_t n = y.extents[last];
    for (int64_t row = begin; row < end; ++row) {
      int64_t offset = 0, rest = row;
      bool inside = true;
      for (size_t d = last; d-- > 0; rest /= y.extents[d]) {
        const int64_t s = source[d][static_cast<size_t>(rest % y.extents[d])];
        inside &= s >= 0;
        offset += s * strides[d];
      }
      T* out = to + row * n;
      if (!inside) {
        std::fill_n(out, n, fill);
        continue;
      }
      for (int64_t i = 0; i < n;) {
        const int64_t s = map[static_cast<size_t>(i)];
        if (s < 0) {
          out[i++] = fill;
          continue;
        }
        int64_t run = 1;
        while (i + run < n && map[static_cast<size_t>(i + run)] == s + run) ++run;
        std::memcpy(out + i, from + offset + s, static_cast<size_t>(run) * sizeof(T));
        i += run;
      }
    }
  }
};

}  // namespace

KernelPtr make_pad(const Context&, const Request& region) {
  const frl::Operand x = region.operand(0), fill = region.operand(1), y = region.result(0);
  Pad pad{x.value, y.value, {}};
  const std::vector<int64_t> begins = region.attribute_list(FRL_AT_pad_begins);
  const int64_t mode = region.attribute_i(FRL_AT_pad_mode);
  for (size_t d = 0; d < y.value.rank; ++d) {
    std::vector<int64_t> map(static_cast<size_t>(y.value.extents[d]));
    for (size_t i = 0; i < map.size(); ++i)
      map[i] = padded_source(static_cast<int64_t>(i) - begins[d], x.value.extents[d], mode);
    pad.source.push_back(std::move(map));
  }
  return with_size(y.value.type, [&]<class T>(T) {
    return make_kernel(
        [pad, from = Place(x), with = Place(fill), to = Place(y)](const frl::Call& call) {
          const T value = with.present() ? *with.in<T>(call) : T{0};
          if (pad.y.rank == 0) {
            *to.out<T>(call) = *from.in<T>(call);
            return;
          }
          const int64_t n = pad.y.extents[pad.y.rank - 1];
          if (n == 0) return;
          frl::for_slices(call.host, pad.y.n_elements() / n,
                          touch_ns(static_cast<double>(n) * sizeof(T)) + 10, 0,
                          [&](int64_t begin, int64_t end, void*) {
                            pad.rows(to.out<T>(call), from.in<T>(call), value, begin, end);
                          });
        });
  });
}

KernelPtr make_trilu(const Context&, const Request& region) {
  const frl::Operand x = region.operand(0), y = region.result(0);
  const bool upper = region.attribute_i(FRL_AT_trilu_upper) != 0;
  const int64_t n = y.value.extent(-1), m = y.value.extent(-2);
  const int64_t k = std::clamp(region.attribute_i(FRL_AT_trilu_k), -m, n);  // beyond: the same
  return with_size(y.value.type, [&]<class T>(T) {
    return make_kernel([=, rows = y.value.n_elements(), from = Place(x),
                        to = Place(y)](const frl::Call& call) {
      if (rows == 0) return;
      frl::for_slices(
          call.host, rows / n, touch_ns(static_cast<double>(n) * sizeof(T)) + 2, 0,
          [&](int64_t begin, int64_t end, void*) {
            for (int64_t row = begin; row < end; ++row) {
              // Upper keeps columns from the cut on, lower those up to it.
              const int64_t cut = std::clamp<int64_t>(row % m + k + (upper ? 0 : 1), 0, n);
              const T* in = from.in<T>(call) + row * n;
              T* out = to.out<T>(call) + row * n;
              const auto keep = [&](int64_t a, int64_t b) { std::copy(in + a, in + b, out + a); };
              const auto zero = [&](int64_t a, int64_t b) { std::fill(out + a, out + b, T{0}); };
              upper ? zero(0, cut) : keep(0, cut);
              upper ? keep(cut, n) : zero(cut, n);
            }
          });
    });
  });
}

}  // namespace cpu
