// resize: one axis after the other, each result position a weighted sum of a few operand positions.
#include <algorithm>

#include "plugins/cpu/kernels.h"

namespace cpu {
namespace {

enum Mode : int64_t { kNearest, kLinear, kCubic };
enum Coordinate : int64_t {
  kHalfPixel,
  kPytorchHalfPixel,
  kAlignCorners,
  kAsymmetric,
  kCrop,
  kHalfPixelSymmetric
};

struct Rule {
  int64_t mode, coordinate, nearest;
  double cubic_a;
  bool exclude_outside, antialias;
  double extrapolation;
};

// One axis: n elements become `size`.
struct ResizeAxis {
  int64_t n, size;
  double scale, start, end;
  const Rule* rule;

  // Where result position i lies among the operand's.
  double coordinate(int64_t i) const {
    const double x = static_cast<double>(i), last = static_cast<double>(n - 1),
                 m = static_cast<double>(size);
    switch (rule->coordinate) {
      case kPytorchHalfPixel:
        return size > 1 ? (x + 0.5) / scale - 0.5 : 0;
      case kAlignCorners:
        return size > 1 ? x * last / (m - 1) : 0;
      case kAsymmetric:
        return x / scale;
      case kCrop:
        return size > 1 ? start * last + x * (end - start) * last / (m - 1)
                        : 0.5 * (start + end) * last;
      case kHalfPixelSymmetric:
        return static_cast<double>(n) / 2 * (1 - m / (scale * static_cast<double>(n))) +
               (x + 0.5) / scale - 0.5;
      default:
        return (x + 0.5) / scale - 0.5;
    }
  }
  bool is_outside(int64_t i) const {
    const double x = coordinate(i);
    return rule->coordinate == kCrop && !(x >= 0 && x <= static_cast<double>(n - 1));
  }
  int64_t clamp(double place) const {
    return static_cast<int64_t>(std::clamp(place, 0.0, static_cast<double>(n - 1)));
  }
  int64_t nearest_place(double x) const {
    switch (rule->nearest) {
      case 1:
        return clamp(std::floor(x + 0.5));
      case 2:
        return clamp(std::floor(x));
      case 3:
        return clamp(std::ceil(x));
      default:
        return clamp(std::ceil(x - 0.5));
    }
  }
  // Of an element at this distance, before weights are made to sum to 1.
  double weight(double distance) const {
    const double d = std::fabs(distance), a = rule->cubic_a;
    if (rule->mode == kLinear) return std::max(0.0, 1 - d);
    // Keys, Cubic convolution interpolation for digital image processing, 1981
    if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
    return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
  }
  // An antialiased filter is as much wider as the result is smaller.
  double stretch() const { return rule->antialias ? std::min(scale, 1.0) : 1; }
  int64_t reach() const {
    return static_cast<int64_t>(std::ceil((rule->mode == kLinear ? 1 : 2) / stretch()));
  }

