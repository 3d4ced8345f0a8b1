// Reductions over axes, and running ones along an axis.
#include <algorithm>
#include <cstring>

#include "plugins/cpu/kernels.h"

namespace cpu {
namespace {

// Accumulation in W (f64 or 64-bit integers) by one of the combining ops.
template <class W>
struct Combine {
  int64_t by;

  W operator()(W a, W b) const {
    switch (by) {
      case FRL_OP_mul:
        return a * b;
      case FRL_OP_max:
        return a > b || a != a ? a : b;
      case FRL_OP_min:
        return a < b || a != a ? a : b;
      default:
        return a + b;
    }
  }
};
// What elements of type T are accumulated in: signed and unsigned 64 bits wrap alike, but compare
// differently.
template <class T>
using Wide = std::conditional_t<kIsFloat<T>, double,
                                std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>;

template <class T>
Wide<T> neutral(int64_t by) {
  using W = Wide<T>;
  if (by == FRL_OP_mul) return 1;
  if (by != FRL_OP_max && by != FRL_OP_min) return 0;
  if constexpr (kIsFloat<T>)
    return by == FRL_OP_max ? -INFINITY : INFINITY;
  else
    return static_cast<W>(by == FRL_OP_max ? std::numeric_limits<T>::lowest()
                                           : std::numeric_limits<T>::max());
}
template <class T>
Wide<T> widen(T x) {
  return static_cast<Wide<T>>(load(x));
}
// Bool keeps the lowest bit.
template <class T>
T narrow(Wide<T> x, bool is_bool) {
  if constexpr (std::is_same_v<T, uint8_t>)
    if (is_bool) return static_cast<T>(x & 1);
  return store<T>(x);
}

// The operand's axes, merged where neighbours are both reduced or both kept, as
// [kept, reduced, kept, reduced, ..]; extents may be 1.
struct Pattern {
  std::vector<int64_t> kept, reduced;  // pairs; strides follow from the extents

  Pattern(const frl::Value& x, const std::vector<int64_t>& axes) {
    std::vector<bool> gone(x.rank, false);
    for (int64_t a : axes) gone[axis_index(x, a)] = true;
    bool last = true;
    for (size_t d = 0; d < x.rank; ++d) {
      if (x.extents[d] == 1) continue;
      if (!gone[d] && last) kept.push_back(1), reduced.push_back(1);
      if (kept.empty()) kept.push_back(1), reduced.push_back(1);
      (gone[d] ? reduced : kept).back() *= x.extents[d];
      last = gone[d];
    }
    if (kept.empty()) kept.push_back(1), reduced.push_back(1);
  }
};

// [rows, n] -> [rows]: the reduced axis is the last one.
template <class T>
struct RowReduce {
  const Isa* isa;
  Combine<Wide<T>> combine;
  int64_t n;
  bool is_bool;

  T operator()(const T* x) const {
    if constexpr (std::is_same_v<T, float>) {
      if (n > 0 && combine.by == FRL_OP_add) return static_cast<float>(isa->sum(x, n));
      if (n > 0 && combine.by == FRL_OP_max) return isa->top(x, n);
      if (n > 0 && combine.by == FRL_OP_min) return isa->bottom(x, n);
    }
    Wide<T> sum = neutral<T>(combine.by);
    for (int64_t i = 0; i < n; ++i) sum = combine(sum, widen(x[i]));
    return narrow<T>(sum, is_bool);
  }
};

// Any pattern: kept positions one by one in chunks of the innermost kept run, which stays a vector.
template <class T>
class Reduce {
 public:
  Reduce(const Context& context, const frl::Value& x, const std::vector<int64_t>& axes, int64_t by)
      : p_(x, axes), isa_(context.isa), combine_{by}, is_bool_(x.type == FRL_BOOL) {
    const size_t n = p_.kept.size();
    int64_t stride = 1;
    kept_strides_.resize(n), reduced_strides_.resize(n);
    for (size_t k = n; k-- > 0;) {
      reduced_strides_[k] = stride;
      stride *= p_.reduced[k];
      kept_strides_[k] = stride;
      stride *= p_.kept[k];
    }
    for (int64_t e : p_.kept) n_kept_ *= e;
    for (int64_t e : p_.reduced) n_reduced_ *= e;
  }

