// Ops whose places come from an operand: gather, gather_elements, gather_nd, and their scatters.
#include <algorithm>
#include <cstring>

#include "plugins/cpu/kernels.h"

namespace cpu {
namespace {

// Indices of i32 or i64, negative ones counted from the end.
struct Indices {
  Place place;
  bool wide;
  explicit Indices(const frl::Operand& o) : place(o), wide(o.value.type == FRL_I64) {}

  int64_t at(const frl::Call& call, int64_t i, int64_t extent, const char* op) const {
    const int64_t raw = wide ? place.in<int64_t>(call)[i] : place.in<int32_t>(call)[i];
    const int64_t index = raw < 0 ? raw + extent : raw;
    if (index < 0 || index >= extent)
      throw frl::Failure(FRL_INVALID, std::string(op) + ": want an index within " +
                                          std::to_string(extent) + ", got " + std::to_string(raw));
    return index;
  }
};

// Start of the slice that row `row` of the last axis of `indices` names: depth indices into the
// axes of x behind `batch`.
struct NdPlaces {
  Indices indices;
  frl::Extents extents{}, strides{};
  int64_t depth, batch_rows, batch_stride;
  size_t batch;

  NdPlaces(const frl::Operand& i, const frl::Value& x, size_t batch_axes)
      : indices(i),
        extents(x.extents),
        strides(dense_strides(x)),
        depth(i.value.extent(-1)),
        batch_rows(1),
        batch_stride(1),
        batch(batch_axes) {
    for (size_t d = batch; d + 1 < i.value.rank; ++d) batch_rows *= i.value.extents[d];
    for (size_t d = batch; d < x.rank; ++d) batch_stride *= x.extents[d];
  }
  int64_t at(const frl::Call& call, int64_t row, const char* op) const {
    int64_t offset = batch_rows ? row / batch_rows * batch_stride : 0;
    for (int64_t k = 0; k < depth; ++k) {
      const size_t axis = batch + static_cast<size_t>(k);
      offset += indices.at(call, row * depth + k, extents[axis], op) * strides[axis];
    }
    return offset;
  }
};

// Elements of a tensor's axes [from, ..).
int64_t tail(const frl::Value& v, size_t from) {
  int64_t n = 1;
  for (size_t d = from; d < v.rank; ++d) n *= v.extents[d];
  return n;
}

// target = target by value, for `by` 0 (replace) or an op's id.
template <class T>
void combine(T& target, T value, int64_t by) {
  using C = Compute<T>;
  const C a = load(target), b = load(value);
  switch (by) {
    case FRL_OP_add:
      target = store<T>(static_cast<C>(a + b));
      return;
    case FRL_OP_mul:
      // Through unsigned, because products of narrow types would be computed as int.
      if constexpr (std::is_integral_v<C>)
        target = static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
      else
        target = store<T>(a * b);
      return;
    case FRL_OP_max:
      target = a > b || a != a ? target : value;
      return;
    case FRL_OP_min:
      target = a < b || a != a ? target : value;
      return;
    default:
      target = value;
      return;
  }
}

void copy_whole(const frl::Call& call, const Place& from, const Place& to, int64_t bytes) {
  if (from.at(call) != to.at(call) && bytes > 0)
    std::memcpy(to.at(call), from.at(call), static_cast<size_t>(bytes));
}

KernelPtr over_first_input(KernelPtr kernel, const frl::Operand& x) {
  if (x.argument == 0) kernel->aliases = {{0, 0}};
  return kernel;
}

}  // namespace

KernelPtr make_gather(const Context&, const Request& region) {
  const frl::Operand x = region.operand(0), i = region.operand(1), y = region.result(0);
  const Split s = split_at(x.value, axis_index(x.value, region.attribute_i(FRL_AT_gather_axis)));
  const int64_t n = i.value.n_elements(), bytes = s.inner * frl::element_bytes(x.value.type);
  return make_kernel([=, from = Place(x), to = Place(y),
                      indices = Indices(i)](const frl::Call& call) {
    frl::for_slices(call.host, s.outer * n, touch_ns(2.0 * static_cast<double>(bytes)) + 3, 0,
                    [&](int64_t begin, int64_t end, void*) {
                      for (int64_t k = begin; k < end; ++k) {
                        const int64_t place = k / n * s.n + indices.at(call, k % n, s.n, "gather");
                        std::memcpy(to.at(call) + k * bytes, from.at(call) + place * bytes,
                                    static_cast<size_t>(bytes));
                      }
                    });
  });
}

KernelPtr make_gather_elements(const Context&, const Request& region) {
  const frl::Operand x = region.operand(0), i = region.operand(1), y = region.result(0);
  const size_t axis = axis_index(x.value, region.attribute_i(FRL_AT_gather_elements_axis));
  const frl::Extents strides = dense_strides(x.value);
  return with_size(x.value.type, [&]<class T>(T) {
    return make_kernel([=, v = i.value, extent = x.value.extents[axis], from = Place(x),
                        to = Place(y), indices = Indices(i)](const frl::Call& call) {
      const size_t last = v.rank - 1;
      const int64_t width = v.extents[last], step = axis == last ? 0 : strides[last];
      frl::for_slices(call.host, v.n_elements(), 3, 0, [&](int64_t begin, int64_t end, void*) {
        for (int64_t k = begin, stop; k < end; k = stop) {  // a row, or what of it is in the slice
          stop = std::min(end, (k / width + 1) * width);
          int64_t base = k % width * step, rest = k / width;
          for (size_t d = last; d-- > 0; rest /= v.extents[d])
            if (d != axis) base += rest % v.extents[d] * strides[d];
          const T* x = from.in<T>(call) + base;
          for (int64_t i = k; i < stop; ++i, x += step)
            to.out<T>(call)[i] = x[indices.at(call, i, extent, "gather_elements") * strides[axis]];
        }
      });
    });
  });
}

KernelPtr make_gather_nd(const Context&, const Request& region) {
  const frl::Operand x = region.operand(0), i = region.operand(1), y = region.result(0);
  const size_t batch = static_cast<size_t>(region.attribute_i(FRL_AT_gather_nd_batch_axes));
  const NdPlaces places(i, x.value, batch);
  const int64_t slice = tail(x.value, batch + static_cast<size_t>(places.depth));
  const int64_t width = frl::element_bytes(x.value.type);
  const int64_t rows = slice ? y.value.n_elements() / slice : 0;
  return make_kernel([=, from = Place(x), to = Place(y)](const frl::Call& call) {
    frl::for_slices(call.host, rows, touch_ns(2.0 * static_cast<double>(slice * width)) + 5, 0,
                    [&](int64_t begin, int64_t end, void*) {
                      for (int64_t row = begin; row < end; ++row)
                        std::memcpy(to.at(call) + row * slice * width,
                                    from.at(call) + places.at(call, row, "gather_nd") * width,
                                    static_cast<size_t>(slice * width));
                    });
  });
}

KernelPtr make_scatter_elements(const Context&, const Request& region) {
  const frl::Operand x = region.operand(0), i = region.operand(1), u = region.operand(2),
                     y = region.result(0);
  const size_t axis = axis_index(x.value, region.attribute_i(FRL_AT_scatter_elements_axis));
  const int64_t by = region.attribute_i(FRL_AT_scatter_elements_by);
  const frl::Extents strides = dense_strides(x.value);
  return over_first_input(
      with_type(
          x.value.type,
          [&]<class T>(T) {
            return make_kernel([=, v = i.value, bytes = x.value.bytes(),
                                extent = x.value.extents[axis], from = Place(x), updates = Place(u),
                                to = Place(y), indices = Indices(i)](const frl::Call& call) {
              copy_whole(call, from, to, bytes);
              T* out = to.out<T>(call);
              for (int64_t k = 0, n = v.n_elements(); k < n; ++k) {
                int64_t offset = indices.at(call, k, extent, "scatter_elements") * strides[axis];
                for (size_t d = v.rank, rest = static_cast<size_t>(k); d-- > 0;) {
                  const size_t e = static_cast<size_t>(v.extents[d]);
                  if (d != axis) offset += static_cast<int64_t>(rest % e) * strides[d];
                  rest /= e;
                }
                combine(out[offset], updates.in<T>(call)[k], by);
              }
            });
          }),
      x);
}

KernelPtr make_scatter_nd(const Context&, const Request& region) {
  const frl::Operand x = region.operand(0), i = region.operand(1), u = region.operand(2),
                     y = region.result(0);
  const int64_t by = region.attribute_i(FRL_AT_scatter_nd_by);
  const NdPlaces places(i, x.value, 0);
  const int64_t slice = tail(x.value, static_cast<size_t>(places.depth));
  const int64_t rows = slice ? u.value.n_elements() / slice : 0;
  return over_first_input(
      with_type(x.value.type,
                [&]<class T>(T) {
                  return make_kernel([=, bytes = x.value.bytes(), from = Place(x),
                                      updates = Place(u), to = Place(y)](const frl::Call& call) {
                    copy_whole(call, from, to, bytes);
                    for (int64_t row = 0; row < rows; ++row) {
                      T* out = to.out<T>(call) + places.at(call, row, "scatter_nd");
                      const T* in = updates.in<T>(call) + row * slice;
                      if (by == 0)
                        std::copy_n(in, slice, out);
                      else
                        for (int64_t k = 0; k < slice; ++k) combine(out[k], in[k], by);
                    }
                  });
                }),
      x);
}

}  // namespace cpu