  // fn(place, weight) for what result position i is made of; weights sum to 1.
  template <class Fn>
  void taps(int64_t i, Fn&& fn) const {
    const double x = coordinate(i);
    if (rule->mode == kNearest) return fn(nearest_place(x), 1.0);
    const double left = std::ceil(x) - 1;
    const auto each = [&](auto&& use) {
      for (int64_t k = 1 - reach(); k <= reach(); ++k) {
        const double place = left + static_cast<double>(k);
        if (rule->exclude_outside && (place < 0 || place > static_cast<double>(n - 1))) continue;
        const double w = weight((place - x) * stretch());
        if (w != 0) use(clamp(place), w);
      }
    };
    double sum = 0;
    each([&](int64_t, double w) { sum += w; });
    each([&](int64_t place, double w) { fn(place, w / sum); });
  }
  bool is_identity() const {
    for (int64_t i = 0; i < size; ++i)
      if (coordinate(i) != static_cast<double>(i)) return false;
    return n == size;
  }
};

void check_axis(const ResizeAxis& a) {
  constexpr double kLeast = 1e-9, kMost = 1e9;  // within these, coordinates are far from overflow
  const bool usable = a.scale >= kLeast && a.scale <= kMost && std::fabs(a.start) <= kMost &&
                      std::fabs(a.end) <= kMost;
  if (!usable || (a.rule->mode != kNearest && a.reach() > 4 * a.n + 4))
    throw frl::Failure(FRL_INVALID, "resize: want scales of about size over extent, got " +
                                        std::to_string(a.scale) + " for " + std::to_string(a.size) +
                                        " over " + std::to_string(a.n));
}

// What one result position is made of, worked out once for all lines.
struct Taps {
  int64_t n, place[4];
  double weight[4];
};

// to[k] = sum over taps of from[place, k]; each_tap(fn) calls fn(place, weight).
template <class T, class EachTap>
void mix_row(T* to, const T* from, int64_t inner, EachTap&& each_tap) {
  bool first = true;
  each_tap([&](int64_t place, double weight) {
    const T* row = from + place * inner;
    if constexpr (std::is_floating_point_v<T>) {
      const T w = static_cast<T>(weight);
      if (weight == 1)
        std::copy_n(row, inner, to);
      else if (first)
        for (int64_t k = 0; k < inner; ++k) to[k] = w * row[k];
      else
        for (int64_t k = 0; k < inner; ++k) to[k] += w * row[k];
    } else {
      std::copy_n(row, inner, to);
    }
    first = false;
  });
}

// Elements [begin, end) of lines of `size`, each made of a line of n: y points at the first.
template <class T>
void mix_line(T* y, const T* x, const Taps* list, int64_t n, int64_t size, int64_t begin,
              int64_t end, int64_t most) {
  while (begin < end) {
    const T* from = x + begin / size * n;
    const int64_t first = begin % size, last = std::min(size, first + end - begin);
    for (int64_t i = first; i < last; ++i, ++y) {
      const Taps& t = list[i];
      T sum = t.n ? from[t.place[0]] : T{0};
      if constexpr (std::is_floating_point_v<T>) {
        if (most > 1 && t.n) sum *= static_cast<T>(t.weight[0]);
        for (int64_t k = 1; k < t.n; ++k) sum += static_cast<T>(t.weight[k]) * from[t.place[k]];
      }
      *y = sum;
    }
    begin += last - first;
  }
}

// y[o, i, k] = sum over taps of x[o, place, k]; sums in f64 for f64, in f32 otherwise.
template <class T>
void resample(const frl_host* host, const ResizeAxis& axis, const T* x, T* y, int64_t outer,
              int64_t inner) {
  const int64_t most = axis.rule->mode == kNearest ? 1 : 2 * axis.reach();
  const bool listed = most <= 4 && outer >= 4;
  const double ns =
      static_cast<double>(inner * most) * 0.5 + (listed ? 3 : 30) * static_cast<double>(most);
  const uint64_t bytes = listed ? static_cast<uint64_t>(axis.size) * sizeof(Taps) : 0;
  frl::for_slices(
      host, outer * axis.size, ns, bytes, [&](int64_t begin, int64_t end, void* scratch) {
        Taps* list = static_cast<Taps*>(scratch);
        for (int64_t i = 0; listed && i < axis.size; ++i) {
          Taps& t = list[i];
          t.n = 0;
          axis.taps(i, [&](int64_t place, double weight) {
            t.place[t.n] = place, t.weight[t.n++] = weight;
          });
        }
        if (listed && inner == 1)
          return mix_line(y + begin, x, list, axis.n, axis.size, begin, end, most);
        for (int64_t row = begin; row < end; ++row) {
          const int64_t i = row % axis.size;
          mix_row(y + row * inner, x + row / axis.size * axis.n * inner, inner, [&](auto&& fn) {
            if (!listed) return axis.taps(i, fn);
            for (int64_t k = 0; k < list[i].n; ++k) fn(list[i].place[k], list[i].weight[k]);
          });
        }
      });
}

class Resize final : public frl::Kernel {
 public:
  Resize(const Request& request, bool floats)
      : x_(request.operand(0)),
        scales_(request.operand(1)),
        region_(request.operand(2)),
        y_(request.result(0)),
        shape_(request.operand(0).value),
        result_(request.result(0).value),
        floats_(floats) {
    rule_ = {request.attribute_i(FRL_AT_resize_mode),
             request.attribute_i(FRL_AT_resize_coordinate),
             request.attribute_i(FRL_AT_resize_nearest),
             request.attribute_f(FRL_AT_resize_cubic_a),
             request.attribute_i(FRL_AT_resize_exclude_outside) != 0,
             request.attribute_i(FRL_AT_resize_antialias) != 0,
             request.attribute_f(FRL_AT_resize_extrapolation)};
    // Two buffers for what lies between the axes, each as large as any step.
    int64_t most = 1;
    for (uint32_t d = 0; d < result_.rank; ++d)
      most *= std::max(shape_.extents[d], result_.extents[d]);
    buffer_ = static_cast<uint64_t>(most * frl::element_bytes(result_.type) + 63) / 64 * 64;
    scratch_bytes = 2 * buffer_;
    scratch_ = y_.argument() + 1;
  }