  void run(const frl_host* host, T* y, const T* x) const {
    const double ns = touch_ns(static_cast<double>(n_reduced_) * sizeof(T)) * 2 + 1;
    if (p_.kept.size() == 1) {
      const RowReduce<T> row{isa_, combine_, n_reduced_, is_bool_};
      frl::for_slices(host, n_kept_, ns, 0, [&](int64_t begin, int64_t end, void*) {
        for (int64_t i = begin; i < end; ++i) y[i] = row(x + i * n_reduced_);
      });
      return;
    }
    // The innermost kept axis goes in chunks whose sums fit the scratch.
    const int64_t inner = p_.reduced.back() == 1 ? p_.kept.back() : 1;
    if (inner == 0 || n_kept_ == 0) return;
    const int64_t chunks = (inner + kChunk - 1) / kChunk;
    frl::for_slices(host, n_kept_ / inner * chunks,
                    ns * static_cast<double>(std::min(inner, kChunk)), 0,
                    [&](int64_t begin, int64_t end, void*) {
                      for (int64_t i = begin; i < end; ++i) {
                        const int64_t first = i % chunks * kChunk;
                        chunk(y, x, i / chunks * inner + first, std::min(kChunk, inner - first));
                      }
                    });
  }

 private:
  static constexpr int64_t kChunk = 512;

  // Results [first, first + n), which lie side by side in the operand too.
  void chunk(T* y, const T* x, int64_t first, int64_t n) const {
    Wide<T> sums[kChunk];
    std::fill_n(sums, n, neutral<T>(combine_.by));
    int64_t offset = 0;
    for (size_t k = p_.kept.size(), rest = static_cast<size_t>(first); k-- > 0;) {
      const size_t e = static_cast<size_t>(p_.kept[k]);
      offset += static_cast<int64_t>(rest % e) * kept_strides_[k];
      rest /= e;
    }
    walk(0, x + offset, sums, n);
    for (int64_t i = 0; i < n; ++i) y[first + i] = narrow<T>(sums[i], is_bool_);
  }
  void walk(size_t k, const T* x, Wide<T>* sums, int64_t n) const {
    if (k + 1 == p_.reduced.size()) {
      for (int64_t r = 0; r < p_.reduced[k]; ++r) accumulate(sums, x + r * reduced_strides_[k], n);
      return;
    }
    for (int64_t r = 0; r < p_.reduced[k]; ++r) walk(k + 1, x + r * reduced_strides_[k], sums, n);
  }
  void accumulate(Wide<T>* sums, const T* x, int64_t n) const {
    if constexpr (std::is_same_v<T, float>)
      if (combine_.by == FRL_OP_add) return isa_->add_to(sums, x, n);
    for (int64_t i = 0; i < n; ++i) sums[i] = combine_(sums[i], widen(x[i]));
  }

  Pattern p_;
  const Isa* isa_;
  Combine<Wide<T>> combine_;
  bool is_bool_;
  std::vector<int64_t> kept_strides_, reduced_strides_;
  int64_t n_kept_ = 1, n_reduced_ = 1;
};

}  // namespace

KernelPtr make_reduce(const Context& context, const Request& region) {
  const frl::Operand x = region.operand(0), y = region.result(0);
  const std::vector<int64_t> axes = region.attribute_list(FRL_AT_reduce_axes);
  return with_type(x.value.type, [&]<class T>(T) {
    const Reduce<T> reduce(context, x.value, axes, region.attribute_i(FRL_AT_reduce_by));
    return make_kernel([reduce, from = Place(x), to = Place(y)](const frl::Call& call) {
      reduce.run(call.host, to.out<T>(call), from.in<T>(call));
    });
  });
}

KernelPtr make_cumulative(const Context&, const Request& region) {
  const frl::Operand x = region.operand(0), y = region.result(0);
  const Split s =
      split_at(x.value, axis_index(x.value, region.attribute_i(FRL_AT_cumulative_axis)));
  const int64_t by = region.attribute_i(FRL_AT_cumulative_by);
  const bool exclusive = region.attribute_i(FRL_AT_cumulative_exclusive) != 0;
  const bool reverse = region.attribute_i(FRL_AT_cumulative_reverse) != 0;
  return with_type(x.value.type, [&]<class T>(T) {
    const Combine<Wide<T>> combine{by};
    return make_kernel([=, from = Place(x), to = Place(y)](const frl::Call& call) {
      frl::for_slices(call.host, s.outer * s.inner, 2.0 * static_cast<double>(s.n), 0,
                      [&](int64_t begin, int64_t end, void*) {
                        for (int64_t k = begin; k < end; ++k) {
                          const int64_t first = k / s.inner * s.n * s.inner + k % s.inner;
                          Wide<T> so_far = neutral<T>(by);
                          for (int64_t i = 0; i < s.n; ++i) {
                            const int64_t at = first + (reverse ? s.n - 1 - i : i) * s.inner;
                            const Wide<T> before = so_far;
                            so_far = combine(so_far, widen(from.in<T>(call)[at]));
                            to.out<T>(call)[at] = narrow<T>(exclusive ? before : so_far, false);
                          }
                        }
                      });
    });
  });
}

}  // namespace cpu
