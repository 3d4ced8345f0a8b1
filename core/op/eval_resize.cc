// Reference evaluation of resize: one axis after the other, as ONNX Resize defines each.
#include <algorithm>
#include <cmath>

#include "core/base/text.h"
#include "core/op/rules.h"
#include "core/op/walk.h"
#include "core/op/wide.h"

namespace ferrule {
namespace {

enum Mode { nearest, linear, cubic };
enum Coordinate {
  half_pixel,
  pytorch_half_pixel,
  align_corners,
  asymmetric,
  tf_crop_and_resize,
  half_pixel_symmetric
};
enum Nearest { round_prefer_floor, round_prefer_ceil, round_down, round_up };

struct Tap {
  int64_t place;
  double weight;
};

// One axis: `n` elements become `size`.
struct Axis {
  int64_t n, size;
  double scale, region_start, region_end;
  const Attributes& attributes;

  int64_t attribute(uint32_t slot) const { return attributes.i(slot); }

  // Where result position i lies among the operand's elements.
  double coordinate(int64_t i) const {
    const double x = double(i), last = double(n - 1);
    switch (attribute(FRL_AT_resize_coordinate)) {
      case pytorch_half_pixel:
        return size > 1 ? (x + 0.5) / scale - 0.5 : 0;
      case align_corners:
        return size > 1 ? x * last / double(size - 1) : 0;
      case asymmetric:
        return x / scale;
      case tf_crop_and_resize:
        return size > 1
                   ? region_start * last + x * (region_end - region_start) * last / double(size - 1)
                   : 0.5 * (region_start + region_end) * last;
      case half_pixel_symmetric: {
        const double adjustment = double(size) / (scale * double(n));
        return double(n) / 2 * (1 - adjustment) + (x + 0.5) / scale - 0.5;
      }
      default:
        return (x + 0.5) / scale - 0.5;
    }
  }

  bool is_outside(double x) const {
    return attribute(FRL_AT_resize_coordinate) == tf_crop_and_resize &&
           !(x >= 0 && x <= double(n - 1));
  }

  int64_t clamp(double place) const { return int64_t(std::clamp(place, 0.0, double(n - 1))); }

  int64_t nearest_place(double x) const {
    switch (attribute(FRL_AT_resize_nearest)) {
      case round_prefer_ceil:
        return clamp(std::floor(x + 0.5));
      case round_down:
        return clamp(std::floor(x));
      case round_up:
        return clamp(std::ceil(x));
      default:
        return clamp(std::ceil(x - 0.5));
    }
  }

  // Weight of an element at this distance, before the weights are made to sum to 1.
  double weight(double distance) const {
    const double d = std::fabs(distance), a = attributes.f(FRL_AT_resize_cubic_a);
    if (attribute(FRL_AT_resize_mode) == linear) return std::max(0.0, 1 - d);
    // Keys, Cubic convolution interpolation for digital image processing, equation 4
    if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
    if (d < 2) return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
    return 0;
  }

  // An antialiased filter is as much wider as the result is smaller.
  double stretch() const { return attribute(FRL_AT_resize_antialias) ? std::min(scale, 1.0) : 1; }
  double reach() const {
    return std::ceil((attribute(FRL_AT_resize_mode) == linear ? 1 : 2) / stretch());
  }

  // What result position i is made of.
  void taps(int64_t i, std::vector<Tap>& out) const {
    const double x = coordinate(i);
    out.clear();
    if (attribute(FRL_AT_resize_mode) == nearest) {
      out.push_back({nearest_place(x), 1});
      return;
    }
    // The element at or left of x is the centre one of an even number of taps.
    const double left = std::ceil(x) - 1;
    double sum = 0;
    for (double k = 1 - reach(); k <= reach(); ++k) {
      const double place = left + k;
      const bool dropped =
          attribute(FRL_AT_resize_exclude_outside) && (place < 0 || place > double(n - 1));
      const double w = dropped ? 0 : weight((place - x) * stretch());
      sum += w;
      if (w != 0) out.push_back({clamp(place), w});
    }
    for (Tap& tap : out) tap.weight /= sum;
  }