  void run(const frl::Call& call) const override {
    if (result_.n_elements() == 0) return;
    const uint32_t type = result_.type;
    if (floats_) return type == FRL_F64 ? run_as<double>(call) : run_as<float>(call);
    with_size(type, [&]<class T>(T) { run_as<T>(call); });
  }

 private:
  template <class T>
  void run_as(const frl::Call& call) const {
    ResizeAxis axes[FRL_MAX_RANK];
    size_t last = FRL_MAX_RANK;
    for (size_t d = 0; d < result_.rank; ++d) {
      axes[d] = {shape_.extents[d],
                 result_.extents[d],
                 scales_.in<double>(call)[d],
                 region_.present() ? region_.in<double>(call)[d] : 0,
                 region_.present() ? region_.in<double>(call)[result_.rank + d] : 1,
                 &rule_};
      check_axis(axes[d]);
      if (!axes[d].is_identity()) last = d;
    }
    T* y = y_.out<T>(call);
    const T* from = x_.in<T>(call);
    if (last == FRL_MAX_RANK) std::copy_n(from, result_.n_elements(), y);
    frl::Value shape = shape_;
    bool odd = false;
    for (size_t d = 0; d < result_.rank; ++d) {
      if (axes[d].is_identity()) continue;
      const Split s = split_at(shape, d);
      T* to = d == last ? y : reinterpret_cast<T*>(call.args[scratch_] + (odd ? buffer_ : 0));
      resample(call.host, axes[d], from, to, s.outer, s.inner);
      shape.extents[d] = axes[d].size;
      from = to, odd = !odd;
    }
    if (rule_.coordinate == kCrop) extrapolate(axes, y);
  }
  template <class T>
  void extrapolate(const ResizeAxis* axes, T* y) const {
    for (size_t d = 0; d < result_.rank; ++d) {
      const Split s = split_at(result_, d);
      for (int64_t i = 0; i < s.n; ++i)
        if (axes[d].is_outside(i))
          for (int64_t o = 0; o < s.outer; ++o)
            std::fill_n(y + (o * s.n + i) * s.inner, s.inner, outside<T>());
    }
  }
  // Integers come by size alone: their bits.
  template <class T>
  T outside() const {
    if constexpr (std::is_floating_point_v<T>)
      return static_cast<T>(rule_.extrapolation);
    else
      return static_cast<T>(static_cast<int64_t>(
          std::isnan(rule_.extrapolation) ? 0 : std::clamp(rule_.extrapolation, -9e18, 9e18)));
  }

  Place x_, scales_, region_, y_;
  frl::Value shape_, result_;
  bool floats_;
  Rule rule_;
  uint64_t buffer_;
  int scratch_;
};

}  // namespace

KernelPtr make_resize(const Context&, const Request& request) {
  return std::make_unique<Resize>(request, frl::is_float(request.result(0).value.type));
}

}  // namespace cpu
