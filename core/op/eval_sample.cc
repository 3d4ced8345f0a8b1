// Reference evaluation of grid_sample and roi_align, as ONNX GridSample and RoiAlign.
#include <algorithm>
#include <cmath>

#include "core/base/text.h"
#include "core/op/rules.h"
#include "core/op/wide.h"

namespace ferrule {
namespace {

// An image of one channel.
struct Plane {
  const double* pixels;
  int64_t h, w;
  double at(int64_t y, int64_t x) const { return pixels[y * w + x]; }
};

// ---- grid_sample

enum Mode { bilinear, nearest, bicubic };
enum Padding { zeros, border, reflection };

// One axis of the image under the grid's attributes.
struct GridAxis {
  int64_t n;
  int64_t padding;
  bool align_corners;

  double coordinate(double g) const {
    return align_corners ? (g + 1) / 2 * double(n - 1) : ((g + 1) * double(n) - 1) / 2;
  }
  // Mirrored at the centres of the outer elements, or at their outer edges.
  double reflect(double x) const {
    const double low = align_corners ? 0 : -0.5, span = align_corners ? double(n - 1) : double(n);
    if (span == 0) return 0;
    const double distance = std::fabs(x - low), rest = std::fmod(distance, span);
    const bool odd = std::fmod(std::floor(distance / span), 2) != 0;
    return low + (odd ? span - rest : rest);
  }
  double clamp(double x) const { return std::fmin(std::fmax(x, 0), double(n - 1)); }
  // Moved into the image as the padding asks; zeros leave it where it is.
  double inside(double x) const {
    if (std::isnan(x) || padding == zeros) return x;
    return clamp(padding == reflection ? reflect(x) : x);
  }
  // The element that an integral place reads; -1: a zero. NaN must have been excluded.
  int64_t element(double place) const {
    const double x = inside(place);
    return x >= 0 && x <= double(n - 1) ? int64_t(x) : -1;
  }
};

struct Weights {
  double first;  // place of the first tap
  int n;
  double of[4];
};

Weights weights_at(double x, int64_t mode) {
  if (mode == nearest) return {std::nearbyint(x), 1, {1}};
  const double left = std::floor(x), t = x - left;
  if (mode == bilinear) return {left, 2, {1 - t, t}};
  // Keys' kernel with a = -0.75
  constexpr double a = -0.75;
  const auto near = [](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
  const auto far = [](double d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
  return {left - 1, 4, {far(1 + t), near(t), near(1 - t), far(2 - t)}};
}

double sample(const Plane& plane, const GridAxis& vertical, const GridAxis& horizontal,
              int64_t mode, double gx, double gy) {
  double x = horizontal.coordinate(gx), y = vertical.coordinate(gy);
  // Bicubic taps are moved inside one by one, the others by where the sample lies.
  if (mode != bicubic) x = horizontal.inside(x), y = vertical.inside(y);
  if (std::isnan(x) || std::isnan(y)) return NAN;
  const Weights wx = weights_at(x, mode), wy = weights_at(y, mode);
  double out = 0;
  for (int i = 0; i < wy.n; ++i)
    for (int k = 0; k < wx.n; ++k) {
      const double weight = wy.of[i] * wx.of[k];
      if (weight == 0) continue;
      // An infinite place has no finite weights.
      if (std::isnan(weight)) return vertical.padding == zeros ? 0 : NAN;
      const int64_t row = vertical.element(wy.first + i), column = horizontal.element(wx.first + k);
      if (row >= 0 && column >= 0) out += weight * plane.at(row, column);
    }
  return out;
}

// ---- roi_align

// The four pixels around a place, each with its weight; none outside of the image's margin of 1.
struct Corners {
  int n = 0;
  double weighted[4];
};

Corners corners_at(const Plane& plane, double y, double x) {
  if (!(y >= -1 && y <= double(plane.h) && x >= -1 && x <= double(plane.w))) return {};
  y = std::clamp(y, 0.0, double(plane.h - 1));
  x = std::clamp(x, 0.0, double(plane.w - 1));
  const int64_t top = int64_t(y), left = int64_t(x);
  const int64_t below = std::min(top + 1, plane.h - 1), right = std::min(left + 1, plane.w - 1);
  const double v = y - double(top), u = x - double(left);
  return {4,
          {(1 - v) * (1 - u) * plane.at(top, left), (1 - v) * u * plane.at(top, right),
           v * (1 - u) * plane.at(below, left), v * u * plane.at(below, right)}};
}

// One axis of a region of interest.
struct RoiAxis {
  double start, bin;  // of the region, and the extent of one result element
  int64_t n_samples;  // in each bin
  double place(int64_t i, int64_t sample) const {
    return start + double(i) * bin + (double(sample) + 0.5) * bin / double(n_samples);
  }
};

Result<RoiAxis> roi_axis(const Attributes& attributes, double from, double to, int64_t size,
                         int64_t n) {
  const double scale = attributes.f(FRL_AT_roi_align_spatial_scale);
  const bool half_pixel = attributes.i(FRL_AT_roi_align_half_pixel) != 0;
  const double shift = half_pixel ? 0.5 : 0;
  const double start = from * scale - shift;
  double extent = to * scale - shift - start;
  if (!half_pixel) extent = std::max(extent, 1.0);
  const double bin = extent / double(size);
  const int64_t ratio = attributes.i(FRL_AT_roi_align_sampling_ratio);
  const double wanted = ratio ? double(ratio) : std::ceil(bin);
  // Regions much larger than the image would be sampled without end.
  if (!std::isfinite(start) || !(ratio || wanted <= 4 * double(n) + 16))
    return Status(
        Code::invalid_argument,
        cat("roi_align: want a region about as large as the image, got ", from, " to ", to));
  return RoiAxis{start, bin, int64_t(std::max(wanted, 0.0))};
}

double align(const Plane& plane, const RoiAxis& vertical, const RoiAxis& horizontal, int64_t row,
             int64_t column, bool is_max) {
  double sum = 0, most = -INFINITY;
  bool any = false;
  for (int64_t i = 0; i < vertical.n_samples; ++i)
    for (int64_t k = 0; k < horizontal.n_samples; ++k) {
      const Corners corners =
          corners_at(plane, vertical.place(row, i), horizontal.place(column, k));
      any = true;
      if (corners.n == 0) most = wide_max(most, 0.0);
      for (int c = 0; c < corners.n; ++c) {
        sum += corners.weighted[c];
        most = wide_max(most, corners.weighted[c]);
      }
    }
  if (is_max) return any ? most : 0;
  return any ? sum / double(vertical.n_samples * horizontal.n_samples) : 0;
}

}  // namespace

Status eval_grid_sample(const OpCall& call, Operands operands, Results results) {
  const Shape& x = operands[0]->shape();
  const Shape& y = results[0].shape();
  const int64_t mode = call.attributes.i(FRL_AT_grid_sample_mode);
  const int64_t padding = call.attributes.i(FRL_AT_grid_sample_padding);
  const bool align_corners = call.attributes.i(FRL_AT_grid_sample_align_corners) != 0;
  const GridAxis vertical{x[2], padding, align_corners}, horizontal{x[3], padding, align_corners};
  const std::vector<double> in = load<double>(*operands[0]), grid = load<double>(*operands[1]);
  std::vector<double> out(static_cast<size_t>(y.n_elements()));
  if (out.empty() || x[2] == 0 || x[3] == 0) return {};
  const int64_t area = y[2] * y[3];
  size_t to = 0;
  for (int64_t nc = 0; nc < y[0] * y[1]; ++nc) {
    const Plane plane{in.data() + nc * x[2] * x[3], x[2], x[3]};
    const double* at = grid.data() + nc / y[1] * area * 2;
    for (int64_t i = 0; i < area; ++i)
      out[to++] = sample(plane, vertical, horizontal, mode, at[2 * i], at[2 * i + 1]);
  }
  store(out, results[0]);
  return {};
}

Status eval_roi_align(const OpCall& call, Operands operands, Results results) {
  const Shape& x = operands[0]->shape();
  const Shape& y = results[0].shape();
  const bool is_max = call.attributes.i(FRL_AT_roi_align_by) == FRL_OP_max;
  const std::vector<double> in = load<double>(*operands[0]), rois = load<double>(*operands[1]);
  const std::vector<int64_t> batch = load<int64_t>(*operands[2]);
  std::vector<double> out(static_cast<size_t>(y.n_elements()));
  if (out.empty() || x[2] == 0 || x[3] == 0) return {};
  size_t to = 0;
  for (int64_t r = 0; r < y[0]; ++r) {
    const int64_t image = batch[size_t(r)];
    if (image < 0 || image >= x[0])
      return Status(Code::invalid_argument,
                    cat("roi_align: want batch indices in 0 .. ", x[0] - 1, ", got ", image));
    const double* roi = rois.data() + r * 4;
    FRL_LET(const RoiAxis horizontal, roi_axis(call.attributes, roi[0], roi[2], y[3], x[3]));
    FRL_LET(const RoiAxis vertical, roi_axis(call.attributes, roi[1], roi[3], y[2], x[2]));
    for (int64_t c = 0; c < y[1]; ++c) {
      const Plane plane{in.data() + (image * x[1] + c) * x[2] * x[3], x[2], x[3]};
      for (int64_t i = 0; i < y[2] * y[3]; ++i)
        out[to++] = align(plane, vertical, horizontal, i / y[3], i % y[3], is_max);
    }
  }
  store(out, results[0]);
  return {};
}

}  // namespace ferrule