  bool is_identity() const {
    for (int64_t i = 0; i < size; ++i)
      if (coordinate(i) != double(i)) return false;
    return n == size;
  }
};

// The values with one axis resampled; `shape` is updated.
template <class W>
std::vector<W> resample(const std::vector<W>& in, Shape& shape, size_t at, const Axis& axis) {
  const Lanes from(shape, at);
  shape.set(at, {axis.size, 0});
  std::vector<W> out(static_cast<size_t>(shape.n_elements()));
  std::vector<Tap> taps;
  for (int64_t i = 0; i < axis.size; ++i) {
    axis.taps(i, taps);
    for (int64_t o = 0; o < from.outer; ++o)
      for (size_t t = 0; t < taps.size(); ++t) {
        const W* row = in.data() + (o * from.n + taps[t].place) * from.inner;
        W* to = out.data() + (o * axis.size + i) * from.inner;
        for (int64_t k = 0; k < from.inner; ++k)
          if constexpr (std::is_same_v<W, double>)  // a lone tap keeps the sign of zero
            to[k] = t ? to[k] + taps[t].weight * row[k] : taps[t].weight * row[k];
          else
            to[k] = row[k];
      }
  }
  return out;
}

Status check_axis(const Axis& axis, size_t i) {
  // Within these, coordinates are far from overflow.
  constexpr double least = 1e-9, most = 1e9;
  const bool is_usable = axis.scale >= least && axis.scale <= most &&
                         std::fabs(axis.region_start) <= most && std::fabs(axis.region_end) <= most;
  // A scale far below 1 / n would make the antialiasing filter endless.
  if (is_usable && axis.reach() <= 4 * double(axis.n) + 4) return {};
  return Status(
      Code::invalid_argument,
      cat("resize: want scales of about size over extent and a region of about 0 .. 1, got scale ",
          axis.scale, " and region ", axis.region_start, " .. ", axis.region_end, " for ",
          axis.size, " over ", axis.n, " on axis ", i));
}

template <class W>
void extrapolate(const std::vector<Axis>& axes, const Shape& y, double value, std::vector<W>& out) {
  std::vector<std::vector<bool>> outside;
  for (const Axis& axis : axes) {
    outside.emplace_back();
    for (int64_t i = 0; i < axis.size; ++i)
      outside.back().push_back(axis.is_outside(axis.coordinate(i)));
  }
  size_t to = 0;
  for (Odometer at(y); at.more(); at.next(), ++to)
    for (size_t i = 0; i < axes.size(); ++i)
      if (outside[i][size_t(at[i])]) out[to] = convert_to<W>(value);
}

}  // namespace

Status eval_resize(const OpCall& call, Operands operands, Results results) {
  const Tensor& x = *operands[0];
  const Shape& y = results[0].shape();
  const size_t rank = y.rank();
  if (y.n_elements() == 0) return {};
  const std::vector<double> scales = load<double>(*operands[1]);
  std::vector<double> region(rank, 0.0);
  region.resize(2 * rank, 1.0);
  if (operands.size() > 2 && operands[2]) region = load<double>(*operands[2]);
  std::vector<Axis> axes;
  for (size_t i = 0; i < rank; ++i) {
    axes.push_back({x.shape()[i], y[i], scales[i], region[i], region[rank + i], call.attributes});
    FRL_TRY(check_axis(axes.back(), i));
  }
  with_wide(x.element(), [&]<class W>(W) {
    std::vector<W> values = load<W>(x);
    Shape shape = x.shape();
    // Axes that shrink go first, so that nothing is larger on the way than at both ends.
    for (const bool shrinks : {true, false})
      for (size_t i = 0; i < rank; ++i)
        if ((axes[i].size < axes[i].n) == shrinks && !axes[i].is_identity())
          values = resample(values, shape, i, axes[i]);
    if (call.attributes.i(FRL_AT_resize_coordinate) == tf_crop_and_resize)
      extrapolate(axes, y, call.attributes.f(FRL_AT_resize_extrapolation), values);
    store(values, results[0]);
  });
  return {};
}

}  // namespace ferrule
